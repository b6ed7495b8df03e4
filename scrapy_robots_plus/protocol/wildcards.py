"""Many wildcard rules at once.

Rules that begin alike are walked together, in a tree: prefix, first run, second run and so on.
Before a run is looked for in the path, a few octets of it are looked up among those that the path
holds, so that of thousands of rules only those are walked that have a chance. A hostile file of
tens of thousands of wildcard rules costs milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pattern import Pattern, Run, ends_with, find_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

Hit = tuple[int, int, bool]
"""A rule: its rank, its line number negated, and whether it allows. The greatest one decides."""

_Rule = tuple[Hit, tuple[Run, ...], bytes | None]

_GRAMS = (32, 16, 8, 4, 2, 1)
_FEW = 12
"""Branches that are tried one by one."""


class Grams:
    """Where in a path each sequence of 1, 2, 4 ... 32 octets begins for the last time."""

    __slots__ = ("_path", "_tables")

    def __init__(self, path: bytes) -> None:
        self._path = path
        self._tables: dict[int, dict[bytes, int]] = {}

    def table(self, size: int) -> dict[bytes, int]:
        table = self._tables.get(size)
        if table is None:
            path = self._path
            table = {path[at : at + size]: at for at in range(len(path) - size + 1)}
            self._tables[size] = table
        return table


def gram_of(part: bytes) -> bytes:
    """A few octets of a part by which to tell soon that a path does not hold it.

    The greatest in byte order, so that of ``aaaaab`` those with the odd octet are taken.
    """
    size = next(size for size in _GRAMS if size <= len(part))
    return max(part[at : at + size] for at in range(len(part) - size + 1))


class Leaf:
    """What is left of one rule."""

    __slots__ = ("best", "needs", "runs", "tail", "width")

    def __init__(self, rule: _Rule, depth: int) -> None:
        self.best, runs, self.tail = rule
        self.runs = runs[depth:]
        # Most paths that do not match lack a part altogether, or are too short for all of them.
        self.needs = frozenset(part for part, _ in self.runs) if len(self.runs) > 2 else ()
        self.width = sum(len(part) * times for part, times in self.runs) + len(self.tail or b"")

    def walk(self, path: bytes, at: int, best: Hit) -> Hit:
        """The better of ``best`` and this rule, if it matches."""
        if self.width > len(path) - at or (self.tail and not path.endswith(self.tail)):
            return best
        if not all(part in path for part in self.needs):
            return best
        at = find_runs(path, self.runs, at)
        if at < 0 or (self.tail and not ends_with(path, self.tail, at)):
            return best
        return max(best, self.best)


class Branch:
    """Rules that are alike so far: those that end here, and the ways on."""

    __slots__ = ("best", "few", "hit", "many", "sizes", "tails")

    def __init__(self, rules: list[_Rule], depth: int) -> None:
        self.best = max(rule[0] for rule in rules)
        self.hit: Hit | None = None
        self.tails: dict[bytes, Hit] = {}
        for hit, runs, tail in rules:
            if len(runs) > depth:
                continue
            if tail is None:
                self.hit = hit
            else:
                self.tails[tail] = hit
        self.sizes = tuple(sorted(set(map(len, self.tails))))
        self.few: tuple[tuple[bytes, int, Way], ...] = ()
        self.many: dict[int, dict[bytes, list[Way]]] = {}

    def grow(self, ways: list[Way]) -> None:
        """Takes the ways on from here."""
        grams = [gram_of(part) for part, _, _ in ways]
        if len(ways) <= _FEW:
            self.few = tuple((gram, len(gram), way) for gram, way in zip(grams, ways, strict=True))
            return
        for gram, way in zip(grams, ways, strict=True):
            self.many.setdefault(len(gram), {}).setdefault(gram, []).append(way)

    def ways(self, at: int, grams: Grams) -> Iterator[Way]:
        """The ways on for whose next part the path may have room behind ``at``."""
        for gram, size, way in self.few:
            if grams.table(size).get(gram, -1) >= at:
                yield way
        for size, table in self.many.items():
            held = grams.table(size)
            for gram in table.keys() & held.keys():
                if held[gram] >= at:
                    yield from table[gram]

    def ended(self, path: bytes, at: int, best: Hit) -> Hit:
        """The best of ``best`` and the rules that end here and match."""
        if self.hit is not None and self.hit > best:
            best = self.hit
        for size in self.sizes:
            if size > len(path) - at:
                break
            hit = self.tails.get(path[-size:])
            if hit is not None and hit > best:
                best = hit
        return best


Way = tuple[bytes, int, Branch | Leaf]
"""A part to be found, how many times, and what comes then."""


def _grown(rules: list[_Rule]) -> Branch | Leaf:
    """The tree of rules with the same prefix, built without recursion: a rule may have thousands
    of wildcards."""
    if len(rules) == 1:
        return Leaf(rules[0], 0)
    root = Branch(rules, 0)
    todo = [(root, rules, 0)]
    while todo:
        branch, rules, depth = todo.pop()
        alike: dict[Run, list[_Rule]] = {}
        for rule in rules:
            if len(rule[1]) > depth:
                alike.setdefault(rule[1][depth], []).append(rule)
        ways: list[Way] = []
        for (part, times), found in alike.items():
            if len(found) == 1:
                ways.append((part, times, Leaf(found[0], depth + 1)))
                continue
            grown = Branch(found, depth + 1)
            todo.append((grown, found, depth + 1))
            ways.append((part, times, grown))
        branch.grow(ways)
    return root


class WildcardIndex:
    """Wildcard rules by prefix, then as trees."""

    __slots__ = ("_lengths", "_roots")

    def __init__(self, starred: dict[Pattern, Hit]) -> None:
        by_prefix: dict[bytes, list[_Rule]] = {}
        for (prefix, runs, tail), hit in starred.items():
            by_prefix.setdefault(prefix, []).append((hit, runs, tail))
        self._roots = {prefix: _grown(rules) for prefix, rules in by_prefix.items()}
        self._lengths = tuple(sorted(set(map(len, by_prefix))))

    def best(self, path: bytes, best: Hit) -> Hit:
        """The best of ``best`` and the rules that match."""
        grams = Grams(path)
        stack = list(self._starts(path))
        while stack:
            node, at = stack.pop()
            if node.best < best:
                continue
            if isinstance(node, Leaf):
                best = node.walk(path, at, best)
                continue
            best = node.ended(path, at, best)
            for part, times, way in node.ways(at, grams):
                if way.best > best:
                    behind = find_runs(path, ((part, times),), at)
                    if behind >= 0:
                        stack.append((way, behind))
        return best

    def _starts(self, path: bytes) -> Iterator[tuple[Branch | Leaf, int]]:
        for length in self._lengths:
            if length > len(path):
                break
            node = self._roots.get(path[:length])
            if node is not None:
                yield node, length
