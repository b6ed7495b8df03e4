"""Requests for robots.txt and their answers as WARC records (ISO 28500), as web archives keep them.

Needs warcio, which the extra ``[warc]`` installs.
"""

from __future__ import annotations

import os
import re
import zlib
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlsplit

from scrapy_robots_plus.protocol.printable import rfc3339
from scrapy_robots_plus.protocol.sent_forms import target_of

from .files import Appender, NotALogError, append, cut_off, locked, open_to_append

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy.http import Headers

    from scrapy_robots_plus.origins.fetcher import Exchange

    Pairs = list[tuple[str, str]]

ROOM = 1_000
"""Exchanges."""

_VERSION = "1.1"
"""Of WARC: with parts of seconds."""

_COMPRESSED = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
"""How gzip (RFC 1952) and zlib (RFC 1950) begin."""


class Warc(Appender):
    """One crawl's access to a WARC file."""

    def __init__(self, path: Path, software: str, warn: Callable[[str], None]) -> None:
        """*software*: what made the records. *warn* gets the first problem."""
        super().__init__(path, warn, ROOM, "exchanges")
        self._compresses = path.suffix == ".gz"
        self._size = 0
        """That of the file after the last record of this crawl."""
        self._info = self._records(lambda writer: _write_info(writer, path.name, software))

    def add(self, exchange: Exchange) -> None:
        """Takes one exchange, to be written by the next :meth:`flush`."""
        if self.waiting < self._room:
            self._waiting.append(self._records(lambda writer: _write_pair(writer, exchange)))
        else:
            self.lost += 1

    def _write(self) -> bool:
        if not self._waiting:
            return True
        with open_to_append(self.path) as file, locked(file) as is_ours:
            if is_ours:
                self._repair(file)
                self._size = append(file, b"".join([self._info, *self._waiting]))
                self._info = b""
                self._waiting.clear()
            return is_ours

    def _repair(self, file: BinaryIO) -> None:
        """After a process that was killed while it wrote."""
        if file.seek(0, os.SEEK_END) != self._size:
            done = repair(file, self.path.with_name(f"{self.path.name}.torn"))
            if done:
                self._warn(done)

    def _records(self, write: Callable[[Any], None]) -> bytes:
        from warcio.warcwriter import WARCWriter  # an extra

        written = BytesIO()
        write(WARCWriter(written, gzip=self._compresses, warc_version=_VERSION))
        return written.getvalue()


def _write_info(writer: Any, name: str, software: str) -> None:
    info = {"software": software, "format": f"WARC File Format {_VERSION}"}
    writer.write_record(writer.create_warcinfo_record(name, info))


def _write_pair(writer: Any, exchange: Exchange) -> None:
    request, response = exchange.request, exchange.response
    protocol = response.protocol or "HTTP/1.1"
    about = {"WARC-Date": rfc3339(exchange.at)}
    if response.ip_address is not None:  # the download handler tells it
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
    # Every download handler adds it (RFC 9110 7.2).
    host = [] if b"Host" in request.headers else [("Host", urlsplit(request.url).netloc)]
    first_line = f"{request.method} {target_of(request.url)} {protocol}"
    asked = writer.create_warc_record(
        request.url,
        "request",
        http_headers=_head(first_line, [*host, *_pairs(request.headers)]),
        warc_headers_dict=about,
    )
    writer.write_request_response_pair(asked, answered)


def _head(first_line: str, headers: Pairs) -> Any:
    from warcio.statusandheaders import StatusAndHeaders  # an extra

    return StatusAndHeaders(first_line, headers, is_http_request=True)


def _pairs(headers: Headers) -> Pairs:
    return [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, values in headers.items()
        for value in values
    ]


def _true_headers(exchange: Exchange) -> Pairs:
    """The headers of the answer that are true of its body as the download handler returned it."""
    headers, body = exchange.response.headers.copy(), exchange.response.body
    if exchange.encoding and not headers.getlist("Content-Encoding"):
        headers["Content-Encoding"] = exchange.encoding
    if not body.startswith(_COMPRESSED):
        headers.pop("Content-Encoding", None)  # the handler has decoded the body
    headers.pop("Transfer-Encoding", None)  # and has put the chunks together
    headers["Content-Length"] = str(len(body))
    return _pairs(headers)


_BEGIN = b"WARC/1."
_MEMBER = b"\x1f\x8b\x08"
"""How a member of a gzip file begins (RFC 1952 2.3.1)."""
_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]{1,18})\r\n", re.IGNORECASE)
_BLOCK = 65_536
_BEGINNING = 512
"""Bytes that tell whether a member holds a record."""
_LAST = 4 << 20
"""Bytes at the end in which the last record is looked for first."""


def repair(file: BinaryIO, aside: Path) -> str:
    """Ends *file* with the last whole record; returns what had to be done, in words, or nothing.

    What follows that record is moved to the end of the file *aside*. Reads the whole file only if
    its end looks torn. Raises OSError, :exc:`NotALogError` for what is no WARC file.
    """
    size = file.seek(0, os.SEEK_END)
    if not size:
        return ""
    file.seek(0)
    head = file.read(len(_BEGIN))
    is_compressed = head.startswith(_MEMBER[: len(head)])
    if not (is_compressed or head == _BEGIN[: len(head)]):
        raise NotALogError("it is not a WARC file")
    end = _last_end(file, size, is_compressed=is_compressed)
    torn = cut_off(file, end, aside)
    return f"its last record was torn: {torn}" if torn else ""


def _last_end(file: BinaryIO, size: int, *, is_compressed: bool) -> int:
    """Where the last whole record ends."""
    begin, end_of = (_MEMBER, _end_of_member) if is_compressed else (_BEGIN, _end_of_record)
    floor = max(0, size - _LAST)
    file.seek(floor)
    last = file.read(_LAST)
    found = len(last)
    while (found := last.rfind(begin, 0, found)) >= 0:
        if end_of(file, floor + found) == size:
            return size
    end = 0
    while end < size and (reached := end_of(file, end)) is not None and reached <= size:
        end = reached
    return end


def _end_of_record(file: BinaryIO, start: int) -> int | None:
    """Where the record that begins at *start* ends, if it is whole; None if there is none."""
    file.seek(start)
    head = file.read(_BLOCK)
    end = head.find(_END)
    found = _LENGTH.search(head, 0, end + 2) if end >= 0 and head.startswith(_BEGIN) else None
    if found is None:
        return None
    length = end + len(_END) + int(found[1])
    file.seek(start + length)
    return start + length + len(_END) if file.read(len(_END)) == _END else None


def _end_of_member(file: BinaryIO, start: int) -> int | None:
    """Where the member with a record that begins at *start* ends; None if there is no whole one."""
    file.seek(start)
    decoder, data, is_first = zlib.decompressobj(31), file.read(_BEGINNING), True
    try:
        while data:
            text = decoder.decompress(data, _BLOCK)
            if is_first and not text.startswith(_BEGIN):
                return None
            if decoder.eof:
                return file.tell() - len(decoder.unused_data)
            data, is_first = decoder.unconsumed_tail or file.read(_BLOCK), False
    except zlib.error:
        pass
    return None
