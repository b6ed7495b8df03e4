"""The path of a URL, and percent-escapes (RFC 9309 2.2.2, RFC 3986 6.2.2)."""

from __future__ import annotations

import re
from collections.abc import Callable

from scrapy_robots_plus.protocol import rfc9309
from scrapy_robots_plus.protocol.dialect import Escapes

usual_url = re.compile(rb"https?://[^/?;#]+(/[^#]*)").match
"""Matches nearly every URL and captures path and query: :func:`path_of`, but faster."""

_HEAD = re.compile(rb"(?://)?(?:[^/?;]*?://)?[^/?;]*")
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_ESCAPE_OR_HIGH = re.compile(rb"%[0-9A-Fa-f]{2}|[\x80-\xff]")

_KEPT = rfc9309.UNRESERVED | rfc9309.RESERVED - rfc9309.SENT_ESCAPED
_PLAIN = bytes(_KEPT)
"""Octets that stay unchanged when a rule or a URL is normalized."""
_ESCAPE_OR_UNSAFE = re.compile(rb"%[0-9A-Fa-f]{2}|[^%" + re.escape(_PLAIN) + rb"]")

SIMPLE = bytes(_KEPT - frozenset(b"*$#"))
"""Octets that no dialect changes or treats as special."""

_ASCII_BUT_PERCENT = bytes(octet for octet in range(128) if octet != 0x25)


def path_of(url: bytes) -> bytes:
    """Path and query of a URL, or of a path and query: the part that rules are matched against.

    Like the reference parser: without scheme, authority and fragment, and ``/`` for a URL without a
    path.
    """
    head = _HEAD.match(url)
    at = head.end() if head else 0
    if b"#" in url[:at]:
        return b"/"
    path = url[at:].partition(b"#")[0]
    return path if path.startswith(b"/") else b"/" + path


def _octet(escape: bytes) -> int:
    return int(escape[1:], 16)


def _escaped(octet: int) -> bytes:
    return b"%%%02X" % octet


def _canonical(match: re.Match[bytes]) -> bytes:
    """One form for everything that 2.2.2 treats as equal: ``%7E`` is ``~``, ``%c3`` is ``%C3``."""
    found = match.group()
    if len(found) == 1:
        return _escaped(found[0])
    octet = _octet(found)
    return bytes((octet,)) if octet in rfc9309.UNRESERVED else found.upper()


def _upper(match: re.Match[bytes]) -> bytes:
    found = match.group()
    return _escaped(found[0]) if len(found) == 1 else found.upper()


def canonical(value: bytes) -> bytes:
    """Decodes escapes of unreserved characters, and puts the others in upper case. Escapes octets
    that no URI may contain or that clients send escaped."""
    return _ESCAPE_OR_UNSAFE.sub(_canonical, value)


def upper(value: bytes) -> bytes:
    """Puts escapes in upper case, and escapes octets outside ASCII."""
    return _ESCAPE_OR_HIGH.sub(_upper, value)


def _undo_all_but(kept: bytes) -> Callable[[bytes], bytes]:
    def undo(match: re.Match[bytes]) -> bytes:
        octet = _octet(match.group())
        return match.group().upper() if octet in kept else bytes((octet,))

    return lambda value: _ESCAPE.sub(undo, value)


_ALL = bytes(range(256))
_BUT_PERCENT = _ALL.replace(b"%", b"")

Form = tuple[bytes, Callable[[bytes], bytes]]
"""The octets that stay unchanged, and the function for values that contain others."""

RULE_FORM: dict[Escapes, Form] = {
    Escapes.NONE: (_ASCII_BUT_PERCENT, upper),
    Escapes.UNRESERVED: (_PLAIN, canonical),
    Escapes.BUT_SLASH: (_BUT_PERCENT, _undo_all_but(b"/")),
    Escapes.BUT_DELIMITERS: (_BUT_PERCENT, _undo_all_but(b"/?&=")),
}
"""The form of a rule for comparison, by dialect option."""

URL_FORM: dict[Escapes, Form] = {**RULE_FORM, Escapes.NONE: (_ALL, bytes)}
"""The form of a URL's path for comparison, by dialect option."""
