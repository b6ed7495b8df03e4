"""Matches many wildcard rules at once.

Finds the rule with the greatest rank among all that match a path. Rules are sorted by how they
begin: by the prefix before their first ``*``, then by the part after it. For example

    Disallow: /shop/*?id=*&sort=      prefix /shop/, parts ?id= and &sort=
    Disallow: /shop/*?id=*.json$      prefix /shop/, part ?id=, tail .json
    Allow: /shop/*?page=              prefix /shop/, part ?page=

are one root, ``/shop/``, with two ways: ``?id=`` (two rules) and ``?page=`` (one). For
``/shop/a?page=2`` the root is found among the path's prefixes. The possible ways are the
intersection of two sets: the beginnings of the ways, and the path's sequences of that size.
``?pag`` is in both; ``?id=`` and its rules are never looked at. If many rules share a way, another
intersection finds those whose end the path contains. The remaining rules are walked, best first.

The bound: no rule is walked twice, a walk has at most as many steps as the rule has parts, and each
step takes constant time (:class:`~.places.Places`). So a decision takes time in proportion to the
file plus the path, not to their product.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from .pattern import Pattern, ends_with
from .places import Places, usual_size
from .rank import NO_RANK, Rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Rest = tuple[Rank, tuple[bytes, ...], bytes | None]
"""The rest of a rule after its prefix and its first part."""

_FEW = 12
"""Up to this many entries are tried one by one: intersecting sets is fast, but not free."""


def _held(entries: Mapping[bytes, object], size: int, places: Places) -> Iterable[bytes]:
    """Those of the entries, sequences of one size, that the path may contain."""
    if len(entries) <= _FEW:
        return entries
    return entries.keys() & places.table(size).keys()


def _guard(parts: tuple[bytes, ...], tail: bytes | None) -> bytes:
    """Octets that the path must contain for a rule to match: its end, as the most selective."""
    end = tail or (parts[-1] if parts else b"")
    return end[len(end) - usual_size(end) :]


def _best_of(rules: list[Rest], places: Places, at: int, best: Rank) -> Rank:
    """The better of ``best`` and the first rule, in order, that matches from ``at`` on."""
    for rank, parts, tail in rules:
        if rank <= best:
            break
        if tail is None:
            if places.walk(parts, at) >= 0:
                return rank
        elif places.path.endswith(tail):
            end = places.walk(parts, at)
            if end >= 0 and ends_with(places.path, tail, end):
                return rank
    return best


class Way:
    """Rules with the same prefix and the same first part, best first."""

    __slots__ = ("_by_guard", "_rules", "best")

    def __init__(self, rules: list[Rest]) -> None:
        rules.sort(key=itemgetter(0), reverse=True)
        self.best = rules[0][0]
        self._rules = rules if len(rules) <= _FEW else []
        self._by_guard: dict[int, dict[bytes, list[Rest]]] = {}
        for rule in rules if not self._rules else ():
            guard = _guard(rule[1], rule[2])
            self._by_guard.setdefault(len(guard), {}).setdefault(guard, []).append(rule)

    def decide(self, places: Places, at: int, best: Rank) -> Rank:
        """The best of ``best`` and the matching rules, if the first part ends at ``at``."""
        best = _best_of(self._rules, places, at, best)
        for size, by_guard in self._by_guard.items():
            for guard in _held(by_guard, size, places):
                rules = by_guard[guard]
                if rules[0][0] > best and places.behind(guard, at) >= 0:
                    best = _best_of(rules, places, at, best)
        return best


class Root:
    """Rules with the same prefix."""

    __slots__ = ("_tails", "_ways", "best")

    def __init__(self, rules: list[Rest]) -> None:
        self.best = max(rule[0] for rule in rules)
        self._tails: dict[int, dict[bytes, Rank]] = {}
        """Rules with only a tail, by its size."""
        by_part: dict[bytes, list[Rest]] = {}
        for rank, parts, tail in rules:
            if parts:
                by_part.setdefault(parts[0], []).append((rank, parts[1:], tail))
            elif tail:
                self._tails.setdefault(len(tail), {})[tail] = rank
        self._ways: dict[int, dict[bytes, list[tuple[bytes, Way]]]] = {}
        """First parts and their ways, by the beginning of the part, by the size of that."""
        for part, found in by_part.items():
            ways = self._ways.setdefault(usual_size(part), {})
            ways.setdefault(part[: usual_size(part)], []).append((part, Way(found)))

    def decide(self, places: Places, at: int, best: Rank) -> Rank:
        """The best of ``best`` and the matching rules, if the prefix ends at ``at``."""
        path = places.path
        for size, tails in self._tails.items():
            if size <= len(path) - at:
                best = max(best, tails.get(path[-size:], NO_RANK))
        for size, ways in self._ways.items():
            for begin in _held(ways, size, places):
                best = _best_way(ways[begin], places, at, best)
        return best


def _best_way(ways: list[tuple[bytes, Way]], places: Places, at: int, best: Rank) -> Rank:
    """The best of ``best`` and the rules after those first parts that the path contains."""
    for part, way in ways:
        end = places.behind(part, at) if way.best > best else -1
        if end >= 0:
            best = way.decide(places, end, best)
    return best


class WildcardIndex:
    """Wildcard rules by their prefixes."""

    __slots__ = ("_lengths", "_roots")

    def __init__(self, starred: dict[Pattern, Rank]) -> None:
        by_prefix: dict[bytes, list[Rest]] = {}
        for (prefix, parts, tail), rank in starred.items():
            by_prefix.setdefault(prefix, []).append((rank, parts, tail))
        self._roots = {prefix: Root(rules) for prefix, rules in by_prefix.items()}
        self._lengths = tuple(sorted(set(map(len, by_prefix))))

    def best(self, path: bytes, best: Rank) -> Rank:
        """The best of ``best`` and the matching rules."""
        places = Places(path)
        for length in self._lengths:
            if length > len(path):
                break
            root = self._roots.get(path[:length])
            if root is not None and root.best > best:
                best = root.decide(places, length, best)
        return best
