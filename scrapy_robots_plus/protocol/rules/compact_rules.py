"""The rules for one crawler in a few hundred octets, kept for hosts that are rarely needed.

One line per rule, the strongest first, so that the first match decides. Compiled rules are faster
but take some twenty times the memory; without either, the whole file would be parsed again.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from .matcher import MOST_SCANNED
from .pattern import matches, take_apart

if TYPE_CHECKING:
    from .matcher import Matcher

MOST_OCTETS = 8192

# The first octet of a line: whether the rule allows, and whether it is a prefix or has wildcards.
_ALLOW, _DISALLOW, _ALLOW_WILD, _DISALLOW_WILD = b"a", b"d", b"A", b"D"


def compact_rules_of(rules: Matcher) -> bytes | None:
    """The rules in compact form; None if there are too many, or if they are too long."""
    literal = rules.literal
    if len(literal) + len(rules.texts) > MOST_SCANNED:
        return None
    lines = [((_ALLOW if rank & 1 else _DISALLOW) + path, rank) for path, rank in literal]
    for text, rank in rules.texts:
        lines.append(((_ALLOW_WILD if rank & 1 else _DISALLOW_WILD) + text, rank))
    lines.sort(key=itemgetter(1), reverse=True)
    compact = b"\n".join([line for line, _ in lines])
    return compact if len(compact) <= MOST_OCTETS else None


def decide(compact: bytes, path: bytes) -> bytes | None:
    """The line that decides about *path*, which is in the dialect's form; None if none matches."""
    if not compact:
        return None
    allowed, disallowed = _ALLOW + path, _DISALLOW + path
    for line in compact.split(b"\n"):
        if disallowed.startswith(line) or allowed.startswith(line):
            return line
        if line[0] < 0x61 and matches(take_apart(line[1:]), path):
            return line
    return None


def is_allow(line: bytes) -> bool:
    """Whether a *line* of compact rules allows."""
    return line[:1] in (_ALLOW, _ALLOW_WILD)
