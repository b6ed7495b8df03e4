"""Requests for robots.txt and their answers as WARC records (ISO 28500), as web archives keep them.

Needs warcio, which the extra ``[warc]`` installs.
"""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO

from scrapy_robots_plus.protocol.printable import rfc3339
from scrapy_robots_plus.protocol.sent_forms import target_of

from .files import Appender, NotALogError, append, cut_off, open_to_append, try_lock, unlock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Headers = Sequence[tuple[str, str]]

ROOM = 1_000
"""How many exchanges wait in memory while the file cannot be written; further ones are lost."""

_VERSION = "1.1"
"""Of WARC: with parts of seconds."""

_COMPRESSED = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
"""How gzip (RFC 1952) and zlib (RFC 1950) begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanged:
    """One request and its answer."""

    at: float
    """When it was sent, in seconds since the epoch."""
    url: str
    method: str
    protocol: str
    """Such as ``HTTP/1.1``."""
    request_headers: Headers
    status: int
    response_headers: Headers
    body: bytes
    """As received, perhaps compressed."""
    address: str | None = None
    """The IP address of the server, if the download handler tells it."""
    is_cut: bool = False
    """Whether the body was cut at a limit."""


class Warc(Appender):
    """One crawl's access to a WARC file."""

    def __init__(self, path: Path, software: str, warn: Callable[[str], None]) -> None:
        """*software*: what made the records. *warn* gets the first problem."""
        super().__init__(path, warn)
        self._waiting: list[bytes] = []
        self._compresses = path.suffix == ".gz"
        self._size = 0
        """That of the file after the last record of this crawl."""
        self._info = self._records(lambda writer: _write_info(writer, path.name, software))

    def add(self, exchanged: Exchanged) -> None:
        """Takes one exchange, to be written by the next :meth:`flush`."""
        if len(self._waiting) >= ROOM:
            self.lost += 1
        else:
            self._waiting.append(self._records(lambda writer: _write_pair(writer, exchanged)))

    def flush(self) -> bool:
        """Writes what waits. False if that was not possible: it waits further."""
        if not self._waiting:
            return True
        try:
            with open_to_append(self.path) as file:
                self.is_locked_out = not try_lock(file)
                if self.is_locked_out:
                    return False
                try:
                    self._repair(file)
                    self._size = append(file, b"".join([self._info, *self._waiting]))
                finally:
                    unlock(file)
        except OSError as error:
            self._failed(error)
            return False
        self._info = b""
        self._waiting.clear()
        return True

    def close(self) -> None:
        """What still waits is lost."""
        self.lost += len(self._waiting)
        self._waiting.clear()

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


def _write_pair(writer: Any, each: Exchanged) -> None:
    dated = {"WARC-Date": rfc3339(each.at)}
    about = {**dated, **({"WARC-IP-Address": each.address} if each.address else {})}
    response = writer.create_warc_record(
        each.url,
        "response",
        payload=BytesIO(each.body),
        length=len(each.body),
        http_headers=_head(f"{each.protocol} {each.status}", _true_of(each)),
        warc_headers_dict={**about, **({"WARC-Truncated": "length"} if each.is_cut else {})},
    )
    asked = f"{each.method} {target_of(each.url)} {each.protocol}"
    request = writer.create_warc_record(
        each.url,
        "request",
        http_headers=_head(asked, each.request_headers),
        warc_headers_dict=about,
    )
    writer.write_request_response_pair(request, response)


def _head(first_line: str, headers: Headers) -> Any:
    from warcio.statusandheaders import StatusAndHeaders  # an extra

    return StatusAndHeaders(first_line, list(headers), is_http_request=True)


def _true_of(each: Exchanged) -> Headers:
    """The headers of the answer that are true of its body as the download handler returned it."""
    untrue = {"transfer-encoding", "content-length"}  # it has put the chunks together
    if not each.body.startswith(_COMPRESSED):
        untrue.add("content-encoding")  # it has decoded the body
    kept = [(name, value) for name, value in each.response_headers if name.lower() not in untrue]
    return [*kept, ("Content-Length", str(len(each.body)))]


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
