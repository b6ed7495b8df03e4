"""Requests for robots.txt and their responses as WARC records (ISO 28500), as in web archives.

Needs warcio, which the extra ``[warc]`` installs.
"""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy_robots_plus._version import __version__
from scrapy_robots_plus.protocol.printable import rfc3339
from scrapy_robots_plus.protocol.sent_forms import target_of

from .log import Appender, append, open_to_append

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy.http import Headers

    from scrapy_robots_plus.origins.fetcher import Exchange

_VERSION = "1.1"
"""The version of WARC. From 1.1 on, dates have fractions of seconds."""

_COMPRESSED = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
"""The first bytes of gzip (RFC 1952) and zlib (RFC 1950) data."""


class Warc(Appender):
    """The WARC file of one crawl. No other writes to it, so nothing follows a torn record."""

    noun = "exchange"
    room = 1_000
    _is_made = False

    def add(self, exchange: Exchange) -> None:
        """Queues the records of *exchange* for the next :meth:`flush`."""
        super().add(self._records(_write_pair, exchange))

    def _write(self) -> None:
        if not self.waiting:
            return
        if not self._is_made:
            self.path, self._is_made = create_unused(self.path), True
        with open_to_append(self.path) as file:
            is_new = not file.tell()
            info = self._records(_write_info, self.path.name) if is_new else b""
            append(file, info + b"".join(self.waiting))
        self.waiting.clear()

    def _records(self, write: Callable[[Any, Any], None], about: Any) -> bytes:
        """Returns the records that *write* writes *about* something."""
        from warcio.warcwriter import WARCWriter  # an extra

        written = BytesIO()
        write(WARCWriter(written, gzip=self.path.suffix == ".gz", warc_version=_VERSION), about)
        return written.getvalue()


def create_unused(path: Path) -> Path:
    """Creates an empty file at *path* or, if that exists, beside it: ``robots-2.warc.gz``.

    Returns the path of the file. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    name, dot, ending = path.name.partition(".")
    for number in count(2):
        # Not checked before: another crawl may create it at the same moment.
        with suppress(FileExistsError):
            path.touch(exist_ok=False)
            break
        path = path.with_name(f"{name}-{number}{dot}{ending}")
    return path


def _write_info(writer: Any, name: str) -> None:
    software = f"scrapy-robots-plus {__version__}"
    info = {"software": software, "format": f"WARC File Format {_VERSION}"}
    writer.write_record(writer.create_warcinfo_record(name, info))


def _write_pair(writer: Any, exchange: Exchange) -> None:
    request, response = exchange.request, exchange.response
    # WARC 1.1 knows messages of HTTP/1 alone: what came by HTTP/2 ("h2") is written as one.
    is_http_1 = (response.protocol or "").startswith("HTTP/1")
    protocol = response.protocol if is_http_1 else "HTTP/1.1"
    about = {"WARC-Date": rfc3339(exchange.at)}
    if response.ip_address is not None:  # not every download handler tells it
        about["WARC-IP-Address"] = str(response.ip_address)
    is_cut = "download_stopped" in response.flags
    answered = writer.create_warc_record(
        request.url,
        "response",
        payload=BytesIO(response.body),
        length=len(response.body),
        http_headers=_head(f"{protocol} {response.status}", _true_headers(exchange)),
        warc_headers_dict={**about, **({"WARC-Truncated": "length"} if is_cut else {})},
    )
    # Every download handler adds Host (RFC 9110 7.2).
    host = [] if b"Host" in request.headers else [("Host", urlsplit(request.url).netloc)]
    first_line = f"{request.method} {target_of(request.url)} {protocol}"
    asked = writer.create_warc_record(
        request.url,
        "request",
        http_headers=_head(first_line, request.headers, *host),
        warc_headers_dict=about,
    )
    writer.write_request_response_pair(asked, answered)


def _head(first_line: str, headers: Headers, *before: tuple[str, str]) -> Any:
    from warcio.statusandheaders import StatusAndHeaders  # an extra

    pairs = [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, values in headers.items()
        for value in values
    ]
    head = StatusAndHeaders(first_line, [*before, *pairs], is_http_request=True)
    # warcio would percent-encode octets that are not ASCII, and fails on some.
    head.to_ascii_bytes = lambda header_filter=None: head.to_bytes(header_filter, "latin-1")
    return head


def _true_headers(exchange: Exchange) -> Headers:
    """Returns the response headers, corrected to fit the body from the download handler."""
    headers, body = exchange.response.headers.copy(), exchange.response.body
    if not body.startswith(_COMPRESSED):
        headers.pop("Content-Encoding", None)  # the handler has decoded the body
    headers.pop("Transfer-Encoding", None)  # the handler has put the chunks together
    headers["Content-Length"] = str(len(body))
    return headers
