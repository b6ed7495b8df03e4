"""A matching rule as one number: the greatest of them decides.

Numbers are fast to compare, and thousands of them take little memory.
"""

from __future__ import annotations

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
