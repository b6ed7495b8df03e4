"""A rule's path-pattern, taken apart at its wildcards (RFC 9309 2.2.3)."""

from __future__ import annotations

Pattern = tuple[bytes, tuple[bytes, ...], bytes | None]
"""Prefix, then each of the parts somewhere behind the last, then the tail at the very end.

The tail is None where the pattern is open at its end, and empty where it is the prefix and no more.
Since ``*`` takes any octets, the leftmost place of each part leaves the most room for the next: no
other place needs to be tried, and matching never goes back.
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
    """Whether the path ends with ``tail``, all of it behind ``at``."""
    return len(path) - len(tail) >= at and path.endswith(tail)


def take_apart(pattern: bytes, wildcards: bool = True) -> Pattern:
    """The parts of a pattern; without ``wildcards``, ``*`` and ``$`` are octets like any other."""
    if not wildcards:
        return pattern, (), None
    anchored = pattern.endswith(b"$")
    if anchored:
        pattern = pattern[:-1]
    prefix, star, rest = pattern.partition(b"*")
    if not star:
        return prefix, (), b"" if anchored else None
    if not rest:
        # ``/dir/*`` and ``/dir/*$`` are ``/dir/``, but for their length.
        return prefix, (), None
    parts = rest.split(b"*")
    # What stands before ``*$`` is open at its end.
    tail = (parts.pop() or None) if anchored else None
    return prefix, tuple(filter(None, parts)), tail
