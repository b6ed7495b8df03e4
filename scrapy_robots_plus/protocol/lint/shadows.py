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

from bisect import bisect_left, bisect_right
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
    dialect, search = reading.dialect, _Search(reading)
    found: dict[int, list[dict[int, Shadow]]] = {}
    if dialect.choice is Choice.MERGED and dialect.names is not Names.TOKEN:
        # Names may match in part, so any groups may be merged.
        search.skipped = bool(reading.sections)
    else:
        for chosen in sorted(set(reading.by_name.values())):
            shadows = search.shadows(chosen)
            for position in chosen:
                found.setdefault(position, []).append(shadows)
    for position, each in found.items():
        for number in reading.sections[position].rules:
            if all(number in shadows for shadows in each):
                # What is said of it has to hold for all: it may be beaten for some only.
                _add(number, min(shadows[number] for shadows in each), reading, findings)
    if search.skipped:
        findings.add(None, Code.NOT_CHECKED)


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
        self._pairs = self._octets = self._rules = 0
        self.skipped = False
        """Whether something was left out."""

    def shadows(self, chosen: tuple[int, ...]) -> dict[int, Shadow]:
        """The rules of these groups, merged, that change nothing, by their lines."""
        reading = self._reading
        groups = [reading.sections[position].rules for position in chosen]
        rules = sum(map(len, groups))
        if rules < 2:
            return {}
        if self._rules + rules > _MOST_RULES:
            self.skipped = True
            return {}
        self._rules += rules
        numbers = chain.from_iterable(groups)
        patterns = chain.from_iterable(reading.patterns.get(number, ()) for number in numbers)
        items = [(rank, normal(pattern)) for rank, pattern in patterns]
        items.sort(key=itemgetter(0))
        return _shadows(items, self._may_compare(items))

    def _may_compare(self, items: list[Item]) -> bool:
        """Whether each rule may be compared with each that has wildcards."""
        sizes = [len(text_of(pattern)) for _, pattern in items if is_starred(pattern)]
        texts = sum([len(text_of(pattern)) for _, pattern in items]) if sizes else 0
        pairs = self._pairs + len(items) * len(sizes)
        octets = self._octets + texts * sum(sizes)
        if pairs > _MOST_PAIRS or octets > _MOST_OCTETS:
            self.skipped = True
            return False
        self._pairs, self._octets = pairs, octets
        return True


def _shadows(items: list[Item], compare: bool) -> dict[int, Shadow]:
    """Why rules change nothing, by their lines; *items*: the weakest first. *compare*: also rules
    that have wildcards, and what lies between two."""
    rules = _Rules(items, compare)
    found: dict[int, Shadow] = {}
    alive: set[int] = set()
    stands_for: dict[Rank, Rank] = {}
    """By needless rules, those that are left if all of them are removed."""
    for item in items:
        rank, pattern = item
        line, by = line_of(rank), rules.strongest_above(item)
        same = allows(by) is allows(rank)
        if by > rank:
            shadow = by, True, rules.equal[pattern] == by, same
        elif compare and same and by > NO_RANK and not rules.is_contradicted(item, by):
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


class _Rules:
    """The rules that count for a crawler, to be compared with one of them."""

    def __init__(self, items: list[Item], compare: bool) -> None:
        self.equal = {pattern: rank for rank, pattern in items}
        """The strongest rule of each pattern: it comes last."""
        self._literal = {each[0]: rank for each, rank in self.equal.items() if is_literal(each)}
        self._lengths = sorted(set(map(len, self._literal)))
        self._starred = [each for each in reversed(items) if compare and is_starred(each[1])]
        self._ordered = sorted(items, key=_outcome_and_prefix)
        self._keys = list(map(_outcome_and_prefix, self._ordered))

    def strongest_above(self, item: Item) -> Rank:
        """The strongest other rule that matches all paths of *item*; NO_RANK if there is none."""
        own, pattern = item
        prefix = pattern[0]
        lengths = self._lengths[: bisect_right(self._lengths, len(prefix))]
        ranks = {self._literal.get(prefix[:length], NO_RANK) for length in lengths}
        best = max({NO_RANK, self.equal[pattern], *ranks} - {own})
        if self._starred:
            text = text_of(pattern)
            for rank, each in self._starred:
                if rank <= best:
                    break
                if each != pattern and matches(each, text):
                    return rank
        return best

    def is_contradicted(self, item: Item, floor: Rank) -> bool:
        """Whether a rule between *floor* and *item* in rank says the opposite, and may match a path
        that *item* matches.

        *floor* is the strongest rule that covers *item*, so those that cover it as well, such as
        prefixes of its own prefix, are not looked for.
        """
        top, pattern = item
        return any(
            floor < rank < top and not _disjoint(pattern, each)
            for rank, each in chain(self._longer(not allows(top), pattern[0]), self._starred)
            if allows(rank) is not allows(top)
        )

    def _longer(self, outcome: bool, prefix: bytes) -> Iterator[Item]:
        """The rules of an *outcome* whose prefix begins with this one."""
        at = bisect_left(self._keys, (outcome, prefix))
        for number in range(at, len(self._keys)):
            allow, longer = self._keys[number]
            if allow is not outcome or not longer.startswith(prefix):
                return
            yield self._ordered[number]


def _outcome_and_prefix(item: Item) -> tuple[bool, bytes]:
    return allows(item[0]), item[1][0]
