"""Undoes content codings (RFC 9110 8.4.1) up to a limit, and tells a body that was cut off.

Scrapy's own decoders hand over what they have of a body that ends too early, as if it was whole.
"""

from __future__ import annotations

import zlib
from functools import partial
from typing import TYPE_CHECKING, Protocol

from scrapy_robots_plus import compat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class CutOffError(ValueError):
    """A body ends before its content coding does."""


class _Decoder(Protocol):
    """One member of a body: a gzip member (RFC 1952 2.2), a zstd frame (RFC 8878 3)."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


_GZIP = b"\x1f\x8b"
_DEFLATE = b"\x08"
_ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = tuple(bytes([number]) + b"\x2a\x4d\x18" for number in range(0x50, 0x60))
_MOST_MEMBERS = 100
_LARGEST_WINDOW = 23
"""As a power of two: RFC 9659 allows 8 MiB in HTTP."""


def _inflate(raw: bytes, limit: int) -> tuple[bytes, bool]:
    """With gzip or zlib, which is detected."""
    return _members(raw, limit, lambda: zlib.decompressobj(47), (_GZIP,))


def _inflate_bare(raw: bytes, limit: int) -> tuple[bytes, bool]:
    """As some servers send deflate, without the header that it should have (RFC 1950 2.2)."""
    if len(raw) > 1 and raw[0] & 0x0F == 8 and (raw[0] << 8 | raw[1]) % 31 == 0:
        return _inflate(raw, limit)
    return _members(raw, limit, lambda: zlib.decompressobj(-15), ())


def _members(
    raw: bytes, limit: int, decoder: Callable[[], _Decoder], begins: Sequence[bytes]
) -> tuple[bytes, bool]:
    """Decodes *raw*, a series of members that *begin* so, up to *limit* octets; also returns
    whether the end was reached."""
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


_DECODERS: dict[bytes, Callable[[bytes, int], tuple[bytes, bool]]] = {
    b"gzip": _inflate,
    b"x-gzip": _inflate,
    b"deflate": _inflate_bare,
}


if (zstd := compat.codec("zstd")) is not None:
    _options = {zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW}
    _frame = partial(zstd.ZstdDecompressor, options=_options)
    _DECODERS[b"zstd"] = partial(_members, decoder=_frame, begins=(_ZSTD, *_SKIPPABLE))


_brotli = compat.codec("brotli")


def _unbrotli(raw: bytes, limit: int) -> tuple[bytes, bool]:
    decoder = _brotli.Decompressor()
    body: bytes = decoder.process(raw, output_buffer_limit=limit)
    while not decoder.is_finished() and len(body) < limit:
        more = decoder.process(b"", output_buffer_limit=limit - len(body))
        if not more:
            return body, False
        body += more
    return body, decoder.is_finished()


if hasattr(getattr(_brotli, "Decompressor", None), "can_accept_more_data"):  # 1.2, as for Scrapy
    _DECODERS[b"br"] = _unbrotli


def codings_in(content_encoding: bytes) -> tuple[bytes, ...]:
    """The codings that a Content-Encoding names, in lower case, in the order in which they were
    applied."""
    names = (name.strip() for name in content_encoding.lower().split(b","))
    return tuple(name for name in names if name not in (b"", b"identity"))


def can_decode(codings: Sequence[bytes]) -> bool:
    """Whether there are any, and a decoder for each."""
    return bool(codings) and all(coding in _DECODERS for coding in codings)


def may_hide_a_cut(codings: Sequence[bytes]) -> bool:
    """Whether one of them is Scrapy's alone, which does not tell a body that was cut off."""
    return any(coding in (b"br", b"zstd") and coding not in _DECODERS for coding in codings)


def decoded(raw: bytes, codings: Sequence[bytes], limit: int) -> bytes:
    """The first octets of the body *raw*, a few more than *limit* at most, with *codings* undone.

    Decoding stops at the limit, so a decompression bomb costs no more than any other body. Raises
    CutOffError if the body is cut off, and ValueError if it is damaged or not so encoded.
    """
    body, is_whole = raw, True
    for coding in reversed(codings):
        if not is_whole and len(body) <= limit:
            break
        try:
            body, has_end = _DECODERS[coding](body, limit + 1)
        except Exception as error:  # noqa: BLE001 - each library has errors of its own
            raise ValueError(f"{coding.decode('latin-1')}: {error}") from None
        is_whole = is_whole and has_end
    if not is_whole and len(body) <= limit:
        raise CutOffError("the compressed body is cut off")
    if is_gzip(body):
        raise ValueError("the body is compressed twice")
    return body


def is_gzip(body: bytes) -> bool:
    """Whether *body* begins as a gzip file does (RFC 1952 2.3.1). No text begins like that."""
    return body.startswith(_GZIP + _DEFLATE)
