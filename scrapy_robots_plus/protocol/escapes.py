"""The path of a URL, and percent-escapes (RFC 9309 2.2.2, RFC 3986 6.2.2)."""

from __future__ import annotations

import re
from collections.abc import Callable

from . import rfc9309
from .dialect import Escapes

_USUAL = re.compile(rb"https?://[^/?;#]+(/[^#]*)")
_HEAD = re.compile(rb"(?://)?(?:[^/?;]*?://)?[^/?;]*")
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_ESCAPE_OR_UNSAFE = re.compile(rb"%[0-9A-Fa-f]{2}|[^!#-;=?-\[\]_a-z~]")
_ESCAPE_OR_HIGH = re.compile(rb"%[0-9A-Fa-f]{2}|[\x80-\xff]")

# The octets that stay as they are when a rule or a URL is brought into one form.
_PLAIN = bytes(rfc9309.UNRESERVED | rfc9309.RESERVED)
SIMPLE = bytes(rfc9309.UNRESERVED | rfc9309.RESERVED - frozenset(b"*$"))
"""Octets that no dialect changes, nor takes for more than themselves."""

_ASCII_BUT_PERCENT = bytes(octet for octet in range(128) if octet != 0x25)


def path_of(url: bytes) -> bytes:
    """Path and query of a URL, which may also be a path and query: what rules are matched with.

    Read as the reference parser reads it: without scheme, authority and fragment, ``/`` for a URL
    that has no path.
    """
    usual = _USUAL.match(url)
    if usual:
        return usual[1]
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
    """One form for what 2.2.2 says is the same: ``%7E`` is ``~``, ``%c3`` and 0xC3 are ``%C3``."""
    found = match.group()
    if len(found) == 1:
        return _escaped(found[0])
    octet = _octet(found)
    return bytes((octet,)) if octet in rfc9309.UNRESERVED else found.upper()


def _upper(match: re.Match[bytes]) -> bytes:
    found = match.group()
    return _escaped(found[0]) if len(found) == 1 else found.upper()


def canonical(value: bytes) -> bytes:
    """Escapes of unreserved characters undone, the others in upper case, and what no URI may hold
    escaped."""
    if value.translate(None, _PLAIN):
        return _ESCAPE_OR_UNSAFE.sub(_canonical, value)
    return value


def upper(value: bytes) -> bytes:
    """Escapes in upper case, and octets outside ASCII escaped."""
    if value.translate(None, _ASCII_BUT_PERCENT):
        return _ESCAPE_OR_HIGH.sub(_upper, value)
    return value


def unchanged(value: bytes) -> bytes:
    """The value as it is."""
    return value


def _undo_all_but(kept: bytes) -> Callable[[bytes], bytes]:
    def undo(match: re.Match[bytes]) -> bytes:
        octet = _octet(match.group())
        return match.group().upper() if octet in kept else bytes((octet,))

    return lambda value: _ESCAPE.sub(undo, value) if b"%" in value else value


RULE_FORM: dict[Escapes, Callable[[bytes], bytes]] = {
    Escapes.NONE: upper,
    Escapes.UNRESERVED: canonical,
    Escapes.BUT_SLASH: _undo_all_but(b"/"),
    Escapes.BUT_DELIMITERS: _undo_all_but(b"/?&="),
}
"""What a rule becomes before it is compared."""

URL_FORM: dict[Escapes, Callable[[bytes], bytes]] = {**RULE_FORM, Escapes.NONE: unchanged}
"""What a URL's path becomes before it is compared."""
