"""Faults of user-agent lines and groups: names, duplicates, groups that nobody chooses."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.dialect import Choice, Names
from scrapy_robots_plus.protocol.groups.sections import STAR
from scrapy_robots_plus.protocol.lines.octets import text
from scrapy_robots_plus.protocol.lint.findings import Code, Finding
from scrapy_robots_plus.protocol.lint.meanings import group_names
from scrapy_robots_plus.protocol.product_token import fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol.lint.reading import Reading

_ALL = re.compile(
    rb"(?:all|any|every|everyone|everybody)(?:[ _-]*(?:robots|bots|crawlers|spiders|agents))?$",
    re.IGNORECASE,
)
_COMPARED = 200
"""In how many groups names are searched for others, which takes the square of their number."""


def group_faults(reading: Reading) -> Iterator[Finding]:
    """Those of user-agent lines and of groups, in no order."""
    first_lines = _first_lines(reading)
    yield from _orphans(reading)
    yield from _name_faults(reading)
    yield from _duplicates(reading)
    yield from _joined(reading)
    unreachable = unreachable_groups(reading)
    for position, number in first_lines.items():
        if position in unreachable:
            yield Finding(number, Code.UNREACHABLE_GROUP, unreachable[position])
        else:
            yield from _without_rules(reading, position, number)


def _first_lines(reading: Reading) -> dict[int, int]:
    """The first user-agent line of each group that has one."""
    first: dict[int, int] = {}
    for number, (section, _) in reading.agents.items():
        first.setdefault(section, number)
    return first


def _orphans(reading: Reading) -> Iterator[Finding]:
    with_agents = {section for section, _ in reading.agents.values()}
    for position, section in enumerate(reading.sections):
        if position not in with_agents:
            words = "Rules before any user-agent line: here they count for all crawlers."
            yield Finding(section.rules[0], Code.OUTSIDE_GROUP, words)


def _name_faults(reading: Reading) -> Iterator[Finding]:
    for number, (section, position) in reading.agents.items():
        value = reading.sections[section].agents[position]
        names = reading.sections[section].names[position]
        if reading.dialect.names is Names.GLOB:
            continue  # even an empty line names all
        if not any(names):
            words = "The line has no name." if not value else f"{text(value)!r} names no crawler."
            yield Finding(number, Code.NAMES_NOBODY, words)
            continue
        word = _ALL.match(value)
        if word:
            words = f"{text(word[0])!r} is the name of one crawler: write * for all."
            yield Finding(number, Code.ALL_IS_A_NAME, words)
        if reading.dialect.names is Names.TOKEN and _is_cut(value, names):
            starred = b"*" in value[1:]
            why = "A * in a name is no wildcard. " if starred else ""
            counted = names[0] if starred else names[-1]
            words = f"{why}Only {counted!r} counts, at the beginning of {text(value)!r}."
            yield Finding(number, Code.NAME_CUT_OFF, words)


def _is_cut(value: bytes, names: tuple[str, ...]) -> bool:
    return fold(text(value)) not in names or b"*" in value[1:]


def _duplicates(reading: Reading) -> Iterator[Finding]:
    seen: dict[tuple[str, ...], tuple[int, int]] = {}
    merged = reading.dialect.choice is Choice.MERGED
    current, counted = -1, set[str]()
    for number, (position, at) in reading.agents.items():
        section = reading.sections[position]
        if position != current:
            current, counted = position, reading.choice.names_of(section)
        names, shown = section.names[at], text(section.agents[at])
        if not any(names) or counted.isdisjoint(names):
            continue  # in some dialects, a group for * is for nobody by name
        before, line = seen.get(names, (None, 0))
        if before == position:
            words = f"{shown!r} is already named on line {line}."
            yield Finding(number, Code.DUPLICATE_USER_AGENT, words)
        elif before is not None:
            then = "the two groups are merged" if merged else "only that group counts"
            words = f"{shown!r} is already named on line {line}: {then}."
            yield Finding(number, Code.DUPLICATE_GROUP, words)
        seen[names] = position, line or number


def _joined(reading: Reading) -> Iterator[Finding]:
    """Groups that an author may have meant to be two (2.1)."""
    for (before, (first, _)), (number, (section, _)) in pairwise(reading.agents.items()):
        if first != section or not reading.sections[section].rules:
            continue
        if not any(_separates(each, reading) for each in range(before + 1, number)):
            continue
        names = text(reading.sections[section].agents[reading.agents[before][1]])
        words = f"No rule stands in between, so the rules below are also for {names!r}."
        yield Finding(number, Code.JOINED_GROUP, words)


def _separates(number: int, reading: Reading) -> bool:
    """Whether a line looks as if a group ended there: blank, or with something for the group."""
    return number in reading.groups or not reading.lines[number - 1].strip()


def unreachable_groups(reading: Reading) -> dict[int, str]:
    """The groups that no crawler chooses, each with the reason.

    None of them is ever chosen; some others may not be either, in dialects that compare names in
    unusual ways.
    """
    if reading.dialect.choice is Choice.IN_ORDER:
        return _too_late(reading)
    found: dict[int, str] = {}
    chosen = {each for name, all_ in reading.by_name.items() if name for each in all_}
    glob = reading.dialect.names is Names.GLOB
    earlier: list[str] = []
    for position, section in enumerate(reading.sections):
        names = reading.choice.names_of(section)
        if position not in chosen and not (glob and "" in names):
            found[position] = _why_not(reading, position, names)
        elif len(earlier) <= _COMPARED and _covered(names, earlier, reading):
            found[position] = "Earlier groups apply to all its crawlers, and only the first counts."
        if section.rules or not reading.dialect.blank_line_ends_group:
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


def _covered(names: set[str], earlier: list[str], reading: Reading) -> bool:
    """Whether each name contains an earlier one, in a dialect in which that is enough."""
    dialect = reading.dialect
    if dialect.names is not Names.SUBSTRING or dialect.choice is not Choice.FIRST or STAR in names:
        return False
    before = [name for name in earlier if name and name != STAR]
    return all(any(each in name for each in before) for name in names if name)


def _without_rules(reading: Reading, position: int, number: int) -> Iterator[Finding]:
    """Groups that lift the rules for ``*``, perhaps unawares: 2.2.1."""
    section = reading.sections[position]
    if section.rules or not _has_rules(reading, reading.by_name.get(STAR, ())):
        return
    chosen = {
        each for names in section.names for name in names for each in reading.by_name.get(name, ())
    }
    if any(STAR in names for names in section.names) or _has_rules(reading, tuple(chosen)):
        return
    words = f"No rules for {group_names(reading, position)}: those for * do not apply to it."
    yield Finding(number, Code.GROUP_WITHOUT_RULES, words)


def _has_rules(reading: Reading, chosen: tuple[int, ...]) -> bool:
    return any(reading.sections[position].rules for position in chosen)
