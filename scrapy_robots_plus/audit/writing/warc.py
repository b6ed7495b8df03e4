"""Requests for robots.txt and their answers as WARC records (ISO 28500), as web archives keep them.

Needs warcio, which the extra ``[warc]`` installs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO

from scrapy_robots_plus.protocol.moments import rfc3339
from scrapy_robots_plus.protocol.sent_forms import target_of

from .appending import append, open_to_append
from .locks import try_lock, unlock
from .warc_tail import repair

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


class Warc:
    """Appends to a WARC file. Several crawls may write to one."""

    def __init__(self, path: Path, software: str, warn: Callable[[str], None]) -> None:
        """*software*: what made the records. *warn* gets the first problem."""
        self.path = path
        self.errors = 0
        """Times that the file could not be written."""
        self.lost = 0
        """Exchanges that were not written and will not be."""
        self.is_locked_out = False
        """Whether the last :meth:`flush` found somebody else writing."""
        self._warn = warn
        self._warned = False
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
                self._warn(f"{self.path}: {done}")

    def _failed(self, error: OSError) -> None:
        self.errors += 1
        if not self._warned:
            self._warned = True
            self._warn(f"{self.path}: it cannot be written ({error.strerror or error})")

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
