"""A matcher that is obviously right and slow: what the engine has to agree with.

It shares no code with the engine: patterns are matched octet by octet with the set of all positions
that are possible so far, and every rule is tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def matches(pattern: bytes, path: bytes) -> bool:
    """RFC 9309 2.2.2 and 2.2.3, read aloud."""
    anchored = pattern.endswith(b"$")
    positions = {0}
    for octet in pattern[:-1] if anchored else pattern:
        if octet == ord("*"):
            positions = set(range(min(positions), len(path) + 1))
        else:
            positions = {at + 1 for at in positions if at < len(path) and path[at] == octet}
        if not positions:
            return False
    return len(path) in positions if anchored else True


def allowed(rules: Iterable[tuple[bool, bytes]], path: bytes) -> bool:
    """Of the rules that match, the one with the most octets; of equals, an allow."""
    hits = [(len(pattern), allow) for allow, pattern in rules if pattern and matches(pattern, path)]
    return max(hits)[1] if hits else True
