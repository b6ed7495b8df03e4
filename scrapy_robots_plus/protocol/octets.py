"""Conversion of a served body to UTF-8 (RFC 9309 2.3), up to the size limit (2.5), and to text.

Octets never make it raise. A body that does not match its charset stays unchanged: its ASCII keys
are still found (2.3.1.5).
"""

from __future__ import annotations

import codecs
from encodings import normalize_encoding
from encodings.aliases import aliases
from functools import lru_cache

_SUPERSETS_OF_ASCII = frozenset(
    {
        *("latin_1", *(f"iso8859_{part}" for part in range(2, 17) if part != 12)),
        *(f"cp{page}" for page in (*range(1250, 1259), 437, 850, 852, 866, 874, 932, 949, 950)),
        *("koi8_r", "koi8_u", "koi8_t", "kz1048", "ptcp154", "tis_620"),
        *("mac_roman", "mac_cyrillic", "mac_greek", "mac_latin2", "mac_turkish"),
        *("shift_jis", "euc_jp", "euc_kr", "gb2312", "gbk", "gb18030", "big5", "big5hkscs"),
    }
)
"""The charsets that are decoded: robots.txt files use them, they contain ASCII, and decoding takes
linear time. Of Python's others, ``idna`` is quadratic, and ``utf_7`` and EBCDIC make an ASCII file
unreadable if it is labelled so by mistake."""

_MARKS = frozenset({codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE})
_WIDE = frozenset({"utf_16", "utf_16_le", "utf_16_be"})
_WIDE_KEYS = b"a\0g\0e\0n\0t", b"a\0l\0l\0o\0w"
"""Parts of the keys User-agent, Allow and Disallow in UTF-16, of either byte order."""


Body = bytes | bytearray | memoryview | str
"""The types in which a robots.txt may be given."""


def as_octets(body: Body, charset: str) -> tuple[bytes, str]:
    """Returns the body as octets, and their encoding: UTF-8 for text, otherwise *charset*.

    Raises TypeError for anything else, such as a path.
    """
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass"), "utf-8"
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body), charset
    raise TypeError(
        "the body of a robots.txt is bytes, bytearray, memoryview or str, not "
        f"{type(body).__name__}; of a file on disk, pass what Path.read_bytes() returns"
    )


def to_utf8(body: bytes, charset: str) -> bytes:
    """Returns the body in UTF-8 without its byte order mark, which overrides *charset*."""
    name = _name(charset)
    is_marked = body.startswith(codecs.BOM_UTF8)
    # A part of the mark is removed, too, as in the reference parser; elsewhere it is a letter.
    if is_marked or (body.startswith(b"\xef") and name not in _SUPERSETS_OF_ASCII):
        length = next((n for n in (3, 2) if body.startswith(codecs.BOM_UTF8[:n])), 1)
        return body[length:]
    if body[:2] in _MARKS or name in _WIDE:
        # In UTF-16, every other octet of ASCII text is NUL: other bodies are only labelled so. If
        # most of it is no ASCII, as where comments are in Chinese, the keys still are.
        first, second = body[::2].count(0), body[1::2].count(0)
        folded = body.lower()
        if abs(first - second) * 16 >= len(body) or any(key in folded for key in _WIDE_KEYS):
            is_big = body[:2] == codecs.BOM_UTF16_BE if body[:2] in _MARKS else first > second
            text = body.decode("utf-16-be" if is_big else "utf-16-le", "replace")
            return text.removeprefix("\ufeff").encode("utf-8", "surrogatepass")
    if name not in _SUPERSETS_OF_ASCII:  # such as UTF-8, which needs no decoding
        return body
    try:
        return body.decode(name).encode()
    except ValueError:
        return body


def contains_ascii(charset: str) -> bool:
    """Returns whether *charset* is the name of one in which ASCII text is the same."""
    return _name(charset) in _SUPERSETS_OF_ASCII | {"ascii", "utf_8"}


@lru_cache(maxsize=64)
def _name(charset: str) -> str:
    name = normalize_encoding(charset).lower()
    return aliases.get(name, name)


def whole_lines(body: bytes, size: int | None) -> bytes:
    """Returns at most *size* octets of *body*, without the line that the limit would cut in two.

    Half a rule is another rule: ``Disallow: /private`` could be cut to ``Disallow: /``. None is no
    limit.
    """
    if size is None or len(body) <= size:
        return body
    codec = _UTF_16.get(body[:2], "ascii")
    width = len("\n".encode(codec))
    end = max(_last(mark.encode(codec), body, size, width) for mark in "\n\r")
    return body[: size - size % width] if end < 0 else body[:end]


_UTF_16 = {codecs.BOM_UTF16_BE: "utf-16-be", codecs.BOM_UTF16_LE: "utf-16-le"}


def _last(end: bytes, body: bytes, size: int, width: int) -> int:
    """Returns where the last *end* in *body* begins, up to *size*; -1 if there is none.

    An end of two octets is one only at an even place: else it is parts of two characters.
    """
    place = body.rfind(end, 0, size + width)
    while place > 0 and place % width:
        place = body.rfind(end, 0, place + width - 1)
    return place


def text(octets: bytes) -> str:
    """Decodes octets to readable text: those that are not UTF-8 are shown as ``\\xe9``."""
    return octets.decode("utf-8", "backslashreplace")
