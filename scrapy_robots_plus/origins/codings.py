"""The decoding of content codings (RFC 9110 8.4.1), for the first octets of a body.

A body that was cut off is detected: Scrapy's own decoders return what they have of it, as if it
were whole.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from scrapy.http import Response

from scrapy_robots_plus import compat
from scrapy_robots_plus.protocol.access import Failure
from scrapy_robots_plus.protocol.octets import contains_ascii


class BodyError(ValueError):
    """Raised if a body is not the file: it is only a part of it, say, or damaged."""

    def __init__(self, failure: Failure, detail: str = "") -> None:
        super().__init__(detail)
        self.failure = failure


_GZIP = b"\x1f\x8b"
GZIP_FILE = _GZIP + b"\x08"
"""The first octets of a gzip file (RFC 1952 2.3.1), with which no text begins."""
_ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = tuple(bytes([number]) + b"\x2a\x4d\x18" for number in range(0x50, 0x60))
_MOST_MEMBERS = 100
_MOST_CODINGS = 5
"""The most of curl, too. Thousands fit into a header, and each costs as much as a body does."""
_LARGEST_WINDOW = 23
"""The largest window of zstd, as a power of two: RFC 9659 allows 8 MiB in HTTP."""


def _members(
    raw: bytes, limit: int, decoder: Callable[[], Any], begins: Sequence[bytes]
) -> tuple[bytes, bool]:
    """Decodes the members in *raw*, up to *limit* octets; also returns whether the end was reached.

    A member of gzip (RFC 1952 2.2) or a frame of zstd (RFC 8878 3) starts with one of *begins*.
    *decoder* makes an object like those of zlib for each."""
    body = b""
    for _ in range(_MOST_MEMBERS):
        member = decoder()
        body += member.decompress(raw, limit - len(body))
        if not member.eof or len(body) >= limit:
            return body, member.eof
        raw = member.unused_data
        if not raw or not any(raw.startswith(mark[: len(raw)]) for mark in begins):
            return body, True
    raise ValueError(f"more than {_MOST_MEMBERS} members")


_inflate = partial(_members, decoder=partial(zlib.decompressobj, 47), begins=(_GZIP,))
"""The decoder for gzip and zlib, which it tells apart by itself."""


def _inflate_bare(raw: bytes, limit: int) -> tuple[bytes, bool]:
    """Decodes deflate, which some servers send without its header (RFC 1950 2.2)."""
    if len(raw) > 1 and raw[0] & 0x0F == 8 and (raw[0] << 8 | raw[1]) % 31 == 0:
        return _inflate(raw, limit)
    return _members(raw, limit, lambda: zlib.decompressobj(-15), ())


_DECODERS: dict[bytes, Callable[[bytes, int], tuple[bytes, bool]]] = {
    b"gzip": _inflate,
    b"x-gzip": _inflate,
    b"deflate": _inflate_bare,
}

if (zstd := compat.codec("zstd")) is not None:
    _options = {zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW}
    _frame = partial(zstd.ZstdDecompressor, options=_options)
    _DECODERS[b"zstd"] = partial(_members, decoder=_frame, begins=(_ZSTD, *_SKIPPABLE))


SCRAPYS = frozenset({*_DECODERS, b"br", b"zstd"})
"""The codings that Scrapy may undo. Those that cannot be undone here are not left to it: nobody
could tell whether the body was cut off."""

_brotli = compat.codec("brotli")


def _unbrotli(raw: bytes, limit: int) -> tuple[bytes, bool]:
    decoder = _brotli.Decompressor()
    body: bytes = decoder.process(raw, output_buffer_limit=limit)
    more = body
    while more and not decoder.is_finished() and len(body) < limit:
        more = decoder.process(b"", output_buffer_limit=limit - len(body))
        body += more
    return body, decoder.is_finished()


if hasattr(getattr(_brotli, "Decompressor", None), "can_accept_more_data"):  # 1.2, as for Scrapy
    _DECODERS[b"br"] = _unbrotli


_NO_CODINGS = frozenset({b"", b"identity", b"none", b"chunked", b"aws-chunked"})
"""Values of Content-Encoding for a body in no coding: mostly mistakes; browsers accept them too."""
_CONTROL = rb"[\x00-\x08\x0b\x0e-\x1f\x7f]"


def _is_no_coding(name: bytes) -> bool:
    return name in _NO_CODINGS or contains_ascii(name.decode("latin-1"))


def _is_text(body: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)  # it may end within a character
    except UnicodeDecodeError:
        return False
    return re.search(_CONTROL, body) is None


def codings_in(response: Response) -> list[bytes]:
    """Returns the codings of the body, in the order in which they were applied.

    Gzip is detected even if no header names it."""
    encoding = b",".join(response.headers.getlist("Content-Encoding")).lower()
    names = (name.strip() for name in encoding.split(b","))
    codings = [name for name in names if not _is_no_coding(name)]
    if not SCRAPYS.issuperset(codings) and _is_text(response.body):
        codings = [name for name in codings if name in SCRAPYS]  # the others are mistakes, too
    return codings or ([b"gzip"] if response.body.startswith(GZIP_FILE) else [])


def decoded(body: bytes, codings: list[bytes], limit: int, *, is_stopped: bool = False) -> bytes:
    """Returns *body* with *codings* undone, cut to a few octets more than *limit*.

    Decoding stops at the limit, so a decompression bomb costs no more than any other body. Raises
    BodyError if the body is cut off, damaged, or not so encoded. *is_stopped*: the download was
    stopped, perhaps exactly where a gzip member ends.
    """
    if len(codings) > _MOST_CODINGS:
        raise BodyError(Failure.UNDECODABLE, f"more than {_MOST_CODINGS} codings")
    is_whole = True
    for coding in reversed(codings):
        if not is_whole and len(body) <= limit:
            break
        try:
            body, has_end = _DECODERS[coding](body, limit + 1)
        except Exception as error:  # noqa: BLE001 - each library has errors of its own
            detail = f"{coding.decode('latin-1')}: {error}"
            raise BodyError(Failure.UNDECODABLE, detail) from None
        is_whole = is_whole and has_end
    if len(body) <= limit and (is_stopped or not is_whole):
        raise BodyError(Failure.CUT, "the compressed body is cut off")
    if body.startswith(GZIP_FILE):
        raise BodyError(Failure.UNDECODABLE, "the body is compressed twice")
    return body
