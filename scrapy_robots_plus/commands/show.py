"""``scrapy robots show``: files line by line, what each line means, and what is wrong with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from scrapy_robots_plus.origins.parsers import charset_of
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.lint import Code, Finding, lint
from scrapy_robots_plus.protocol.printable import counted, picked

from .inputs import AGENT, DIALECT, JSON, argument
from .project import Source
from .subcommand import Exit, Subcommand, named, shown

SOURCES = argument(
    "sources",
    nargs="+",
    metavar="ORIGIN|FILE",
    help="a site, such as https://example.com; store:SITE for what ROBOTS_STORE has of it; or a "
    "file, - for standard input",
)


class Show(Subcommand):
    """Show robots.txt files line by line: what each line means, and what is wrong.

    Exit status: 0 if nothing is wrong, 1 if anything is, 2 if a file cannot be read.
    """

    arguments = SOURCES, AGENT, DIALECT, JSON

    def run(self) -> None:
        for source in self.project.read(self.given.sources):
            fields = self._fields_of(source)
            self.show([fields], listing(fields))
            if source.policy.access is Access.UNREACHABLE:
                self.note(Exit.UNDECIDED)
            if fields["findings"]:
                self.note(Exit.FOUND)

    def _fields_of(self, source: Source) -> dict[str, Any]:
        policy, record, is_file = source
        fields: dict[str, Any] = {"robots_url": record.url, "size": len(record.body)}
        if not is_file:
            fields |= {
                "asked_url": record.origin.robots_url,
                **picked(policy, "status", "in_words"),
                **({"detail": policy.detail} if policy.detail else {}),
                "headers": dict(record.headers),
            }
        if policy.access is not Access.RULES:
            return {**fields, "lines": [], "findings": []}
        robots, agent = self.project.robots, self.project.agent_for(policy)
        charset = charset_of(record.headers)
        dialect = self.project.dialect_for(policy)
        linted = lint(record.body, dialect, charset, robots.fetch_max_bytes)
        findings = linted.findings
        if record.is_cut:
            text = "The copy ends at ROBOTS_FETCH_MAX_BYTES. What comes after it was not read."
            findings = Finding(None, Code.FILE_TOO_LONG, text), *findings
        return {
            **fields,
            "dialect": linted.dialect.name,
            "agent": agent,
            "group_numbers": linted.groups_of(agent),
            "lines": [
                {
                    "line": each.number,
                    **picked(each, "text", "role"),
                    "group_number": each.group,
                    "means": each.words or None,
                }
                for each in linted.lines
            ],
            "findings": [
                {"line": each.line, "code": each.code, "message": each.text} for each in findings
            ],
        }


_WIDEST = 44
"""The most characters of the column of lines; longer lines push the rest to the right."""


def listing(fields: dict[str, Any]) -> Iterator[str]:
    """Yields what is printed: a heading, lines with their meanings and findings, a summary."""
    status = f"  ({fields['in_words']})" if "in_words" in fields else ""
    yield fields["robots_url"] + status
    if fields.get("asked_url", fields["robots_url"]) != fields["robots_url"]:
        yield f"redirected from: {fields['asked_url']}"
    if "detail" in fields:
        yield f"because: {fields['detail']}"
    yield f"size: {fields['size']:,} bytes"
    yield from (f"{name}: {value}" for name, value in fields.get("headers", {}).items())
    if "agent" not in fields:  # there are no rules
        return
    lines, groups = fields["lines"], fields["group_numbers"]
    yield f"agent: {named(fields['agent'])}: {_groups(groups)}"
    findings: defaultdict[int | None, list[str]] = defaultdict(list)
    for each in fields["findings"]:
        findings[each["line"]].append(f"^ {each['code']}: {shown(each['message'])}")
    digits = len(str(len(lines)))
    width = min(_WIDEST, max((len(shown(each["text"])) for each in lines), default=0))
    yield from (f"    {finding}" for finding in findings[None])
    for line in lines:
        mark = ">" if line["group_number"] in groups else " "
        text = f"{shown(line['text']):{width}}  {shown(_means(line))}"
        yield f"{mark} {line['line']:>{digits}}  {text}".rstrip()
        yield from (f"{'':{digits}}    {finding}" for finding in findings[line["line"]])
    yield counted(len(fields["findings"]), "finding")


def _groups(groups: tuple[int, ...]) -> str:
    if not groups:
        return "no group applies, everything is allowed"
    plural = "group" if len(groups) == 1 else "groups"
    return f"{plural} {', '.join(map(str, groups))}, marked with >"


def _means(line: dict[str, Any]) -> str:
    words: str = line["means"] or ""
    return f"group {line['group_number']}: {words}" if line["group_number"] and words else words
