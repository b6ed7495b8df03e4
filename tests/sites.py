"""Real web sites on loopback, a host per address, that can fail in every way a site can.

The server runs in a thread with an event loop of its own, so that it answers at its own pace
whatever the crawler's loop is doing.
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
import os
import socket
import struct
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import partial
from typing import TYPE_CHECKING, Any

from .http2 import serve as serve_http2
from .http2 import speaks_http2

if TYPE_CHECKING:
    import ssl

    from typing_extensions import Self


TDMREP = "/.well-known/tdmrep.json"

NETWORK = f"127.{os.getpid() % 254 + 1}"
"""A part of loopback for this process: tests that run side by side may be given the same port."""


@dataclass(frozen=True)
class Hit:
    """One request as a site received it."""

    at: float
    host: str
    path: str
    headers: dict[str, str] = field(repr=False)


Reply = Callable[[Hit, asyncio.StreamWriter], Awaitable[None]]
"""Writes an answer, or does what a broken server does instead."""


def answer(body: str | bytes = "", status: int = 200, **headers: str) -> Reply:
    """A complete response. Header names are given with underscores: ``content_type=``."""

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        writer.write(response_bytes(body, status, headers))

    return reply


def response_bytes(
    body: str | bytes, status: int, headers: dict[str, str], *, length: int | None = None
) -> bytes:
    raw = body.encode() if isinstance(body, str) else body
    fields: dict[str, str] = {
        "content_type": "text/plain",
        "content_length": str(len(raw) if length is None else length),
        "date": formatdate(usegmt=True),
        "connection": "close",
        **headers,
    }
    if status == 304:
        del fields["content_length"], fields["content_type"]
    lines = [f"HTTP/1.1 {status} Status"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", ""]).encode() + raw


A_PAGE = answer("<p>A page</p>", content_type="text/html", connection="keep-alive")
"""The answer to a path that is not set. All others close the connection, and say so: otherwise a
client may send its next request before it notices."""


def after(seconds: float, then: Reply) -> Reply:
    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        await then(hit, writer)

    return reply


def when(condition: Callable[[], object], then: Reply) -> Reply:
    """Does not answer before *condition* holds."""

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        while not condition():
            await asyncio.sleep(0.01)
        await then(hit, writer)

    return reply


def in_turn(*replies: Reply) -> Reply:
    """One reply after the other; the last one from then on."""
    remaining = list(replies)

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        await (remaining.pop(0) if len(remaining) > 1 else remaining[0])(hit, writer)

    return reply


def validated(body: str, etag: str, **headers: str) -> Reply:
    """Answers 304 to a request that has *etag* already."""

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        known = hit.headers.get("if-none-match") == etag
        then = answer("" if known else body, 304 if known else 200, etag=etag, **headers)
        await then(hit, writer)

    return reply


def redirect(url: str, status: int = 301) -> Reply:
    return answer(status=status, location=url)


def gzipped(body: bytes, *, keep: int | None = None) -> Reply:
    """A compressed body; *keep* bytes of it only, with a Content-Length that fits them."""
    return answer(gzip.compress(body)[:keep], content_encoding="gzip")


async def hang_up(hit: Hit, writer: asyncio.StreamWriter) -> None:
    """Closes the connection instead of answering."""


async def reset(hit: Hit, writer: asyncio.StreamWriter) -> None:
    """Breaks the connection off, as a crashed server does."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


async def hang(hit: Hit, writer: asyncio.StreamWriter) -> None:
    """Accepts the request and never answers."""
    await asyncio.sleep(60)


