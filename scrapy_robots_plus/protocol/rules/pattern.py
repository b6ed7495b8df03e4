"""A rule's path-pattern, split at its wildcards (RFC 9309 2.2.3)."""

from __future__ import annotations

Pattern = tuple[bytes, tuple[bytes, ...], bytes | None]
"""A prefix, then the parts, each somewhere after the one before, then a tail at the very end.

The tail is None if the pattern is open at its end, and empty if it is only the prefix.
Since ``*`` matches any octets, the leftmost place of each part leaves the most room for the next:
no other place needs to be tried, and matching never backtracks.
"""


def matches(pattern: Pattern, path: bytes) -> bool:
    """Whether a pattern matches a path. For a few rules; :class:`~.places.Places` is for many."""
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
    anchored = pattern.endswith(b"$")
    if anchored:
        pattern = pattern[:-1]
    prefix, star, rest = pattern.partition(b"*")
    if not star:
        return prefix, (), b"" if anchored else None
    if not rest:
        # ``/dir/*`` and ``/dir/*$`` match like ``/dir/``; only their length differs.
        return prefix, (), None
    parts = rest.split(b"*")
    # The part before ``*$`` is open at its end.
    tail = (parts.pop() or None) if anchored else None
    return prefix, tuple(filter(None, parts)), tail


def put_together(pattern: Pattern) -> bytes:
    """The path-pattern that :func:`take_apart` makes such a pattern of."""
    prefix, parts, tail = pattern
    if not tail:
        return b"*".join((prefix, *parts)) + (b"" if tail is None else b"$")
    return b"*".join((prefix, *parts, tail)) + b"$"
