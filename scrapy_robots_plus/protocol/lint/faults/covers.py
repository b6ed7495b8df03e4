"""Which rules match all the paths of another rule, and which may match some of them.

A rule covers another one if it matches that rule's own text: only a ``*`` matches a ``*``, and
what it matches there may as well be anything else.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.rules.pattern import Pattern, matches
from scrapy_robots_plus.protocol.rules.rank import NO_RANK, Rank

if TYPE_CHECKING:
    from collections.abc import Iterator


class Item(NamedTuple):
    """A rule, compiled."""

    rank: Rank
    pattern: Pattern
    text: bytes
    """The pattern, joined again."""

    @property
    def is_literal(self) -> bool:
        """Whether it is a prefix."""
        return not self.pattern[1] and self.pattern[2] is None

    @property
    def is_starred(self) -> bool:
        """Whether it is neither a prefix nor a single path."""
        return bool(self.pattern[1] or self.pattern[2])


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


class Covers:
    """Rules, found by those that they cover. Of equal ones, the strongest counts.

    Without *compare*, those with wildcards are only found by rules that are equal to them.
    """

    def __init__(self, compare: bool = True) -> None:
        self._compare = compare
        self._literal: dict[bytes, Rank] = {}
        self._lengths: list[int] = []
        self._others: dict[Pattern, Rank] = {}
        self._starred: dict[Pattern, Rank] = {}

    def add(self, item: Item) -> None:
        """Adds a rule."""
        if item.is_literal:
            self._add_literal(item.pattern[0], item.rank)
        else:
            kept = self._starred if item.is_starred else self._others
            kept[item.pattern] = max(item.rank, kept.get(item.pattern, NO_RANK))

    def _add_literal(self, prefix: bytes, rank: Rank) -> None:
        before = self._literal.get(prefix)
        if before is not None:
            self._literal[prefix] = max(rank, before)
            return
        self._literal[prefix] = rank
        at = bisect_left(self._lengths, len(prefix))
        if self._lengths[at : at + 1] != [len(prefix)]:
            self._lengths.insert(at, len(prefix))

    def equal_to(self, item: Item) -> Rank:
        """The rule that matches the same paths; NO_RANK if there is none."""
        if item.is_literal:
            return self._literal.get(item.pattern[0], NO_RANK)
        kept = self._starred if item.is_starred else self._others
        return kept.get(item.pattern, NO_RANK)

    def strongest(self, item: Item) -> Rank:
        """The strongest rule that covers *item*; NO_RANK if there is none."""
        found = self.equal_to(item)
        prefix, get = item.pattern[0], self._literal.get
        for length in self._lengths:
            if length > len(prefix):
                break
            rank = get(prefix[:length], NO_RANK)
            if rank > found:
                found = rank
        if self._compare:
            for pattern, rank in self._starred.items():
                if rank > found and matches(pattern, item.text):
                    found = rank
        return found


class Overlaps:
    """Rules of one outcome, found by those that they may have paths in common with."""

    def __init__(self, items: list[Item]) -> None:
        self._sorted = sorted(items, key=_prefix_of)
        self._prefixes = [item.pattern[0] for item in self._sorted]
        self._starred = [item for item in items if item.is_starred]

    def above(self, item: Item, floor: Rank) -> bool:
        """Whether a rule between *floor* and *item* in rank may match a path that *item* matches.

        *floor* is the strongest rule that covers *item*, so those that cover it as well, such as
        prefixes of its own prefix, are not looked for.
        """
        return any(
            floor < each.rank < item.rank and not _disjoint(item.pattern, each.pattern)
            for each in chain(self._longer(item.pattern[0]), self._starred)
        )

    def _longer(self, prefix: bytes) -> Iterator[Item]:
        """The rules whose prefix begins with this one."""
        at = bisect_left(self._prefixes, prefix)
        while at < len(self._prefixes) and self._prefixes[at].startswith(prefix):
            yield self._sorted[at]
            at += 1


def _prefix_of(item: Item) -> bytes:
    return item.pattern[0]


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