def half(body: str) -> Reply:
    """Announces *body*, sends half of it, and closes."""

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        writer.write(response_bytes(body[: len(body) // 2], 200, {}, length=len(body)))

    return reply


def drip(body: str, seconds: float) -> Reply:
    """Sends a byte at a time, *seconds* apart."""

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        writer.write(response_bytes("", 200, {}, length=len(body)))
        for byte in body.encode():
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(seconds)

    return reply


class Host:
    """One address with its pages. A path that is not set answers with a small page."""

    def __init__(self, sites: Sites, address: str, scheme: str = "http") -> None:
        self.sites = sites
        self.address = address
        self.scheme = scheme
        self.pages: dict[str, Reply] = {"/robots.txt": answer(status=404)}

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.address}:{self.sites.port}"

    def url(self, path: str = "/") -> str:
        return self.origin + path

    def robots(self, reply: Reply | str | bytes) -> Host:
        self.pages["/robots.txt"] = answer(reply) if isinstance(reply, str | bytes) else reply
        return self

    @property
    def hits(self) -> list[Hit]:
        return [hit for hit in list(self.sites.hits) if hit.host == self.address]

    @property
    def fetched(self) -> list[str]:
        """Paths of the pages that were asked for, in order, without robots.txt and tdmrep.json."""
        return [hit.path for hit in self.hits if hit.path not in ("/robots.txt", TDMREP)]

    @property
    def robots_hits(self) -> int:
        return sum(hit.path == "/robots.txt" for hit in self.hits)

    @property
    def gaps(self) -> list[float]:
        """Seconds between one page request and the next."""
        times = [hit.at for hit in self.hits if hit.path != "/robots.txt"]
        return [later - earlier for earlier, later in itertools.pairwise(times)]


class Sites:
    """All hosts, on one port. Use as a context manager."""

    def __init__(self) -> None:
        self.hits: list[Hit] = []
        self.hosts: dict[str, Host] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._servers: list[asyncio.Server] = []
        self._numbers = itertools.count(2)
        with socket.socket() as probe:
            probe.bind((f"{NETWORK}.0.1", 0))
            self.port: int = probe.getsockname()[1]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._in_loop(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def host(
        self, robots: Reply | str | bytes | None = None, tls: ssl.SSLContext | None = None
    ) -> Host:
        """A new host at an address of its own."""
        address = self._new_address()
        host = self.hosts[address] = Host(self, address, "https" if tls else "http")
        if robots is not None:
            host.robots(robots)
        self._in_loop(self._serve(address, tls))
        return host

    def another_origin_of(self, host: Host, tls: ssl.SSLContext | None = None) -> str:
        """One at the same address, with the same pages, on a port of its own."""
        self._in_loop(self._serve(host.address, tls, port=0))
        port = self._servers[-1].sockets[0].getsockname()[1]
        return f"{'https' if tls else 'http'}://{host.address}:{port}"

    def slow_road_to(self, host: Host, seconds: float) -> str:
        """An origin that leads to *host*, on a road where each new connection takes *seconds*.

        The client has been accepted meanwhile, as by a slow proxy; over TLS, its handshake waits.
        """
        address = self._new_address()
        self._in_loop(self._serve_road(address, host.address, seconds))
        return f"{host.scheme}://{address}:{self.port}"

    def closed_host(self) -> str:
        """The origin of an address where nothing listens."""
        return f"http://{NETWORK}.255.1:{self.port}"

    def _new_address(self) -> str:
        number = next(self._numbers)
        return f"{NETWORK}.{number // 250}.{number % 250 + 1}"

    def _in_loop(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    async def _serve(
        self, address: str, tls: ssl.SSLContext | None, port: int | None = None
    ) -> None:
        port = self.port if port is None else port
        server = await asyncio.start_server(self._connected, address, port, backlog=1024, ssl=tls)
        self._servers.append(server)

    async def _serve_road(self, address: str, target: str, seconds: float) -> None:
        async def travel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(seconds)
            there, back = await asyncio.open_connection(target, self.port)
            await asyncio.gather(_carry(reader, back), _carry(there, writer))

        server = await asyncio.start_server(travel, address, self.port, backlog=1024)
        self._servers.append(server)

    async def _stop(self) -> None:
        for server in self._servers:
            server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        http2 = speaks_http2(writer)
        try:
            if http2:
                await serve_http2(reader, writer, partial(self._answer, writer))
                return
            while await self._answer_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            if http2:
                writer.transport.abort()  # its client does not wait for the end of TLS

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection may be used for another request."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].split(" ")[1]
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        return await self._answer(writer, path, headers, writer)

    async def _answer(
        self,
        connection: asyncio.StreamWriter,
        path: str,
        headers: dict[str, str],
        writer: asyncio.StreamWriter,
    ) -> bool:
        address = connection.get_extra_info("sockname")[0]
        hit = Hit(time.monotonic(), address, path, headers)
        self.hits.append(hit)
        host = self.hosts[address]
        page = host.pages.get(path) or host.pages.get(path.partition("?")[0])
        await (page or A_PAGE)(hit, writer)
        await writer.drain()
        return page is None


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Hands on what comes, up to the end."""
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except (ConnectionError, asyncio.CancelledError):
        pass
    finally:
        writer.close()
