"""A rule that matches, as one number: of several the greatest decides.

Numbers are compared faster than anything else, and thousands of them take little memory.
"""

from __future__ import annotations

Hit = int

_LAST_LINE = 2**32 - 1

NO_HIT: Hit = -(2**80) + 1
"""Less than any rule; it allows."""


def hit_of(rank: int, line: int, allow: bool) -> Hit:
    """Of rules with the same rank, the first in the file is the greatest."""
    return (rank << 33) + ((_LAST_LINE - line) << 1) + allow


def line_of(hit: Hit) -> int:
    """The number of the rule's line."""
    return _LAST_LINE - (hit >> 1 & _LAST_LINE)


def allows(hit: Hit) -> bool:
    """Whether the rule allows."""
    return hit & 1 == 1
