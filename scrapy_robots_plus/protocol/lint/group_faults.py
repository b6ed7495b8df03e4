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

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .reading import Reading


_ALL = re.compile(
    rb"(?:all|any|every|everyone|everybody)(?:[ _-]*(?:robots|bots|crawlers|spiders|agents))?$",
    re.IGNORECASE,
)


def group_faults(reading: Reading, findings: Findings) -> None:
    """Those of user-agent lines and of groups, in no order."""
    lines = reading.agents.items()
    first_lines = {position: number for number, (position, _, _) in reversed(lines)}
    for position, section in enumerate(reading.sections):
        if position not in first_lines:
            words = "Rules before any user-agent line: here they count for all crawlers."
            findings.add(section.rules[0], Code.OUTSIDE_GROUP, words=words)
    if reading.dialect.names is not Names.GLOB:  # there, even an empty line names all
        _name_faults(reading, findings)
    _duplicates(reading, findings)
    _joined(reading, findings)
    unreachable = dict(_unreachable(reading))
    for position, number in first_lines.items():
        if position in unreachable:
            findings.add(number, Code.UNREACHABLE_GROUP, unreachable[position])
        elif _lifts_rules(reading, position):
            names = b", ".join(reading.sections[position].agents)
            findings.add(number, Code.GROUP_WITHOUT_RULES, names)


def _name_faults(reading: Reading, findings: Findings) -> None:
    for number, (_, value, names) in reading.agents.items():
        if not any(names):
            words = "" if value else "The line has no name."
            findings.add(number, Code.NAMES_NOBODY, value, words=words)
            continue
        word = _ALL.match(value)
        if word:
            findings.add(number, Code.ALL_IS_A_NAME, word[0])
        starred = b"*" in value[1:]
        is_cut = starred or fold(text(value)) not in names
        if is_cut and reading.dialect.names is Names.TOKEN:
            why = "A * in a name is no wildcard. " if starred else ""
            counted = names[0] if starred else names[-1]
            findings.add(number, Code.NAME_CUT_OFF, why, counted, value)


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
    """Groups that an author may have meant to be two (2.1): what is between them looks as if the
    first ended there. It is blank, or something else for the group."""
    agents = reading.agents.items()
    for (before, (first, names, _)), (number, (section, _, _)) in pairwise(agents):
        if first == section and reading.sections[section].rules:
            between = range(before + 1, number)
            if any(n in reading.groups or not reading.lines[n - 1].strip() for n in between):
                findings.add(number, Code.JOINED_GROUP, names)


def _unreachable(reading: Reading) -> Iterator[tuple[int, str]]:
    """Groups that no crawler chooses, by their positions, each with the reason.

    Others may not be chosen either, where names that match in part are compared.
    """
    dialect = reading.dialect
    in_order, glob = dialect.choice is Choice.IN_ORDER, dialect.names is Names.GLOB
    for_all: int | None = None
    earlier: set[str] = set() if glob else {""}
    for position, section in enumerate(reading.sections):
        names = set(chain(*section.names)) if in_order else reading.choice.names_of(section)
        if for_all is not None:
            yield position, f"Group {for_all} comes first and is for all crawlers."
        elif dialect.blank_line_ends_group and not in_order and not section.rules:
            yield position, "The group has no rules, so it is ignored."
            continue
        elif not (glob or any(names)):
            yield position, "No crawler has such a name."
        elif dialect.choice is not Choice.MERGED and names <= earlier:
            yield position, "Earlier groups have all its names, and only the first counts."
        elif in_order and glob and names & {STAR, ""}:
            for_all = position + 1
        earlier |= names


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
