"""Finds the rule that decides about a path, without trying every rule.

Rules without wildcards are looked up by the beginnings of the path. Of a few with wildcards each is
tried, best first. Of many only those are tried of which the path has some octets: one intersection
of sets, those of the rules and of the path, finds them. Time grows with the rules and with the URL,
never with their product, and no rule is tried twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pattern import matches, take_apart
from .places import LONGEST, SHORT_PATH, Places
from .rank import NO_RANK, Rank

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .pattern import Pattern

Starred = tuple[Rank, bytes, "Pattern"]
"""A rule with wildcards: its rank, octets that a path must have for it to match, and its
path-pattern, taken apart."""

MOST_SCANNED = 128
"""So many rules are tried one after the other."""

_SOUGHT = 4
"""The number of octets, at most, by which rules with wildcards are looked up."""

_ANY = (b"",)


class Matcher:
    """The rules of a crawler's groups, in the dialect's form."""

    __slots__ = ("_lengths", "_literal", "_per_octet", "_prefixes", "_sought", "_tried", "texts")

    def __init__(
        self,
        literal: dict[bytes, Rank],
        others: Iterable[tuple[bytes, Rank]],
        wildcards: bool,
        per_octet: int = 0,
    ) -> None:
        """Path-patterns with their ranks. The first have no wildcards, and are added to.

        *per_octet*: how much higher the ranks of those are, for each of their octets. If it is not
        0, the longest of them decides.
        """
        self._per_octet = per_octet
        self._literal = literal
        starred: list[Starred] = []
        self.texts: list[tuple[bytes, Rank]] = []
        """The path-patterns with wildcards, as they were given."""
        for text, rank in others:
            pattern = prefix, parts, tail = take_apart(text, wildcards)
            # ``/dir/*`` matches like ``/dir/``, but a longer rule does not beat it for its length.
            if parts or tail is not None or (per_octet and prefix != text):
                needed = max((prefix, *parts, tail or b""), key=len)[:LONGEST]
                starred.append((rank, needed, pattern))
                self.texts.append((text, rank))
                continue
            rank -= per_octet * len(prefix)
            if literal.setdefault(prefix, rank) < rank:
                literal[prefix] = rank
        starred.sort(reverse=True)
        self._lengths: list[int] = []
        """How long the literal rules are; empty until one of them matches."""
        self._prefixes = tuple(literal) if len(literal) <= MOST_SCANNED else _ANY
        """Tells at once whether any of a few matches."""
        many = len(starred) > MOST_SCANNED
        self._sought = _by_sought(starred) if many else {}
        self._tried = _by_prefix(starred) if starred and not many else []

    def best(self, path: bytes) -> Rank:
        """The rule that decides about a path, or :data:`~.rank.NO_RANK`."""
        best = NO_RANK
        if path.startswith(self._prefixes):
            known, per_octet, size = self._literal.get, self._per_octet, len(path)
            for length in self._lengths or self._measure():
                if length <= size:
                    rank = known(path[:length])
                    if rank is not None:
                        rank += per_octet * length
                        best = max(best, rank)
                        if per_octet:
                            break  # the others are shorter
        if self._tried:
            places = Places(path) if len(path) > SHORT_PATH else None
            for prefixes, rules in self._tried:
                if path.startswith(prefixes):
                    best = _best_of(rules, path, places, best)
        return self._best_sought(path, best) if self._sought else best

    def _measure(self) -> list[int]:
        self._lengths = sorted(set(map(len, self._literal)), reverse=True)
        return self._lengths

    @property
    def literal(self) -> list[tuple[bytes, Rank]]:
        """The path-patterns without wildcards."""
        per_octet = self._per_octet
        return [(text, rank + per_octet * len(text)) for text, rank in self._literal.items()]

    def _best_sought(self, path: bytes, best: Rank) -> Rank:
        places = Places(path)
        for size, rules in self._sought.items():
            there = {path[at : at + size] for at in range(len(path) - size + 1)}
            for sought in rules.keys() & there:
                for rank, _, pattern in rules[sought]:
                    if rank < best:
                        break
                    if places.match(pattern):
                        best = rank
                        break
        return best


def _best_of(rules: list[Starred], path: bytes, places: Places | None, best: Rank) -> Rank:
    """The better of *best* and the first rule that matches."""
    for rank, needed, pattern in rules:
        if needed in path:
            if rank < best:
                break
            if places.match(pattern) if places else matches(pattern, path):
                return rank
    return best


def _by_prefix(starred: list[Starred]) -> list[tuple[tuple[bytes, ...], list[Starred]]]:
    """The rules that may match any path, and the others with all their prefixes."""
    anywhere = [rule for rule in starred if len(rule[2][0]) < 2]
    there = [rule for rule in starred if len(rule[2][0]) >= 2]
    return [(_ANY, anywhere), (tuple([prefix for _, _, (prefix, _, _) in there]), there)]


def _by_sought(starred: list[Starred]) -> dict[int, dict[bytes, list[Starred]]]:
    """The rules by some octets that a path must have, by the number of those; each once."""
    found: dict[int, dict[bytes, list[Starred]]] = {}
    known: set[Pattern] = set()
    for rule in starred:
        _, needed, pattern = rule
        if pattern not in known:
            known.add(pattern)
            sought = needed[:_SOUGHT]
            found.setdefault(len(sought), {}).setdefault(sought, []).append(rule)
    return found
