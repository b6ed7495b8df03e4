"""Faults of groups: their names, groups that nobody chooses, the paths of their rules, and
preferences that contradict each other.
"""

from __future__ import annotations

import re
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.dialect import Choice, Names
from scrapy_robots_plus.protocol.groups import STAR
from scrapy_robots_plus.protocol.lines import ABOUT_USES, Kind
from scrapy_robots_plus.protocol.octets import text
from scrapy_robots_plus.protocol.preferences import Preference
from scrapy_robots_plus.protocol.preferences.in_file import in_form
from scrapy_robots_plus.protocol.preferences.values import signals, usage, usage_rule
from scrapy_robots_plus.protocol.product_token import fold

from .findings import Code, Findings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_robots_plus.protocol.dialect import Dialect
    from scrapy_robots_plus.protocol.lines import Line

    from .reading import Reading

    _Place = tuple[bytes | None, str, Preference]
    """A path of Content-Usage, or None for Content-Signal, which has none; and what is stated."""


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


_URL = re.compile(rb"https?:/*[^/]*(/.*)?", re.IGNORECASE)
_HOST = re.compile(rb"www\.[^/]*(/.*)?", re.IGNORECASE)
_SEVERAL = re.compile(rb"\s([/*]\S*)")
_REGULAR = re.compile(
    rb"^\^"  # ^/private
    rb"|(?<=[^*/])/\.[*+]\??(?=\$?$)"  # /private/.*
    rb"|\\(?:[dwsDWS](?![a-zA-Z])|[./?+*-])"  # /\d
    rb"|\([^()/|]*\|[^()]*\)"  # /(a|b)
    rb"|\[(?=[^][/]*[a-zA-Z0-9]-[a-zA-Z0-9])[^][/]*\]"  # /[0-9]
)
"""Each takes no more than a look or two at each octet, whatever the path."""


def path_faults(reading: Reading, findings: Findings) -> None:
    """Those of each rule of each group, in file order."""
    for section in reading.sections:
        for number in section.rules:
            allow, value = reading.rules[number]
            if value:
                _faults_of_path(number, value, reading, findings)
            elif not reading.dialect.empty_decides and (allow or len(section.rules) > 1):
                findings.add(number, Code.EMPTY_RULE, "Allow" if allow else "Disallow")


def _faults_of_path(number: int, value: bytes, reading: Reading, findings: Findings) -> None:
    wildcards = reading.dialect.wildcards
    before, mark, after = reading.lines[number - 1].partition(b"#")
    if mark and before == before.rstrip() and after.strip():  # /#!page, /a#b: not sent
        findings.add(number, Code.COMMENT_IN_PATH, value)
    if several := _SEVERAL.search(value):
        findings.add(number, Code.SEVERAL_PATHS, several[1])
    if special := _REGULAR.search(value):
        findings.add(number, Code.REGULAR_EXPRESSION, special[0])
    if number not in reading.patterns:
        findings.add(number, Code.NEVER_MATCHES, *_why_not(value))
    elif not wildcards and (b"*" in value or value.endswith(b"$")):
        findings.add(number, Code.LITERAL_WILDCARD)
    if wildcards and b"$" in value[:-1]:
        findings.add(number, Code.LITERAL_DOLLAR)


def _why_not(value: bytes) -> tuple[str, bytes]:
    """Words, and the path to write instead if they say one."""
    if value[:1] in {b"/", b"*"}:
        return "URLs have no such characters: they are sent percent-encoded.", b""
    if value == b"$":
        return "No path is empty: every path begins with /.", b""
    whole = _URL.fullmatch(value) or _HOST.fullmatch(value)
    if whole:
        return "This is a URL, not a path: write ", whole[1] or b"/"
    return "The path does not begin with / or *, but all paths of URLs begin with /.", b""


_OPPOSITE = {Preference.ALLOW: Preference.DISALLOW, Preference.DISALLOW: Preference.ALLOW}


def opposite_preferences(reading: Reading, findings: Findings) -> None:
    """Lines of one group that contradict each other: the use is disallowed."""
    for section in reading.sections:
        for members in section.members:
            first: dict[_Place, int] = {}
            lines = [line for line in members.lines if line.kind in ABOUT_USES]
            # Content-Signal lines come first: they are for all paths of Content-Usage.
            lines.sort(key=lambda line: line.kind is Kind.CONTENT_USAGE)
            for line in lines:
                _opposites_of(line, first, reading.dialect, findings)


def _opposites_of(
    line: Line, first: dict[_Place, int], dialect: Dialect, findings: Findings
) -> None:
    path: bytes | None = None
    stated = signals(line.value)
    if line.kind is Kind.CONTENT_USAGE:
        served, value = usage_rule(line.value)
        path, stated = in_form(served, dialect), usage(value)
    for category, preference in dict.fromkeys(stated):
        opposite = _OPPOSITE.get(preference)
        if opposite is None:
            continue
        places = ((None, category, opposite), (path, category, opposite))
        other = next((first[place] for place in places if place in first), None)
        if other is not None:
            where = "the same line" if other == line.number else f"line {other}"
            values = preference, category, where, opposite
            findings.add(line.number, Code.OPPOSITE_PREFERENCES, *values)
        first.setdefault((path, category, preference), line.number)
