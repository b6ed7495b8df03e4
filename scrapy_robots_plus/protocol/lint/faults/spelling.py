"""Which key a misspelt one may have been."""

from __future__ import annotations

from functools import lru_cache

from scrapy_robots_plus.protocol.lines import Kind

KEYS = tuple(kind.key for kind in Kind if kind not in {Kind.NOTHING, Kind.HOST})
"""As they are spelled. ``host`` is not among them: too many words look like it."""

_LONGEST = 24
"""Longer keys are not compared."""


@lru_cache(maxsize=256)
def meant_by(key: str) -> str | None:
    """The known key that differs from *key* by one typing error, or two in a long one.

    Takes constant time. Only letters are compared, so that ``user_agent`` is found as well.
    """
    if len(key) > _LONGEST:
        return None
    letters = _letters(key)
    near = ((distance(letters, _letters(known)), known) for known in KEYS)
    best, known = min(near)
    return known if best <= (2 if len(letters) >= 8 else 1) else None


def _letters(key: str) -> str:
    return "".join(filter(str.isalpha, key.lower()))


def distance(first: str, second: str) -> int:
    """How many letters must be added, dropped, changed or exchanged with the next one."""
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, 1):
        next_row = [i]
        for j, other in enumerate(second, 1):
            cost = min(row[j] + 1, next_row[-1] + 1, row[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            next_row.append(cost)
        before, row = row, next_row
    return row[-1]
