"""The path of a URL, and percent-escapes (RFC 9309 2.2.2, RFC 3986 6.2.2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from . import rfc9309

if TYPE_CHECKING:
    from .dialect import Dialect

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

_ALL = bytes(range(256))
_BUT_PERCENT = _ALL.replace(b"%", b"")
_ASCII_BUT_PERCENT = _ALL[:128].replace(b"%", b"")


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


def _escaped(octet: int) -> bytes:
    return b"%%%02X" % octet


def _canonical(match: re.Match[bytes]) -> bytes:
    """One form for everything that 2.2.2 treats as equal: ``%7E`` is ``~``, ``%c3`` is ``%C3``."""
    found = match.group()
    if len(found) == 1:
        return _escaped(found[0])
    octet = int(found[1:], 16)
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


def undone(kept: bytes, value: bytes) -> bytes:
    """Decodes all escapes but those of *kept* octets, and puts these in upper case."""

    def undo(match: re.Match[bytes]) -> bytes:
        octet = bytes.fromhex(match.group()[1:].decode())
        return match.group().upper() if octet in kept else octet

    return _ESCAPE.sub(undo, value)


Form = tuple[bytes, Callable[[bytes], bytes]]
"""The octets that stay unchanged, and the function for values that contain others."""


def rule_form(dialect: Dialect) -> Form:
    """The form of a rule for comparison."""
    form = url_form(dialect)
    return (_ASCII_BUT_PERCENT, upper) if form[1] is bytes else form


def url_form(dialect: Dialect) -> Form:
    """The form of a URL's path for comparison."""
    if dialect.normal_escapes:
        return _PLAIN, canonical
    kept = dialect.kept_escapes.encode()
    return (_BUT_PERCENT, partial(undone, kept)) if kept else (_ALL, bytes)
