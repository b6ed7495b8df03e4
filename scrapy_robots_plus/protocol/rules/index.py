"""Finds the rule that decides about a path without trying every rule.

Rules without wildcards are found by looking up the path's prefixes. If there are many with
wildcards, only those are tried of which the path has some octets: one intersection of sets, those
of the rules and of the path, finds them. Time grows with the rules and with the URL, never with
their product, and no rule is tried twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .places import Places
from .rank import NO_RANK, Rank
from .scan import MOST_SCANNED, ScanStarred

if TYPE_CHECKING:
    from .pattern import Pattern
    from .scan import Ranked, Starred

_HEAD = 5
"""The number of leading octets by which longer literal rules are first told apart."""

_SOUGHT = 4
"""The number of octets, at most, by which rules with wildcards are looked up."""


class Index:
    """Many rules."""

    __slots__ = ("_few", "_heads", "_lengths", "_sought")

    def __init__(self, literal: list[Ranked], starred: list[Starred]) -> None:
        """Both are sorted, the best first."""
        self._heads: dict[bytes, dict[bytes, Rank]] = {}
        """Literal rules by their first octets; the short ones are under none."""
        for rank, prefix in literal:
            head = prefix[:_HEAD] if len(prefix) >= _HEAD else b""
            self._heads.setdefault(head, {}).setdefault(prefix, rank)
        self._lengths: dict[bytes, list[int]] = {}
        """How long those are, for the heads that were looked up."""
        few = len(starred) <= MOST_SCANNED
        self._few = ScanStarred(starred if few else [])
        self._sought = {} if few else _by_sought(starred)

    def best(self, path: bytes) -> Rank:
        """The rule that decides about a path, or :data:`~.rank.NO_RANK`."""
        best = NO_RANK
        for head in (b"", path[:_HEAD]):
            ranks = self._heads.get(head)
            if ranks is not None:
                for length in self._lengths.get(head) or self._measure(head):
                    rank = ranks.get(path[:length])
                    if rank is not None and rank > best:
                        best = rank
        return self._best_sought(path, best) if self._sought else self._few.best(path, best)

    def _measure(self, head: bytes) -> list[int]:
        self._lengths[head] = lengths = sorted(set(map(len, self._heads[head])))
        return lengths

    def _best_sought(self, path: bytes, best: Rank) -> Rank:
        places = Places(path)
        for size, rules in self._sought.items():
            there = {path[at : at + size] for at in range(len(path) - size + 1)}
            for sought in rules.keys() & there:
                best = _best_of(rules[sought], places, best)
        return best


def _best_of(rules: list[tuple[Rank, Pattern]], places: Places, best: Rank) -> Rank:
    """The better of ``best`` and the first rule that matches."""
    for rank, pattern in rules:
        if rank < best:
            break
        if places.match(pattern):
            return rank
    return best


def _by_sought(starred: list[Starred]) -> dict[int, dict[bytes, list[tuple[Rank, Pattern]]]]:
    """The rules by some octets that a path must have, by the number of those; each once."""
    found: dict[int, dict[bytes, list[tuple[Rank, Pattern]]]] = {}
    known: set[Pattern] = set()
    for rank, needed, pattern in starred:
        if pattern not in known:
            known.add(pattern)
            sought = needed[:_SOUGHT]
            found.setdefault(len(sought), {}).setdefault(sought, []).append((rank, pattern))
    return found
