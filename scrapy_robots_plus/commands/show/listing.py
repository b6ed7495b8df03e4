"""A robots.txt line by line, for a terminal and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.commands.output import Style
from scrapy_robots_plus.protocol.counting import counted
from scrapy_robots_plus.protocol.lint import Role
from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol.lint import Finding, LintedFile, Meaning
    from scrapy_robots_plus.protocol.product_token import AgentNames

_WIDEST = 44
"""Characters of the column with the lines; longer lines push the rest to the right."""

_LONGEST = 200
"""Characters of a line, of its meaning and of a finding that are shown."""

_STYLES = {
    Role.USER_AGENT: Style.NAME,
    Role.ALLOW: Style.GOOD,
    Role.DISALLOW: Style.BAD,
    Role.BLANK: Style.PLAIN,
    Role.COMMENT: Style.FAINT,
    Role.UNKNOWN: Style.FAINT,
    Role.TEXT: Style.FAINT,
}

Parts = tuple[object, ...]
"""Of a line of output: texts, or tuples of a text and its style."""


def listing(
    heading: dict[str, Any], linted: LintedFile | None, agent: AgentNames
) -> Iterator[Parts]:
    """The lines to print: heading, lines with what they mean and findings below, a summary."""
    yield from _heading(heading)
    if linted is None:
        return
    groups = linted.groups_of(agent)
    shown = agent if isinstance(agent, str) else ", ".join(agent)
    yield _fact("agent", f"{shown}: {_groups(groups)}")
    of_file, by_line = _by_line(linted)
    for finding in of_file:
        yield _finding(finding, 0)
    digits = len(str(len(linted.lines)))
    width = min(_WIDEST, max((len(_cut(each.text)) for each in linted.lines), default=0))
    for line in linted.lines:
        yield _line(line, digits, width, is_marked=line.group in groups)
        for finding in by_line.get(line.number, ()):
            yield _finding(finding, digits)
    count = len(linted.findings)
    yield ((counted(count, "finding"), Style.UNSURE if count else Style.GOOD),)


def _heading(heading: dict[str, Any]) -> Iterator[Parts]:
    status = f"  ({heading['in_words']})" if "in_words" in heading else ""
    yield (heading["robots_url"], Style.BOLD), status
    if heading.get("asked_url", heading["robots_url"]) != heading["robots_url"]:
        yield _fact("redirected from", heading["asked_url"])
    if "detail" in heading:
        yield _fact("because", heading["detail"])
    yield _fact("size", f"{heading['size']:,} bytes")
    for name, value in heading.get("headers", {}).items():
        yield _fact(name, value)


def _fact(name: str, value: object) -> Parts:
    return (f"{name}: ", Style.FAINT), value


def _groups(groups: tuple[int, ...]) -> str:
    if not groups:
        return "no group applies, everything is allowed"
    plural = "group" if len(groups) == 1 else "groups"
    return f"{plural} {', '.join(map(str, groups))}, marked with >"


def _by_line(linted: LintedFile) -> tuple[list[Finding], dict[int, list[Finding]]]:
    of_file: list[Finding] = []
    by_line: dict[int, list[Finding]] = {}
    for finding in linted.findings:
        if finding.line is None:
            of_file.append(finding)
        else:
            by_line.setdefault(finding.line, []).append(finding)
    return of_file, by_line


def _line(line: Meaning, digits: int, width: int, *, is_marked: bool) -> Parts:
    mark = ">" if is_marked else " "
    text = _cut(line.text)
    style = Style.FAINT if line.ignored else _STYLES.get(line.role, Style.PLAIN)
    means = _means(line)
    pad = " " * (max(0, width - len(text)) + 2) if means else ""
    number = (f"{mark} {line.number:>{digits}}  ", Style.FAINT)
    return number, (text, style), pad, (_cut(means), Style.FAINT)


def _cut(text: str) -> str:
    return printable(text, _LONGEST)


def _means(line: Meaning) -> str:
    words = f"ignored: {line.ignored}" if line.ignored else line.words
    return f"group {line.group}: {words}" if line.group and words else words


def _finding(finding: Finding, digits: int) -> Parts:
    return " " * (digits + 4), (f"^ {finding.code}: ", Style.UNSURE), _cut(finding.text)


def fields_of(
    heading: dict[str, Any], linted: LintedFile | None, agent: AgentNames
) -> dict[str, Any]:
    """The same for ``--json``."""
    if linted is None:
        return {**heading, "lines": [], "findings": []}
    return {
        **heading,
        "dialect": linted.dialect.name,
        "agent": agent,
        "group_numbers": linted.groups_of(agent),
        "lines": list(map(_fields_of_line, linted.lines)),
        "findings": [
            {"line": each.line, "code": each.code, "message": each.text} for each in linted.findings
        ],
    }


def _fields_of_line(line: Meaning) -> dict[str, Any]:
    return {
        "line": line.number,
        "text": line.text,
        "role": line.role,
        "group_number": line.group,
        "names": line.names,
        "ignored": line.ignored or None,
        "means": line.words or None,
    }
