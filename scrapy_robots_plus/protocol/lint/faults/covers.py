"""Which rules match all the paths of another rule, and which may match some of them.

A rule covers another one if it matches that rule's own text: only a ``*`` matches a ``*``, and
what it matches there may as well be anything else.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.rules.pattern import Pattern, matches
from scrapy_robots_plus.protocol.rules.rank import NO_RANK, Rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Item = tuple[Rank, Pattern]
"""A rule, compiled: a plain tuple, since a file may have many."""


def is_literal(pattern: Pattern) -> bool:
    """Whether it is a prefix."""
    return not pattern[1] and pattern[2] is None


def is_starred(pattern: Pattern) -> bool:
    """Whether it is neither a prefix nor a single path."""
    return bool(pattern[1] or pattern[2])


def normal(pattern: Pattern) -> Pattern:
    """One form for patterns that match the same paths. All paths begin with ``/``, so ``/*a`` is
    the same as ``*a``."""
    prefix, parts, tail = pattern
    if prefix == b"/" and tail != b"":
        first = parts[0] if parts else tail or b""
        if not first.startswith(b"/"):
            return b"", parts, tail
    return pattern


def text_of(pattern: Pattern) -> bytes:
    """The text of a pattern."""
    prefix, parts, tail = pattern
    return prefix if tail == b"" else b"*".join((prefix, *parts, tail or b""))


class Prefixes:
    """The prefixes of rules, each with the longest other one that it begins with."""

    def __init__(self, prefixes: Iterable[bytes]) -> None:
        self._above: dict[bytes, bytes | None] = {}
        begun: list[bytes] = []
        for prefix in sorted(set(prefixes)):
            while begun and not prefix.startswith(begun[-1]):
                begun.pop()
            self._above[prefix] = begun[-1] if begun else None
            begun.append(prefix)

    def strongest(self, ranks: dict[bytes, Rank]) -> dict[bytes | None, Rank]:
        """For each prefix, the greatest of the *ranks* of those that it begins with, and its own;
        NO_RANK if none has one."""
        found: dict[bytes | None, Rank] = {None: NO_RANK}
        for prefix, above in self._above.items():  # in order: shorter ones first
            found[prefix] = max(found[above], ranks.get(prefix, NO_RANK))
        return found

    def nearest(self, prefix: bytes, ranks: dict[bytes | None, Rank]) -> Rank:
        """The rank of the longest prefix of *prefix* that has one in *ranks*, which has one for
        None. Those on the way get it as well, so that none is passed twice."""
        passed: list[bytes] = []
        at: bytes | None = prefix
        while at is not None and at not in ranks:
            passed.append(at)
            at = self._above[at]
        found = ranks[at]
        for each in passed:
            ranks[each] = found
        return found


def strongest_starred(starred: list[Item], pattern: Pattern, floor: Rank) -> Rank:
    """The strongest of the rules with wildcards that covers *pattern*, or *floor* if that is
    stronger than all that do."""
    for rank, each in starred:
        if rank > floor and matches(each, text_of(pattern)):
            floor = rank
    return floor


class Overlaps:
    """Rules of one outcome, found by those that they may have paths in common with."""

    def __init__(self, items: list[Item]) -> None:
        self._items = items

    def above(self, item: Item, floor: Rank) -> bool:
        """Whether a rule between *floor* and *item* in rank may match a path that *item* matches.

        *floor* is the strongest rule that covers *item*, so those that cover it as well, such as
        prefixes of its own prefix, are not looked for.
        """
        if not self._items:
            return False
        top, pattern = item
        for rank, each in chain(self._longer(pattern[0]), self._starred):
            if floor < rank < top and not _disjoint(pattern, each):
                return True
        return False

    @cached_property
    def _starred(self) -> list[Item]:
        return [item for item in self._items if is_starred(item[1])]

    @cached_property
    def _by_prefix(self) -> tuple[list[bytes], list[Item]]:
        ordered = sorted(self._items, key=_prefix_of)
        return list(map(_prefix_of, ordered)), ordered

    def _longer(self, prefix: bytes) -> Iterator[Item]:
        """The rules whose prefix begins with this one."""
        prefixes, items = self._by_prefix
        at = bisect_left(prefixes, prefix)
        while at < len(items) and prefixes[at].startswith(prefix):
            yield items[at]
            at += 1


def _prefix_of(item: Item) -> bytes:
    return item[1][0]


def _disjoint(first: Pattern, second: Pattern) -> bool:
    """Whether surely no path matches both."""
    if first[2] == b"":
        return not matches(second, first[0])
    if second[2] == b"":
        return not matches(first, second[0])
    size = min(len(first[0]), len(second[0]))
    if first[0][:size] != second[0][:size]:
        return True
    if first[2] is None or second[2] is None:
        return False
    size = min(len(first[2]), len(second[2]))
    return first[2][-size:] != second[2][-size:]
