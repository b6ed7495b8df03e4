"""Finds the rule that decides about a path by trying one rule after the other, best first.

That is how most files are asked: they have a few dozen rules, which take next to no time to put in
order. An :class:`~.index.Index` is for those that have more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pattern import matches
from .places import SHORT_PATH, Places
from .rank import NO_RANK, Rank

if TYPE_CHECKING:
    from .pattern import Pattern

Ranked = tuple[Rank, bytes]
"""The rank of a rule, and its path-pattern in the dialect's form."""

Starred = tuple[Rank, bytes, "Pattern"]
"""The same of a rule with wildcards: its rank, octets that a path must have for it to match, and
its path-pattern, taken apart."""

MOST_SCANNED = 128
"""So many rules are tried one after the other."""


class Scan:
    """A few rules, the best first."""

    __slots__ = ("_prefixes", "_starred", "literal")

    def __init__(self, literal: list[Ranked], starred: list[Starred]) -> None:
        """Both are sorted."""
        self.literal = literal
        self._prefixes = tuple([prefix for _, prefix in literal])
        self._starred = ScanStarred(starred)

    @property
    def starred(self) -> list[Starred]:
        """Those with wildcards, in no order."""
        return self._starred.rules

    def best(self, path: bytes) -> Rank:
        """The rule that decides about a path, or :data:`~.rank.NO_RANK`."""
        best = NO_RANK
        if path.startswith(self._prefixes):
            for rank, prefix in self.literal:  # always true: one of them ends it
                if path.startswith(prefix):
                    best = rank
                    break
        return self._starred.best(path, best)


class ScanStarred:
    """A few rules with wildcards, the best first."""

    __slots__ = ("_anywhere", "_prefixes", "_there")

    def __init__(self, rules: list[Starred]) -> None:
        self._anywhere = [rule for rule in rules if len(rule[2][0]) < 2]
        self._there = [rule for rule in rules if len(rule[2][0]) >= 2]
        self._prefixes = tuple([prefix for _, _, (prefix, _, _) in self._there])

    @property
    def rules(self) -> list[Starred]:
        """All of them."""
        return self._anywhere + self._there

    def best(self, path: bytes, best: Rank) -> Rank:
        """The better of ``best`` and the first rule that matches."""
        if self._anywhere:
            best = _best_of(self._anywhere, path, best)
        if path.startswith(self._prefixes):
            best = _best_of(self._there, path, best)
        return best


def _best_of(rules: list[Starred], path: bytes, best: Rank) -> Rank:
    places = Places(path) if len(path) > SHORT_PATH else None
    for rank, needed, pattern in rules:
        if needed in path:
            if rank < best:
                break
            if places.match(pattern) if places else matches(pattern, path):
                return rank
    return best
