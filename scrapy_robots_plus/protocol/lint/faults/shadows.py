"""Rules that change nothing: wherever one matches, another one wins or says the same.

Two kinds are found among the rules that count for a crawler, merged (RFC 9309 2.2.1):

- *Beaten*: a stronger rule covers it (matches all its paths), so it never decides.
- *Needless*: a weaker rule S covers it and says the same, and no rule of the opposite outcome that
  lies between the two in strength has a path in common with it. S itself is neither beaten nor
  needless.

All of them can be removed, together or in part, and no verdict changes, as long as each group keeps
a rule that ends its user-agent lines. A rule that decides about a path is not beaten. If it is
needless and removed, its S is still there, and all that is stronger than S and matches the path
says the same.

Not all such rules are found: two rules that cover a third one only together are not tried.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.dialect import Choice, Names
from scrapy_robots_plus.protocol.lines.octets import text
from scrapy_robots_plus.protocol.lint.findings import Code, Finding
from scrapy_robots_plus.protocol.rules.rank import NO_RANK, Rank, allows, line_of

from .covers import Covers, Item, Overlaps, normal, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol.lint.reading import Reading

_MOST_PAIRS = 500_000
"""Rules with wildcards are compared with each rule. So many comparisons are made at most, of all
crawlers together."""

_MOST_OCTETS = 400_000_000
"""Octets of rules times octets of rules with wildcards, which a comparison may take: so many at
most, of all crawlers together. That is a tenth of a second in the worst case."""

_MOST_RULES = 50_000
"""So many rules are looked at, of all crawlers together: groups may be shared in many ways."""


class Shadow(NamedTuple):
    """Why a rule changes nothing."""

    by: Rank
    """The rule that wins or says the same."""
    wins: bool
    """Whether it wins; otherwise it is weaker and says the same."""
    equal: bool
    """Whether both match the same paths."""
    same: bool
    """Whether both say the same."""


def rule_shadows(reading: Reading) -> Iterator[Finding]:
    """A finding for each rule that changes nothing for any crawler that it counts for."""
    search = _Search(reading)
    choices = _choices(reading)
    found: dict[int, list[dict[int, Shadow]]] = {}
    for chosen in choices:
        shadows = search.shadows(chosen)
        for position in chosen:
            found.setdefault(position, []).append(shadows)
    for position, each in found.items():
        for number in reading.sections[position].rules:
            if all(number in shadows for shadows in each):
                # What is said of it has to hold for all crawlers: it may be beaten for some only.
                weakest = min((shadows[number] for shadows in each), key=lambda one: one.wins)
                yield _finding(number, weakest, reading)
    if search.skipped or (reading.sections and not choices):
        yield Finding(None, Code.NOT_CHECKED, _NOT_CHECKED)


_NOT_CHECKED = "There are too many rules to look for all that change nothing."


def _choices(reading: Reading) -> list[tuple[int, ...]]:
    """The groups that count for a crawler together, for each crawler there may be."""
    dialect = reading.dialect
    if dialect.choice is Choice.MERGED and dialect.names is not Names.TOKEN:
        return []  # Names may match in part, so any groups may be merged.
    return list(dict.fromkeys(reading.by_name.values()))


def _finding(number: int, shadow: Shadow, reading: Reading) -> Finding:
    line = line_of(shadow.by)
    rule = text(reading.lines[line - 1].partition(b"#")[0].strip())
    if not shadow.wins:
        words = f"Line {line} says the same about these paths: {rule}"
        return Finding(number, Code.SHADOWED_RULE, words)
    if not shadow.equal:
        words = f"Line {line} matches all these paths and wins: {rule}"
        return Finding(number, Code.SHADOWED_RULE, words)
    if shadow.same:
        return Finding(number, Code.DUPLICATE_RULE, f"Line {line} says the same: {rule}")
    words = f"Line {line} says the opposite about the same paths and wins: {rule}"
    return Finding(number, Code.CONTRADICTION, words)


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
        compiled: list[Item] = []
        for number in numbers:
            for rank, served in self._reading.rules[number].ranked:
                pattern = normal(served)
                compiled.append(Item(rank, pattern, text_of(pattern)))
        compiled.sort(key=itemgetter(0))
        return compiled

    def _may_compare(self, items: list[Item]) -> bool:
        """Whether each rule may be compared with each that has wildcards."""
        starred = [len(item.text) for item in items if item.is_starred]
        pairs = self._pairs + len(items) * len(starred)
        octets = self._octets + sum([len(item.text) for item in items]) * sum(starred)
        if pairs > _MOST_PAIRS or octets > _MOST_OCTETS:
            self.skipped = True
            return False
        self._pairs, self._octets = pairs, octets
        return True


def _shadows(items: list[Item], compare: bool) -> dict[int, Shadow]:
    beaten = _beaten(items, compare)
    shadows = _needless(items, beaten) if compare else beaten
    found: dict[int, Shadow] = {}
    alive: set[int] = set()
    for item, shadow in zip(items, shadows, strict=True):
        line = line_of(item.rank)
        if shadow is None:
            alive.add(line)
        elif line not in found or found[line].wins:
            found[line] = shadow
    # A line may stand for two patterns: both must change nothing. The stronger one is the one that
    # is written there. It loses only if both do.
    return {line: shadow for line, shadow in found.items() if line not in alive}


def _beaten(items: list[Item], compare: bool) -> list[Shadow | None]:
    """For each rule, the strongest one that beats it."""
    found: list[Shadow | None] = []
    stronger = Covers(compare)
    for item in reversed(items):
        by = stronger.strongest(item)
        if by > item.rank:
            equal = stronger.equal_to(item) == by
            found.append(Shadow(by, True, equal, allows(by) is allows(item.rank)))
        else:  # what covers a rule that is beaten covers what that one covers
            found.append(None)
            stronger.add(item)
    found.reverse()
    return found


def _needless(items: list[Item], beaten: list[Shadow | None]) -> list[Shadow | None]:
    """The same, with the rules that are needless."""
    found = list(beaten)
    weaker = Covers()
    said = {
        outcome: Overlaps([item for item in items if allows(item.rank) is outcome])
        for outcome in (True, False)
    }
    for at, item in enumerate(items):
        allow = allows(item.rank)
        if beaten[at] is None:
            by = weaker.strongest(item)
            if (
                NO_RANK < by < item.rank
                and allows(by) is allow
                and not said[not allow].above(item, by)
            ):
                found[at] = Shadow(by, False, False, True)
            else:
                weaker.add(item)
    return found
