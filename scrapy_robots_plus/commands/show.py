"""``scrapy robots show``: files line by line, what each line means, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_robots_plus import compat
from scrapy_robots_plus.origins.parsers import charset_of
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.lint import Code, Finding, LintedFile, Meaning, Role, lint
from scrapy_robots_plus.protocol.printable import counted, printable

from .output import Style, UnreadableError, WrongUsageError
from .project import Project, obtain
from .subcommand import AGENT, DIALECT, JSON, Exit, Subcommand, argument, read_file
from .urls import site_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.storage.base import RobotsRecord


_LINE = 4096
"""A copy that ends less than this before the limit, in the middle of a line, may be cut off."""


class Shown(NamedTuple):
    """One file, as far as it could be read."""

    heading: dict[str, object]
    """Where it comes from, its status, size and headers."""
    linted: LintedFile | None
    """None if there is no file."""
    is_unread: bool = False
    """Whether there may be one that cannot be read."""


class Show(Subcommand):
    """Show robots.txt files line by line: what each line means, and what is wrong.

    Exit status: 0 if nothing is wrong, 1 if anything is, 2 if a file cannot be read.
    """

    arguments = (
        argument(
            "sources",
            nargs="*",
            metavar="ORIGIN|FILE",
            help="a site, such as https://example.com, or a file; - for standard input",
        ),
        argument(
            "--file", action="append", default=[], metavar="FILE", help="a file, whatever its name"
        ),
        AGENT,
        DIALECT,
        JSON,
    )

    def run(self) -> int:
        sources = [*map(_source, self.given.sources), *self.given.file]
        if not sources:
            raise WrongUsageError("expected sites or files")
        origins = [source for source in sources if not isinstance(source, str)]

        async def work(crawl: Crawl) -> int:
            for origin in dict.fromkeys(origins):
                compat.run_in_background(crawl.get(Policies).obtain(origin))
            for source in sources:
                if isinstance(source, str):
                    self._add_file(source)
                else:
                    self._add(await _fetched(source, crawl, self.project))
            return self.status

        if origins:
            return self.project.ask(work)
        for name in (*self.given.sources, *self.given.file):
            self._add_file(name)
        return self.status

    def _add_file(self, name: str) -> None:
        """Prints a file on this disk; one that cannot be read is told on standard error."""
        try:
            body = read_file(name)
        except UnreadableError as error:
            hint = "" if Path(name).exists() else "; a site begins with https:// or http://"
            self.output.error(f"scrapy robots show: {error}{hint}")
            self.note(Exit.UNDECIDED)
        else:
            robots = self.project.robots
            linted = lint(body, robots.dialect, max_bytes=robots.fetch_max_bytes)
            self._add(Shown({"robots_url": name, "size": len(body)}, linted))

    def _add(self, shown: Shown) -> None:
        """Prints a file."""
        agent = self.project.agent
        lines = listing(shown.heading, shown.linted, agent)
        self.show(fields_of(shown.heading, shown.linted, agent), lines)
        if shown.is_unread:
            self.note(Exit.UNDECIDED)
        elif shown.linted is not None and shown.linted.findings:
            self.note(Exit.FOUND)


def _source(argument: str) -> Origin | str:
    """The origin of a URL, or the name of a file."""
    return site_of(argument)[1] if "://" in argument else argument


async def _fetched(origin: Origin, crawl: Crawl, project: Project) -> Shown:
    policy, record = await obtain(origin, crawl)
    heading = _heading(origin, policy, record)
    if policy.access is not Access.RULES:
        return Shown(heading, None, is_unread=policy.access is Access.UNREACHABLE)
    limit = project.robots.fetch_max_bytes
    linted = lint(record.body, project.robots.dialect, charset_of(record.headers), limit)
    if limit - _LINE < len(record.body) and not record.body.endswith((b"\n", b"\r")):
        text = "The copy ends at ROBOTS_FETCH_MAX_BYTES. What may come after it was not read."
        linted = linted.with_finding(Finding(None, Code.FILE_TOO_LONG, text))
    return Shown(heading, linted)


def _heading(origin: Origin, policy: Policy, record: RobotsRecord) -> dict[str, object]:
    heading: dict[str, object] = {
        "robots_url": record.url,
        "asked_url": origin.robots_url,
        "status": policy.status,
        "in_words": policy.in_words,
    }
    if policy.detail:
        heading["detail"] = policy.detail
    return {**heading, "size": len(record.body), "headers": dict(record.headers)}


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
    yield from _heading_lines(heading)
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


def _heading_lines(heading: dict[str, Any]) -> Iterator[Parts]:
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
