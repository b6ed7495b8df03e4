"""Rules that change nothing: wherever one matches, another one wins or says the same.

Two kinds are found among the rules that count for a crawler, merged (RFC 9309 2.2.1):

- *Beaten*: a stronger rule covers it (matches all its paths), so it never decides.
- *Needless*: a weaker rule S covers it and says the same, and no rule of the opposite outcome that
  lies between the two in strength has a path in common with it. S is the strongest that covers it,
  and so not beaten.

All of them can be removed, together or in part, and no verdict changes, as long as each group keeps
a rule that ends its user-agent lines. A rule that decides about a path is not beaten. If it is
needless and removed, its S is still there, or the S of that, and all that is stronger and matches
the path says the same.

Not all such rules are found: two rules that cover a third one only together are not tried.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.dialect import Choice, Names
from scrapy_robots_plus.protocol.matcher import (
    NO_RANK,
    Pattern,
    Rank,
    allows,
    line_of,
    matches,
)

from .findings import Code, Findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .reading import Reading

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


class Overlaps:
    """Rules of one outcome, found by those that they may have paths in common with."""

    def __init__(self, items: list[Item]) -> None:
        self._items = items
        self._starred = [item for item in items if is_starred(item[1])]

    def above(self, item: Item, floor: Rank) -> bool:
        """Whether a rule between *floor* and *item* in rank may match a path that *item* matches.

        *floor* is the strongest rule that covers *item*, so those that cover it as well, such as
        prefixes of its own prefix, are not looked for.
        """
        if not self._items:
            return False
        top, pattern = item
        return any(
            floor < rank < top and not _disjoint(pattern, each)
            for rank, each in chain(self._longer(pattern[0]), self._starred)
        )

    def _longer(self, prefix: bytes) -> Iterator[Item]:
        """The rules whose prefix begins with this one."""
        prefixes, items = self._by_prefix
        at = bisect_left(prefixes, prefix)
        while at < len(items) and prefixes[at].startswith(prefix):
            yield items[at]
            at += 1

    @cached_property
    def _by_prefix(self) -> tuple[list[bytes], list[Item]]:
        ordered = sorted(self._items, key=_prefix_of)
        return list(map(_prefix_of, ordered)), ordered


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


_MOST_PAIRS = 500_000
"""Rules with wildcards are compared with each rule. So many comparisons are made at most, of all
crawlers together."""

_MOST_OCTETS = 400_000_000
"""Octets of rules times octets of rules with wildcards, which a comparison may take: so many at
most, of all crawlers together. That is a tenth of a second in the worst case."""

_MOST_RULES = 50_000
"""So many rules are looked at, of all crawlers together: groups may be shared in many ways."""


Shadow = tuple[Rank, bool, bool, bool]
"""Why a rule changes nothing: the rule that wins or says the same; whether it wins, otherwise it is
weaker and says the same; whether both match the same paths; whether both say the same."""


def rule_shadows(reading: Reading, findings: Findings) -> None:
    """Adds a finding for each rule that changes nothing for any crawler that it counts for."""
    search = _Search(reading)
    choices = _choices(reading)
    found: dict[int, list[dict[int, Shadow]]] = {}
    for chosen in choices:
        shadows = search.shadows(chosen)
        for position in chosen:
            found.setdefault(position, []).append(shadows)
    for position, each in found.items():
        first, *others = each
        for number in reading.sections[position].rules:
            shadow = first.get(number)
            if shadow is None or not all(number in shadows for shadows in others):
                continue
            if others:  # what is said of it has to hold for all: it may be beaten for some only
                shadow = min(shadows[number] for shadows in each)
            _add(number, shadow, reading, findings)
    if search.skipped or (reading.sections and not choices):
        findings.add(None, Code.NOT_CHECKED)


def _choices(reading: Reading) -> list[tuple[int, ...]]:
    """The groups that count for a crawler together, for each crawler there may be."""
    dialect = reading.dialect
    if dialect.choice is Choice.MERGED and dialect.names is not Names.TOKEN:
        return []  # Names may match in part, so any groups may be merged.
    return sorted(set(reading.by_name.values()))


def _add(number: int, shadow: Shadow, reading: Reading, findings: Findings) -> None:
    by, wins, equal, same = shadow
    code = Code.SHADOWED_RULE
    if wins and equal:
        code = Code.DUPLICATE_RULE if same else Code.CONTRADICTION
    line, words = line_of(by), "" if wins else "Line {} says the same about these paths: {}"
    text = reading.lines[line - 1].partition(b"#")[0].strip()
    findings.add(number, code, line, text, words=words)


class _Search:
    """Looks for shadows, as long as that takes no more than it may."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._pairs = 0
        self._octets = 0
        self._rules = 0
        self.skipped = False
        """Whether something was left out."""

    def shadows(self, chosen: tuple[int, ...]) -> dict[int, Shadow]:
        """The rules of these groups, merged, that change nothing, by their lines."""
        sections = [self._reading.sections[position] for position in chosen]
        rules = sum(len(section.rules) for section in sections)
        if rules < 2:
            return {}
        self._rules += rules
        if self._rules > _MOST_RULES:
            self._rules -= rules
            self.skipped = True
            return {}
        items = self._items([number for section in sections for number in section.rules])
        return _shadows(items, self._may_compare(items))

    def _items(self, numbers: list[int]) -> list[Item]:
        """The rules that can match, the weakest first."""
        patterns = self._reading.patterns
        compiled = [
            (rank, normal(pattern))
            for number in numbers
            for rank, pattern in patterns.get(number, ())
        ]
        compiled.sort(key=itemgetter(0))
        return compiled

    def _may_compare(self, items: list[Item]) -> bool:
        """Whether each rule may be compared with each that has wildcards."""
        starred = [len(text_of(pattern)) for _, pattern in items if is_starred(pattern)]
        if not starred:
            return True
        pairs = self._pairs + len(items) * len(starred)
        texts = sum([len(text_of(pattern)) for _, pattern in items])
        octets = self._octets + texts * sum(starred)
        if pairs > _MOST_PAIRS or octets > _MOST_OCTETS:
            self.skipped = True
            return False
        self._pairs, self._octets = pairs, octets
        return True


