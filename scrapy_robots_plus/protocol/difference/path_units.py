"""All paths that a URL can have, as rows of units: a plain octet, or an escape such as ``%2F``.

Dialects undo some escapes before they compare (:mod:`escapes <.escapes>`), each unit on its own. So
two dialects can be compared on one and the same path: each unit says what either of them reads.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol import rfc9309
from scrapy_robots_plus.protocol.rules.escapes import URL_FORM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_robots_plus.protocol.dialect import Escapes

_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
_NICE = _LETTERS + b"0123456789" + _LETTERS.upper()
_PLAIN = _NICE + bytes(
    sorted((rfc9309.UNRESERVED | rfc9309.RESERVED) - frozenset(_NICE) - frozenset(b"#[]"))
)
"""What a path and query may contain unescaped (RFC 3986 3.3, 3.4)."""

_VALID = re.compile(rb"/(?:[" + re.escape(_PLAIN) + rb"]|%[0-9A-Fa-f]{2})*")
_OTHER = "\u0100"
_OTHERS = re.compile(f"{_OTHER}+")
_NOT_PLAIN = re.compile(rb"%[0-9A-F]{2}|[^" + re.escape(_PLAIN) + rb"]")


class Unit(NamedTuple):
    """An octet or an escape in a URL, and the octets that stand for it when rules are compared."""

    raw: bytes
    before: bytes
    """As the dialect of the first file reads it."""
    after: bytes
    """As the dialect of the second file reads it."""


def is_path(octets: bytes) -> bool:
    """Whether this can be the path and query of a URL: nothing to escape, no broken escape."""
    return _VALID.fullmatch(octets) is not None


def read_as(raw: bytes, escapes: Escapes) -> bytes:
    """The octets that a dialect compares with its rules."""
    safe, form = URL_FORM[escapes]
    return form(raw) if raw.translate(None, safe) else raw


def spelled(octets: bytes, escapes: Escapes) -> bytes | None:
    """A part of a URL that a dialect reads as these octets; None if there is none.

    The octets are those of a whole number of units.
    """
    raw = _NOT_PLAIN.sub(lambda found: _spelled(found.group(), escapes), octets)
    return raw if is_path(b"/" + raw) and read_as(raw, escapes) == octets else None


def _spelled(octets: bytes, escapes: Escapes) -> bytes:
    """That of an escape, or of a single octet that is not plain."""
    if len(octets) > 1 and read_as(octets, escapes) == octets:
        return octets
    return b"%%%02X" % octets[0] + octets[1:]


def _all_units() -> Iterator[bytes]:
    """The most readable first: octets, escapes of printable ones, others, lower case, ``'``, which
    most clients escape."""
    digits = "0123456789ABCDEFabcdef"
    escapes = [f"%{high}{low}" for high in digits for low in digits]
    yield from (bytes((octet,)) for octet in _PLAIN if octet != ord("'"))
    yield from (each.encode() for each in sorted(escapes, key=_oddity))
    yield b"'"


def _oddity(escape: str) -> tuple[bool, bool]:
    return escape != escape.upper(), not chr(int(escape[1:], 16)).isprintable()


def units_of(before: Escapes, after: Escapes, special: Iterable[int]) -> tuple[Unit, ...]:
    """Units of which any path can be made, as far as rules can tell, the most readable first.

    *special* are the octets that occur in rules. No rule can tell other octets from each other, nor
    one from several in a row, so there is one unit for all that are alike.
    """
    kept = frozenset(special)
    found: dict[tuple[str, str], Unit] = {}
    for raw in _all_units():
        unit = Unit(raw, read_as(raw, before), read_as(raw, after))
        found.setdefault((_told(unit.before, kept), _told(unit.after, kept)), unit)
    return tuple(found.values())


def _told(octets: bytes, special: frozenset[int]) -> str:
    """The octets, with one mark in place of those, in a row, that no rule contains."""
    shown = "".join(chr(octet) if octet in special else _OTHER for octet in octets)
    return _OTHERS.sub(_OTHER, shown)
