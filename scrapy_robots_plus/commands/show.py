"""``scrapy robots show``: files line by line, what each line means, and what is wrong with it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.origins.parsers import charset_of
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.lint import Code, Finding, LintedFile, Meaning, lint
from scrapy_robots_plus.protocol.printable import counted, printable

from .output import Line, Style, fact, named, picked
from .subcommand import AGENT, DIALECT, JSON, Exit, Subcommand, argument
from .urls import site_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.protocol.product_token import AgentNames

    from .project import Source


class Show(Subcommand):
    """Show robots.txt files line by line: what each line means, and what is wrong.

    Exit status: 0 if nothing is wrong, 1 if anything is, 2 if a file cannot be read.
    """

    arguments = (
        argument(
            "sources",
            nargs="+",
            metavar="ORIGIN|FILE",
            help="a site, such as https://example.com, or a file; - for standard input",
        ),
        AGENT,
        DIALECT,
        JSON,
    )

    def run(self) -> None:
        places: list[Origin | Source] = [
            site_of(name)[1] if "://" in name else self.file(name) for name in self.given.sources
        ]
        self.project.read(places, self._add)

    def _add(self, source: Source) -> None:
        """Prints what a file has, or a site."""
        policy, record, is_file = source
        heading: dict[str, Any] = {"robots_url": record.url, "size": len(record.body)}
        if not is_file:
            heading |= {
                "asked_url": record.origin.robots_url,
                **picked(policy, "status", "in_words"),
                **({"detail": policy.detail} if policy.detail else {}),
                "headers": dict(record.headers),
            }
        linted = None
        if policy.access is Access.RULES:
            robots, charset = self.project.robots, charset_of(record.headers)
            linted = lint(record.body, robots.dialect, charset, robots.fetch_max_bytes)
            if record.is_cut:
                text = "The copy ends at ROBOTS_FETCH_MAX_BYTES. What comes after it was not read."
                linted = linted.with_finding(Finding(None, Code.FILE_TOO_LONG, text))
        elif policy.access is Access.UNREACHABLE:
            self.note(Exit.UNDECIDED)
        fields = fields_of(heading, linted, self.project.agent)
        self.show(fields, listing(fields, linted))
        if fields["findings"]:
            self.note(Exit.FOUND)


_WIDEST = 44
"""Characters of the column with the lines; longer lines push the rest to the right."""

_LONGEST = 200
"""Characters of a line, of its meaning and of a finding that are shown."""

_STYLES = {
    "user-agent": Style.NAME,
    "allow": Style.GOOD,
    "disallow": Style.BAD,
    "comment": Style.FAINT,
    "unknown": Style.FAINT,
    "text": Style.FAINT,
}


def listing(fields: dict[str, Any], linted: LintedFile | None) -> Iterator[Line]:
    """The lines to print: heading, lines with what they mean and findings below, a summary."""
    status = f"  ({fields['in_words']})" if "in_words" in fields else ""
    yield (fields["robots_url"], Style.BOLD), status
    if fields.get("asked_url", fields["robots_url"]) != fields["robots_url"]:
        yield fact("redirected from:", fields["asked_url"])
    if "detail" in fields:
        yield fact("because:", fields["detail"])
    yield fact("size:", f"{fields['size']:,} bytes")
    for name, value in fields.get("headers", {}).items():
        yield fact(f"{name}:", value)
    if linted is None:
        return
    groups = fields["group_numbers"]
    yield fact("agent:", f"{named(fields['agent'])}: {_groups(groups)}")
    by_line: defaultdict[int | None, list[Finding]] = defaultdict(list)
    for finding in linted.findings:
        by_line[finding.line].append(finding)
    digits = len(str(len(linted.lines)))
    width = min(_WIDEST, max((len(_cut(each.text)) for each in linted.lines), default=0))
    yield from _findings(by_line[None], 0)
    for line in linted.lines:
        yield _line(line, digits, width, is_marked=line.group in groups)
        yield from _findings(by_line.get(line.number, ()), digits)
    count = len(linted.findings)
    yield ((counted(count, "finding"), Style.UNSURE if count else Style.GOOD),)


def _groups(groups: tuple[int, ...]) -> str:
    if not groups:
        return "no group applies, everything is allowed"
    plural = "group" if len(groups) == 1 else "groups"
    return f"{plural} {', '.join(map(str, groups))}, marked with >"


def _line(line: Meaning, digits: int, width: int, *, is_marked: bool) -> Line:
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


def _findings(findings: Iterable[Finding], digits: int) -> Iterator[Line]:
    for each in findings:
        yield " " * (digits + 4), (f"^ {each.code}: ", Style.UNSURE), _cut(each.text)


def fields_of(
    heading: dict[str, Any], linted: LintedFile | None, agent: AgentNames
) -> dict[str, Any]:
    """All of it for ``--json``."""
    if linted is None:
        return {**heading, "lines": [], "findings": []}
    return {
        **heading,
        "dialect": linted.dialect.name,
        "agent": agent,
        "group_numbers": linted.groups_of(agent),
        "lines": [
            {
                "line": each.number,
                **picked(each, "text", "role"),
                "group_number": each.group,
                "ignored": each.ignored or None,
                "means": each.words or None,
            }
            for each in linted.lines
        ],
        "findings": [
            {"line": each.line, "code": each.code, "message": each.text} for each in linted.findings
        ],
    }