def _shadows(items: list[Item], compare: bool) -> dict[int, Shadow]:
    """Why rules change nothing, by their lines. *compare*: also rules that have wildcards, and what
    lies between two."""
    covers = _Covers(items, compare)
    others = {
        outcome: Overlaps([item for item in items if allows(item[0]) is not outcome])
        for outcome in (False, True)
    }
    found: dict[int, Shadow] = {}
    alive: set[int] = set()
    stands_for: dict[Rank, Rank] = {}
    """By needless rules, those that are left if all of them are removed."""
    for item in items:
        rank, pattern = item
        line, allow, by = line_of(rank), allows(rank), covers.strongest(item)
        if by > rank:
            shadow = by, True, covers.equal[pattern] == by, allows(by) is allow
        elif compare and by > NO_RANK and allows(by) is allow and not others[allow].above(item, by):
            stands_for[rank] = by = stands_for.get(by, by)
            shadow = by, False, False, True
        else:
            alive.add(line)
            continue
        if line not in found or found[line][1]:
            found[line] = shadow
    # A line may stand for two patterns: both must change nothing. The stronger one is the one that
    # is written there. It loses only if both do.
    return {line: shadow for line, shadow in found.items() if line not in alive}


class _Covers:
    """For each rule, the strongest other one that matches all its paths."""

    def __init__(self, items: list[Item], compare: bool) -> None:
        self.equal = {pattern: rank for rank, pattern in items}
        """The strongest rule of each pattern: it comes last."""
        self._literal = {each[0]: rank for each, rank in self.equal.items() if is_literal(each)}
        starred = ((rank, each) for each, rank in self.equal.items() if is_starred(each))
        self._starred = sorted(starred, key=itemgetter(0), reverse=True) if compare else []
        self._above: dict[bytes, Rank] = {}
        """For each prefix, the strongest of the rules that are a shorter one of it."""
        begun = [(b"", NO_RANK)]
        for prefix in sorted({pattern[0] for _, pattern in items}):
            while not prefix.startswith(begun[-1][0]):
                begun.pop()
            above = self._above[prefix] = begun[-1][1]
            begun.append((prefix, max(above, self._literal.get(prefix, NO_RANK))))

    def strongest(self, item: Item) -> Rank:
        """NO_RANK if there is none."""
        own, pattern = item
        best = self._above[pattern[0]]
        for rank in (self.equal[pattern], self._literal.get(pattern[0], NO_RANK)):
            if best < rank != own:
                best = rank
        if self._starred:
            text = text_of(pattern)
            for rank, each in self._starred:
                if rank <= best:
                    break
                if rank != own and matches(each, text):
                    return rank
        return best
