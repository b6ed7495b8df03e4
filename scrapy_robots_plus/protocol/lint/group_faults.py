"""Faults of user-agent lines and groups: names, duplicates, groups that nobody chooses."""

from __future__ import annotations

import re
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.dialect import Choice, Names
from scrapy_robots_plus.protocol.groups import STAR
from scrapy_robots_plus.protocol.octets import text
from scrapy_robots_plus.protocol.product_token import fold

from .findings import Code, Findings
from .reading import Reading, group_names

if TYPE_CHECKING:
    from collections.abc import Iterable


_ALL = re.compile(
    rb"(?:all|any|every|everyone|everybody)(?:[ _-]*(?:robots|bots|crawlers|spiders|agents))?$",
    re.IGNORECASE,
)
_COMPARED = 200
"""In how many groups names are searched for others, which takes the square of their number."""


def group_faults(reading: Reading, findings: Findings) -> None:
    """Those of user-agent lines and of groups, in no order."""
    first_lines = _first_lines(reading)
    for position, section in enumerate(reading.sections):
        if position not in first_lines:
            words = "Rules before any user-agent line: here they count for all crawlers."
            findings.add(section.rules[0], Code.OUTSIDE_GROUP, words=words)
    if reading.dialect.names is not Names.GLOB:  # there, even an empty line names all
        _name_faults(reading, findings)
    _duplicates(reading, findings)
    _joined(reading, findings)
    unreachable = unreachable_groups(reading)
    for position, number in first_lines.items():
        if position in unreachable:
            findings.add(number, Code.UNREACHABLE_GROUP, unreachable[position])
        elif _lifts_rules(reading, position):
            findings.add(number, Code.GROUP_WITHOUT_RULES, group_names(reading, position))


def _first_lines(reading: Reading) -> dict[int, int]:
    """The first user-agent line of each group that has one."""
    first: dict[int, int] = {}
    for number, (section, _, _) in reading.agents.items():
        first.setdefault(section, number)
    return first


def _name_faults(reading: Reading, findings: Findings) -> None:
    for number, (_, value, names) in reading.agents.items():
        if not any(names):
            words = "" if value else "The line has no name."
            findings.add(number, Code.NAMES_NOBODY, value, words=words)
            continue
        word = _ALL.match(value)
        if word:
            findings.add(number, Code.ALL_IS_A_NAME, word[0])
        if reading.dialect.names is Names.TOKEN and _is_cut(value, names):
            starred = b"*" in value[1:]
            why = "A * in a name is no wildcard. " if starred else ""
            counted = names[0] if starred else names[-1]
            findings.add(number, Code.NAME_CUT_OFF, why, counted, value)


def _is_cut(value: bytes, names: tuple[str, ...]) -> bool:
    return fold(text(value)) not in names or b"*" in value[1:]


def _duplicates(reading: Reading, findings: Findings) -> None:
    seen: dict[tuple[str, ...], tuple[int, int]] = {}
    then = "the two groups are merged"
    if reading.dialect.choice is not Choice.MERGED:
        then = "only that group counts"
    current, only_for_all = -1, False
    for number, (position, shown, names) in reading.agents.items():
        if position != current and reading.dialect.star_comes_last:
            # A group for * is for nobody by name.
            only_for_all = any(STAR in each for each in reading.sections[position].names)
        current = position
        if not any(names) or (only_for_all and STAR not in names):
            continue
        before, line = seen.get(names, (None, 0))
        if before == position:
            findings.add(number, Code.DUPLICATE_USER_AGENT, shown, line)
        elif before is not None:
            findings.add(number, Code.DUPLICATE_GROUP, shown, line, then)
        seen[names] = position, line or number


def _joined(reading: Reading, findings: Findings) -> None:
    """Groups that an author may have meant to be two (2.1)."""
    agents = reading.agents.items()
    for (before, (first, names, _)), (number, (section, _, _)) in pairwise(agents):
        if first != section or not reading.sections[section].rules:
            continue
        if not any(_separates(each, reading) for each in range(before + 1, number)):
            continue
        findings.add(number, Code.JOINED_GROUP, names)


def _separates(number: int, reading: Reading) -> bool:
    """Whether a line looks as if a group ended there: blank, or with something for the group."""
    return number in reading.groups or not reading.lines[number - 1].strip()


def unreachable_groups(reading: Reading) -> dict[int, str]:
    """The groups that no crawler chooses, each with the reason.

    None of them is ever chosen; some others may not be either, in dialects that compare names in
    unusual ways.
    """
    dialect = reading.dialect
    if dialect.choice is Choice.IN_ORDER:
        return _too_late(reading)
    found: dict[int, str] = {}
    chosen = {each for name, all_ in reading.by_name.items() if name for each in all_}
    in_part = dialect.names is Names.SUBSTRING and dialect.choice is Choice.FIRST
    earlier: list[str] = []
    for position, section in enumerate(reading.sections):
        if position in chosen and not in_part:
            continue
        names = reading.choice.names_of(section)
        if position not in chosen and not (dialect.names is Names.GLOB and "" in names):
            found[position] = _why_not(reading, position, names)
        elif in_part and len(earlier) <= _COMPARED and _covered(names, earlier):
            found[position] = "Earlier groups apply to all its crawlers, and only the first counts."
        if section.rules or not dialect.blank_line_ends_group:
            earlier += names
    return found


def _too_late(reading: Reading) -> dict[int, str]:
    """The same, where the first group in the file that applies is chosen, be it for ``*``."""
    found: dict[int, str] = {}
    glob = reading.dialect.names is Names.GLOB
    for_all: int | None = None
    earlier: set[str] = set() if glob else {""}
    for position, section in enumerate(reading.sections):
        names = {name for each in section.names for name in each}
        if for_all is not None:
            found[position] = f"Group {for_all} comes first and is for all crawlers."
        elif not glob and not any(names):
            found[position] = "No crawler has such a name."
        elif names <= earlier:
            found[position] = "Earlier groups have all its names, and only the first counts."
        elif glob and names & {STAR, ""}:
            for_all = position + 1
        earlier |= names
    return found


def _why_not(reading: Reading, position: int, names: set[str]) -> str:
    section = reading.sections[position]
    if not section.rules and reading.dialect.blank_line_ends_group:
        return "The group has no rules, so it is ignored."
    if not any(names):
        return "No crawler has such a name."
    return "Earlier groups have all its names, and only the first counts."


def _covered(names: set[str], earlier: list[str]) -> bool:
    """Whether each name contains an earlier one, in a dialect in which that is enough."""
    before = [name for name in earlier if name and name != STAR]
    return STAR not in names and all(any(each in name for each in before) for name in names if name)


def _lifts_rules(reading: Reading, position: int) -> bool:
    """Whether a group lifts the rules for ``*``, perhaps unawares: 2.2.1."""
    section = reading.sections[position]
    if section.rules or not _has_rules(reading, reading.by_name.get(STAR, ())):
        return False
    names = set(chain.from_iterable(section.names))
    chosen = {each for name in names for each in reading.by_name.get(name, ())}
    return STAR not in names and not _has_rules(reading, chosen)


def _has_rules(reading: Reading, chosen: Iterable[int]) -> bool:
    return any(reading.sections[position].rules for position in chosen)
