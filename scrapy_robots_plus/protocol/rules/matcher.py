"""Finds the rule that decides about a path, without trying every rule.

Rules without wildcards are found by looking up the path's prefixes. Only rules with wildcards are
tried, best first (:mod:`wildcards <.wildcards>` takes over if they are many or long).
Time grows with the rules and with the URL, never with their product, and no rule is tried twice.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TypeVar

from .pattern import Pattern, matches
from .rank import NO_RANK, Rank
from .wildcards import WildcardIndex

Starred = tuple[bytes, tuple[Rank, Pattern]]
"""Octets that a path must contain for a rule with wildcards to match, and the rule."""

_HEAD = 5
"""The number of leading octets by which longer literal rules are first told apart."""

_FEW = 8
"""Up to this many literal rules with the same first octets are tried one by one."""

_MANY = 512
"""From this many parts of wildcard rules on, an index pays."""

_LONG = 16_384
"""From this many octets of wildcard rules on, an index is needed: a hostile file can make a search
take as long as the part times the path."""


class Family:
    """Many literal rules with the same first octets: one lookup per length."""

    __slots__ = ("lengths", "rules")

    def __init__(self, rules: list[tuple[bytes, Rank]]) -> None:
        self.rules: dict[bytes, Rank] = {}
        for prefix, rank in rules:
            _keep_best(self.rules, prefix, rank)
        self.lengths = tuple(sorted(set(map(len, self.rules))))

    def best(self, path: bytes, best: Rank) -> Rank:
        for length in self.lengths:
            if length > len(path):
                break
            rank = self.rules.get(path[:length])
            if rank is not None and rank > best:
                best = rank
        return best


class Compiler:
    """Compiles rules: add them, then call :meth:`seal`."""

    __slots__ = ("_exact", "_heads", "_short", "_starred")

    def __init__(self) -> None:
        self._short: dict[bytes, Rank] = {}
        self._exact: dict[bytes, Rank] = {}
        self._heads: dict[bytes, list[tuple[bytes, Rank]]] = {}
        self._starred: dict[Pattern, Rank] = {}

    def add_literal(self, prefix: bytes, rank: Rank) -> None:
        """A rule for all paths that begin with ``prefix``."""
        head = prefix[:_HEAD]
        if head in self._heads:
            self._heads[head].append((prefix, rank))
        elif len(prefix) >= _HEAD:
            self._heads[head] = [(prefix, rank)]
        else:
            _keep_best(self._short, prefix, rank)

    def add(self, pattern: Pattern, rank: Rank) -> None:
        """A rule with or without wildcards."""
        prefix, parts, tail = pattern
        if parts or tail:
            _keep_best(self._starred, pattern, rank)
        elif tail is not None:
            _keep_best(self._exact, prefix, rank)
        else:
            self.add_literal(prefix, rank)

    def seal(self) -> Matcher:
        """The compiled rules."""
        return Matcher(self._short, self._exact, self._heads, self._starred)


class Matcher:
    """Compiled rules."""

    __slots__ = ("_exact", "_families", "_index", "_lengths", "_near", "_short", "_starred")

    def __init__(
        self,
        short: dict[bytes, Rank],
        exact: dict[bytes, Rank],
        heads: dict[bytes, list[tuple[bytes, Rank]]],
        starred: dict[Pattern, Rank],
    ) -> None:
        self._short = short
        self._exact = exact
        self._lengths = tuple(sorted(set(map(len, short))))
        self._families: dict[bytes, list[tuple[bytes, Rank]] | Family] = {
            head: rules if len(rules) <= _FEW else Family(rules) for head, rules in heads.items()
        }
        many = _weighs_much(starred)
        self._index = WildcardIndex(starred) if many else None
        near: dict[bytes, dict[Pattern, Rank]] = {}
        for pattern, rank in () if many else starred.items():
            head = pattern[0][:_HEAD]
            near.setdefault(head if len(head) == _HEAD else b"", {})[pattern] = rank
        self._starred = _best_first(near.pop(b"", {}))
        self._near = {head: _best_first(rules) for head, rules in near.items()}

    def best(self, path: bytes) -> Rank:
        """The rule that decides about a path, or :data:`~.rank.NO_RANK`."""
        best = NO_RANK
        short = self._short
        for length in self._lengths:
            rank = short.get(path[:length])
            if rank is not None and rank > best:
                best = rank
        head = path[:_HEAD]
        family = self._families.get(head)
        if family is None:
            pass
        elif isinstance(family, Family):
            best = family.best(path, best)
        else:
            for prefix, rank in family:
                if path.startswith(prefix) and rank > best:
                    best = rank
        if self._exact and path in self._exact:
            best = max(best, self._exact[path])
        if head in self._near:
            best = _best_starred(self._near[head], path, best)
        if self._starred:
            best = _best_starred(self._starred, path, best)
        return best if self._index is None else self._index.best(path, best)


def _best_starred(rules: tuple[Starred, ...], path: bytes, best: Rank) -> Rank:
    """The best of ``best`` and the matching rules; the rules are sorted, best first."""
    for needed, rule in rules:
        if needed in path:
            rank, pattern = rule
            if rank < best:
                break
            if matches(pattern, path):
                return rank
    return best


def _weighs_much(starred: dict[Pattern, Rank]) -> bool:
    if sum(len(parts) + 1 for _, parts, _ in starred) > _MANY:
        return True
    return sum(len(tail or b"") + sum(map(len, parts)) for _, parts, tail in starred) > _LONG


def _best_first(starred: dict[Pattern, Rank]) -> tuple[Starred, ...]:
    ordered = sorted(starred.items(), key=itemgetter(1), reverse=True)
    return tuple((_needed(pattern), (rank, pattern)) for pattern, rank in ordered)


_Key = TypeVar("_Key")


def _keep_best(table: dict[_Key, Rank], key: _Key, rank: Rank) -> None:
    """Keeps only the best of the rules that match the same paths."""
    if key not in table or rank > table[key]:
        table[key] = rank


def _needed(pattern: Pattern) -> bytes:
    """The longest octets that a path must contain for the pattern to match it."""
    _, parts, tail = pattern
    if len(parts) == 1 and not tail:
        return parts[0]
    return max((tail or b"", *parts), key=len)
