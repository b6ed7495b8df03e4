"""A matching rule as one number: the greatest of them decides.

Numbers are fast to compare, and thousands of them take little memory.
"""

from __future__ import annotations

Rank = int

_LAST_LINE = 2**32 - 1

NO_RANK: Rank = -(2**80) + 1
"""Less than any rule; it allows."""


def rank_of(weight: int, line: int, allow: bool) -> Rank:
    """The rank of a rule. Among rules of the same weight, the first in the file is the greatest."""
    return (weight << 33) + ((_LAST_LINE - line) << 1) + allow


PER_WEIGHT = rank_of(1, 0, False) - rank_of(0, 0, False)
PER_LINE = rank_of(0, 1, False) - rank_of(0, 0, False)
"""How much a rank grows with each unit of weight, and shrinks with each line.

So ``rank_of(weight, line, allow)`` is ``rank_of(0, 0, allow) + weight * PER_WEIGHT + line *
PER_LINE``.
"""


def line_of(rank: Rank) -> int:
    """The number of the rule's line."""
    return _LAST_LINE - (rank >> 1 & _LAST_LINE)


def allows(rank: Rank) -> bool:
    """Whether the rule allows."""
    return rank & 1 == 1
