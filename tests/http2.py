"""One connection of a site that speaks HTTP/2: what it is asked, and the replies of tests.sites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    Answer = Callable[[str, dict[str, str], "Captured"], Awaitable[object]]
    """Writes a whole HTTP/1.1 response to a request of this path and these headers."""


class Captured:
    """Stands in for the writer of a reply."""

    def __init__(self) -> None:
        self.octets = b""

    def write(self, octets: bytes) -> None:
        self.octets += octets

    async def drain(self) -> None:
        pass


def speaks_http2(writer: asyncio.StreamWriter) -> bool:
    tls = writer.get_extra_info("ssl_object")
    return tls is not None and tls.selected_alpn_protocol() == "h2"


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer) -> None:
    """Answers requests, each as soon as it is read, until the client closes."""
    connection = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
    connection.initiate_connection()
    while True:
        writer.write(connection.data_to_send())
        await writer.drain()
        received = await reader.read(65_536)
        if not received:
            return
        for event in connection.receive_data(received):
            if isinstance(event, RequestReceived):
                headers: dict[str, str] = dict(event.headers)  # type: ignore[arg-type]
                captured = Captured()
                await answer(headers[":path"], headers, captured)
                _send(connection, event.stream_id, captured.octets)


def _send(connection: H2Connection, stream: int, response: bytes) -> None:
    """*response* is that of HTTP/1.1, and smaller than the window that a client starts with."""
    head, _, body = response.partition(b"\r\n\r\n")
    status, *fields = head.decode("latin-1").split("\r\n")
    headers = [(":status", status.split(" ")[1])]
    named = (field.split(": ", 1) for field in fields)
    headers += [(name.lower(), value) for name, value in named if name != "connection"]
    connection.send_headers(stream, headers)
    for start in range(0, len(body), 16_384):
        connection.send_data(stream, body[start : start + 16_384])
    connection.end_stream(stream)
