"""Faults of user-agent lines and groups: names that are none, groups that are merged or empty."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.groups import STAR
from scrapy_robots_plus.protocol.octets import text
from scrapy_robots_plus.protocol.product_token import fold

from .findings import Code, Finding, finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .reading import Reading


_ALL = re.compile(
    rb"(?:all|any|every)(?:one|body)?(?:[ _-]*(?:robots|bots|crawlers|spiders|agents))?$",
    re.IGNORECASE,
)


def group_faults(reading: Reading) -> Iterator[Finding]:
    """Those of user-agent lines and of groups, in no order."""
    yield from _name_faults(reading)
    yield from _duplicates(reading)
    yield from _joined(reading)
    yield from _without_rules(reading)


def _name_faults(reading: Reading) -> Iterator[Finding]:
    for number, (_, value, names) in reading.agents.items():
        if not any(names):
            yield finding(number, Code.NAMES_NOBODY, value)
            continue
        if _ALL.match(value):
            yield finding(number, Code.ALL_IS_A_NAME, value)
        starred = b"*" in value[1:]
        if starred or fold(text(value)) not in names:
            why = "A * in a name is no wildcard. " if starred else ""
            counted = names[0] if starred else names[-1]
            yield finding(number, Code.NAME_CUT_OFF, why, counted, value)


def _duplicates(reading: Reading) -> Iterator[Finding]:
    first: dict[tuple[str, ...], int] = {}
    for number, (_, shown, names) in reading.agents.items():
        line = first.setdefault(names, number)
        if any(names) and line != number:
            yield finding(number, Code.DUPLICATE_USER_AGENT, shown, line)


def _joined(reading: Reading) -> Iterator[Finding]:
    """Groups that an author may have meant to be two (2.1): what is between them looks as if the
    first ended there. It is blank, or something else for the group."""
    agents = reading.agents.items()
    for (before, (first, names, _)), (number, (section, _, _)) in pairwise(agents):
        if first == section and reading.sections[section].rules:
            between = range(before + 1, number)
            if any(n in reading.groups or not reading.lines[n - 1].strip() for n in between):
                yield finding(number, Code.JOINED_GROUP, names)


def _without_rules(reading: Reading) -> Iterator[Finding]:
    """Groups that lift the rules for ``*``, perhaps unawares: 2.2.1."""
    by_name = reading.choice.by_name
    if not _has_rules(reading, by_name.get(STAR, ())):
        return
    first_lines = {position: n for n, (position, _, _) in reversed(reading.agents.items())}
    for position, section in enumerate(reading.sections):
        names = {name for each in section.names for name in each}
        merged = (each for name in names for each in by_name[name])
        if not section.rules and any(names) and not _has_rules(reading, merged):
            shown = b", ".join(section.agents)
            yield finding(first_lines[position], Code.GROUP_WITHOUT_RULES, shown)


def _has_rules(reading: Reading, chosen: Iterable[int]) -> bool:
    return any(reading.sections[position].rules for position in chosen)
