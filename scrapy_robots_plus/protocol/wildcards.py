"""Many wildcard rules at once.

Rules that begin alike are walked together, in a tree: prefix, first run, second run and so on.
Before a run is looked for in the path, a few octets of it are looked up among those that the path
holds, so that of thousands of rules only those are walked that have a chance. A hostile file of
tens of thousands of wildcard rules costs milliseconds.
"""

from __future__ import annotations

from .hit import Hit
from .pattern import Pattern, Run, ends_with, find_runs

_Rule = tuple[Hit, tuple[Run, ...], bytes | None]

_LONGEST = 32
"""Octets of the longest sequences that are looked up."""

_FEW = 12
"""Branches that are tried one by one."""


class Grams:
    """Where in a path each sequence of 1, 2, 4 ... 32 octets begins for the last time."""

    __slots__ = ("_path", "_tables")

    def __init__(self, path: bytes) -> None:
        self._path = path
        self._tables: dict[int, dict[bytes, int]] = {}

    def table(self, size: int) -> dict[bytes, int]:
        """Sequence to position, for sequences of one size."""
        table = self._tables.get(size)
        if table is None:
            path = self._path
            table = {path[at : at + size]: at for at in range(len(path) - size + 1)}
            self._tables[size] = table
        return table


Probe = tuple[int, bytes, bytes]
"""A size of sequences, and two of that size: a path without both does not hold the part."""


def probe(part: bytes) -> Probe:
    """What to look up before a part is looked for: its first and its last octets.

    They cover it up to 64 octets. Of a longer one the greatest octets in byte order are taken for
    the first: those that differ where nearly all are alike.
    """
    size = 1 << (min(len(part), _LONGEST).bit_length() - 1)
    first = part[:size]
    if len(part) > 2 * size:
        first = max(part[at : at + size] for at in range(len(part) - size + 1))
    return size, part[-size:], first


class Leaf:
    """What is left of one rule."""

    __slots__ = ("best", "end", "needs", "runs", "tail", "width")

    def __init__(self, rule: _Rule, depth: int) -> None:
        self.best, runs, self.tail = rule
        self.runs = runs[depth:]
        # Most paths that do not match lack a part altogether, or are too short for all of them.
        self.needs = frozenset(part for part, _ in self.runs) if len(self.runs) > 2 else ()
        self.width = len(self.tail or b"")
        for part, times in self.runs:
            self.width += len(part) * times
        end = self.tail or (self.runs[-1][0] if self.runs else b"")
        self.end = probe(end) if end else None

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

    __slots__ = ("best", "end", "hit", "sizes", "tails", "ways", "width")

    def __init__(self, rules: list[_Rule], depth: int) -> None:
        self.best = max(rule[0] for rule in rules)
        self.end: Probe | None = None
        self.width = 0
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
        self.ways: dict[int, dict[bytes, list[Way]]] = {}

    def lead(self, part: bytes, times: int, node: Branch | Leaf) -> None:
        """Takes in a way on from here: ``part``, ``times`` in a row, and what comes then."""
        look = probe(part)
        # A rule that is alone from here on is found by its end, which the path may well lack.
        size, guard, _ = node.end or look
        self.ways.setdefault(size, {}).setdefault(guard, []).append((part, times, look, node))

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

    def go_on(self, path: bytes, at: int, best: Hit, grams: Grams) -> list[Visit]:
        """Where the ways on lead whose next part stands in the path behind ``at``."""
        visits: list[Visit] = []
        for size, ways in self.ways.items():
            held = grams.table(size)
            # Intersecting is fast, but not for nothing.
            for guard in ways.keys() & held.keys() if len(ways) > _FEW else ways:
                end = held.get(guard, -1)
                if end < at:
                    continue
                for part, times, (width, last, first), node in ways[guard]:
                    if node.best <= best:
                        continue
                    there = held if width == size else grams.table(width)
                    if there.get(last, -1) < at or there.get(first, -1) < at:
                        continue
                    if times == 1:
                        behind = path.find(part, at) + len(part)
                        if behind < at + len(part):
                            continue
                    else:
                        behind = find_runs(path, ((part, times),), at)
                    # All that is left must fit in before the last place of its end.
                    if behind >= 0 and end + size - behind >= node.width:
                        visits.append((node, behind))
        return visits


Way = tuple[bytes, int, Probe, Branch | Leaf]
Visit = tuple[Branch | Leaf, int]
"""What is left to be matched, and the position behind which."""


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
        for (part, times), found in alike.items():
            if len(found) == 1:
                branch.lead(part, times, Leaf(found[0], depth + 1))
            else:
                grown = Branch(found, depth + 1)
                branch.lead(part, times, grown)
                todo.append((grown, found, depth + 1))
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
        stack = self._starts(path)
        while stack:
            node, at = stack.pop()
            if node.best <= best:
                continue
            if isinstance(node, Leaf):
                best = node.walk(path, at, best)
            else:
                best = node.ended(path, at, best)
                stack += node.go_on(path, at, best, grams)
        return best

    def _starts(self, path: bytes) -> list[Visit]:
        nodes = (
            (self._roots.get(path[:length]), length)
            for length in self._lengths
            if length <= len(path)
        )
        return [(node, length) for node, length in nodes if node is not None]
