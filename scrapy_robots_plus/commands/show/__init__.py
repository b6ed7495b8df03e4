"""``scrapy robots show``: files line by line, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus import compat
from scrapy_robots_plus.commands.answers import origin_of
from scrapy_robots_plus.commands.errors import UnreadableError, WrongUsageError
from scrapy_robots_plus.commands.project import obtain
from scrapy_robots_plus.commands.subcommand import (
    Exit,
    Subcommand,
    add_agent,
    add_dialect,
    add_json,
    read_file,
)
from scrapy_robots_plus.origins.parsers.adapter import charset_of
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.lint import Code, Finding, LintedFile, lint

from .listing import fields_of, listing

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy_robots_plus.commands.output import Output
    from scrapy_robots_plus.commands.project import Project
    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.storage.record import RobotsRecord

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
    """Each file in the order of the arguments."""

    name = "show"
    syntax = "ORIGIN|FILE... [--file FILE] [--agent NAME] [--dialect NAME] [--json]"
    help = "Show robots.txt files line by line: what each line means, and what is wrong"
    details = "Exit status: 0 if nothing is wrong, 1 if anything is, 2 if a file cannot be read."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "sources",
            nargs="*",
            metavar="ORIGIN|FILE",
            help="a site, such as https://example.com, or a file; - for standard input",
        )
        parser.add_argument(
            "--file", action="append", default=[], metavar="FILE", help="a file, whatever its name"
        )
        add_agent(parser)
        add_dialect(parser)
        add_json(parser)

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:
        sources = [*map(_source, arguments.sources), *arguments.file]
        if not sources:
            raise WrongUsageError("expected sites or files")
        report = _Report(project, output, as_json=arguments.json)
        origins = [source for source in sources if not isinstance(source, str)]

        async def work(crawl: Crawl) -> int:
            for origin in dict.fromkeys(origins):
                compat.run_in_background(crawl.get(Policies).obtain(origin))
            for source in sources:
                if isinstance(source, str):
                    report.add_file(source)
                else:
                    report.add(await _fetched(source, crawl, project))
            return report.status

        if origins:
            return project.ask(work)
        for name in (*arguments.sources, *arguments.file):
            report.add_file(name)
        return report.status


def _source(argument: str) -> Origin | str:
    """The origin of a URL, or the name of a file."""
    if "://" not in argument:
        return argument
    try:
        url, origin = origin_of(argument)
    except ValueError as error:
        raise WrongUsageError(str(error)) from error
    if origin is None:
        raise WrongUsageError(f"{url} is not an http or https URL")
    return origin


class _Report:
    """Prints files, and keeps the exit status."""

    def __init__(self, project: Project, output: Output, *, as_json: bool) -> None:
        self._project = project
        self._output = output
        self._as_json = as_json
        self.status = Exit.OK

    def add_file(self, name: str) -> None:
        """Prints a file on this disk; one that cannot be read is told on standard error."""
        try:
            body = read_file(name)
        except UnreadableError as error:
            hint = "" if Path(name).exists() else "; a site begins with https:// or http://"
            self._output.error(f"scrapy robots show: {error}{hint}")
            self.status = Exit.UNDECIDED
        else:
            robots = self._project.robots
            linted = lint(body, robots.dialect, max_bytes=robots.fetch_max_bytes)
            self.add(Shown({"robots_url": name, "size": len(body)}, linted))

    def add(self, shown: Shown) -> None:
        """Prints a file."""
        agent = self._project.agent
        if self._as_json:
            self._output.json(fields_of(shown.heading, shown.linted, agent))
        else:
            for line in listing(shown.heading, shown.linted, agent):
                self._output.line(*line)
        found = shown.linted is not None and shown.linted.findings
        self.status = max(
            self.status,
            Exit.UNDECIDED if shown.is_unread else Exit.FOUND if found else Exit.OK,
        )


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
