"""A rule's path-pattern, taken apart at its wildcards (RFC 9309 2.2.3)."""

from __future__ import annotations

Run = tuple[bytes, int]
"""Octets that must be found, and how many times in a row (``*a*a*a`` is three times ``a``)."""


Pattern = tuple[bytes, tuple[Run, ...], bytes | None]
"""Prefix, then each of the runs somewhere behind the last, then the tail at the very end.

The tail is None where the pattern is open at its end, and empty where it is the prefix and no more.
Since ``*`` takes any octets, the leftmost place of each part leaves the most room for the next: no
other place needs to be tried, and matching never goes back.
"""


def matches(pattern: Pattern, path: bytes) -> bool:
    """Whether a pattern matches a path."""
    prefix, runs, tail = pattern
    if tail == b"":
        return path == prefix
    if not path.startswith(prefix):
        return False
    at = find_runs(path, runs, len(prefix))
    return at >= 0 and (tail is None or ends_with(path, tail, at))


def find_runs(path: bytes, runs: tuple[Run, ...], at: int) -> int:
    """Where the last of the runs ends when they are looked for from ``at`` on; -1 if they do not
    all follow each other there."""
    for part, times in runs:
        if times == 1:
            at = path.find(part, at)
            if at < 0:
                return -1
            at += len(part)
        else:
            pieces = path[at:].split(part, times)
            if len(pieces) <= times:
                return -1
            at = len(path) - len(pieces[-1])
    return at


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
    return prefix, tuple(_runs(parts)), tail


def _runs(parts: list[bytes]) -> list[Run]:
    """The parts, equal neighbours counted: ``*a*a`` is one run."""
    runs: list[Run] = []
    for part in parts:
        if runs and runs[-1][0] == part:
            runs[-1] = part, runs[-1][1] + 1
        elif part:
            runs.append((part, 1))
    return runs
