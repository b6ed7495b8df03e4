"""A rule's path-pattern, split at its wildcards (RFC 9309 2.2.3), and a rule as one number.

Of two rules that match, the greater number decides. Numbers are fast to compare, and thousands of
them take little memory.
"""

from __future__ import annotations

Pattern = tuple[bytes, tuple[bytes, ...], bytes | None]
"""A prefix, then the parts, each somewhere after the one before, then a tail at the very end.

The tail is None if the pattern is open at its end, and empty if it is only the prefix.
Since ``*`` matches any octets, the leftmost place of each part leaves the most room for the next:
no other place needs to be tried, and matching never backtracks.
"""


def matches(pattern: Pattern, path: bytes) -> bool:
    """Whether a pattern matches a path. For a few rules; :class:`~.matcher.Places` is for many."""
    prefix, parts, tail = pattern
    if tail == b"":
        return path == prefix
    if not path.startswith(prefix):
        return False
    at = len(prefix)
    for part in parts:
        at = path.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return tail is None or ends_with(path, tail, at)


def ends_with(path: bytes, tail: bytes, at: int) -> bool:
    """Whether the path ends with ``tail``, and all of it comes after ``at``."""
    return len(path) - len(tail) >= at and path.endswith(tail)


def take_apart(pattern: bytes, wildcards: bool = True) -> Pattern:
    """Splits a pattern into its parts; without ``wildcards``, ``*`` and ``$`` are literal."""
    if not wildcards:
        return pattern, (), None
    prefix, *parts = pattern.split(b"*")
    if not parts:
        return (prefix[:-1], (), b"") if prefix.endswith(b"$") else (prefix, (), None)
    # ``/dir/*`` and ``/dir/*$`` match like ``/dir/``; what comes before ``*$`` is open at its end.
    tail = (parts.pop()[:-1] or None) if parts[-1].endswith(b"$") else None
    return prefix, tuple(filter(None, parts)), tail


Rank = int

_LINES = 2**32 - 1

NO_RANK: Rank = -(2**80) + 1
"""Less than any rule; it allows."""


def rank_of(weight: int, line: int, allow: bool) -> Rank:
    """The rank of a rule. Among rules of the same weight, the first in the file is the greatest."""
    return (weight << 33) - (line << 1) + allow


PER_WEIGHT = rank_of(1, 0, False)
"""How much a rank grows with each unit of weight."""


def line_of(rank: Rank) -> int:
    """The number of the rule's line."""
    return -(rank >> 1) & _LINES


def allows(rank: Rank) -> bool:
    """Whether the rule allows."""
    return rank & 1 == 1
