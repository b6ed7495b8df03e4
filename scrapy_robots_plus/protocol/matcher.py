"""The rule that decides, out of all that match a path, without trying each of them.

A rule without wildcards is found by looking up the path's beginnings; only those with wildcards
are tried, best first (:mod:`wildcards <.wildcards>` takes over where there are many). Time grows
with the rules and with the URL, never with their product, and nothing is tried twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import TypeVar

from .pattern import Pattern, ends_with, find_runs, take_apart
from .wildcards import Starred, WildcardIndex

Hit = tuple[int, int, bool]
"""A rule: its rank, its line number negated, and whether it allows. The greatest one decides."""

NO_HIT: Hit = (-(2**62), 0, True)
"""Less than any rule."""

_HEAD = 5
"""Octets by which longer literal rules are told apart first."""

_FEW = 8
"""Literal rules with the same first octets that are tried one by one."""

_MANY = 256
"""Wildcard rules from which on an index pays."""


class Family:
    """Many literal rules with the same first octets: looked up by each length there is."""

    __slots__ = ("lengths", "rules")

    def __init__(self, rules: dict[bytes, Hit]) -> None:
        self.rules = rules
        self.lengths = tuple(sorted(set(map(len, rules))))

    def best(self, path: bytes, best: Hit) -> Hit:
        for length in self.lengths:
            if length > len(path):
                break
            hit = self.rules.get(path[:length])
            if hit is not None and hit > best:
                best = hit
        return best


class Matcher:
    """Rules that are compiled for asking."""

    __slots__ = ("_exact", "_families", "_index", "_lengths", "_short", "_starred")

    def __init__(self, rules: Iterable[tuple[bytes, Hit]], wildcards: bool = True) -> None:
        """``rules`` are patterns, in the form in which paths will come, with their rank."""
        self._short: dict[bytes, Hit] = {}
        self._exact: dict[bytes, Hit] = {}
        starred: dict[Pattern, Hit] = {}
        long: dict[bytes, dict[bytes, Hit]] = {}
        for text, hit in rules:
            if wildcards and (b"*" in text or text.endswith(b"$")):
                self._add_special(take_apart(text), hit, long, starred)
            elif len(text) < _HEAD:
                _keep_best(self._short, text, hit)
            else:
                _keep_best(long.setdefault(text[:_HEAD], {}), text, hit)
        self._lengths = tuple(sorted(set(map(len, self._short))))
        self._families = {
            head: tuple(rules.items()) if len(rules) <= _FEW else Family(rules)
            for head, rules in long.items()
        }
        self._compile_starred(starred)

    def _add_special(
        self,
        pattern: Pattern,
        hit: Hit,
        long: dict[bytes, dict[bytes, Hit]],
        starred: dict[Pattern, Hit],
    ) -> None:
        prefix, runs, tail = pattern
        if runs or tail:
            _keep_best(starred, pattern, hit)
        elif tail is not None:
            _keep_best(self._exact, prefix, hit)
        elif len(prefix) < _HEAD:
            _keep_best(self._short, prefix, hit)
        else:
            _keep_best(long.setdefault(prefix[:_HEAD], {}), prefix, hit)

    def _compile_starred(self, starred: dict[Pattern, Hit]) -> None:
        self._index: WildcardIndex | None = None
        self._starred: tuple[Starred, ...] = ()
        if len(starred) > _MANY:
            self._index = WildcardIndex(starred)
            return
        ordered = sorted(starred.items(), key=itemgetter(1), reverse=True)
        self._starred = tuple((hit, _needed(pattern), *pattern) for pattern, hit in ordered)

    def best(self, path: bytes) -> Hit:
        """The rule that decides about a path, or :data:`NO_HIT`."""
        best = NO_HIT
        short = self._short
        for length in self._lengths:
            hit = short.get(path[:length])
            if hit is not None and hit > best:
                best = hit
        family = self._families.get(path[:_HEAD])
        if family is not None:
            if type(family) is tuple:
                for prefix, hit in family:
                    if path.startswith(prefix) and hit > best:
                        best = hit
            else:
                best = family.best(path, best)  # type: ignore[union-attr]
        if self._exact:
            hit = self._exact.get(path)
            if hit is not None and hit > best:
                best = hit
        for hit, needed, prefix, runs, tail in self._starred:
            if needed in path and path.startswith(prefix):
                if hit < best:
                    break
                at = find_runs(path, runs, len(prefix))
                if at >= 0 and (tail is None or ends_with(path, tail, at)):
                    return hit
        if self._index is not None:
            return self._index.best(path, best)
        return best


_Key = TypeVar("_Key")


def _keep_best(table: dict[_Key, Hit], key: _Key, hit: Hit) -> None:
    """Of rules that match the same paths, only the best is ever seen."""
    if key not in table or hit > table[key]:
        table[key] = hit


def _needed(pattern: Pattern) -> bytes:
    """Octets that a path must hold somewhere for the pattern to match it: the longest there are."""
    return max((part for part, _ in pattern.runs), key=len, default=b"") or pattern.tail or b""
