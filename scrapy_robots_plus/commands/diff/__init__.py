"""``scrapy robots diff``: what became allowed or denied from one robots.txt to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.errors import WrongUsageError
from scrapy_robots_plus.commands.subcommand import (
    Exit,
    Subcommand,
    add_agent,
    add_dialect,
    add_json,
)
from scrapy_robots_plus.protocol.dialect import dialect_named
from scrapy_robots_plus.protocol.difference import difference

from .changes import differs, fields_of, in_words
from .copies import STORED, Copy, file_copy, site_copy, site_in, stored_copy

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy_robots_plus.commands.output import Output
    from scrapy_robots_plus.commands.project import Project
    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol import Dialect


class Diff(Subcommand):
    """Two copies of a robots.txt, and what changed for an agent."""

    name = "diff"
    syntax = "A B [--agent NAME] [--dialect NAME] [--dialect-b NAME] [--all] [--json]"
    help = "Show what became allowed or denied from one robots.txt to another"
    details = (
        "A and B: a file, - for standard input, a site such as https://site.example, or "
        "store:https://site.example, which is the copy in ROBOTS_STORE. Exit status: 0 if nothing "
        "changed, 1 if something did, 2 if a copy cannot be read, or if rules have so many "
        "wildcards that the comparison ended before it found a change."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("before", metavar="A", help="the copy before")
        parser.add_argument("after", metavar="B", help="the copy after")
        add_agent(parser)
        add_dialect(parser)
        parser.add_argument(
            "--dialect-b", metavar="NAME", help="read B in another dialect than A (default: same)"
        )
        parser.add_argument("--all", action="store_true", help="show all changes, however many")
        add_json(parser)

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:
        names = arguments.before, arguments.after
        if names == ("-", "-"):
            raise WrongUsageError("only one of A and B can be standard input")
        dialect, dialect_of_b = project.robots.dialect, _dialect_of_b(arguments, project)
        copies = _copies(names, project)
        most = project.robots.fetch_max_bytes
        before, after = copies[0].read(dialect, most), copies[1].read(dialect_of_b, most)
        found = difference(before, after, project.agent)
        if arguments.json:
            output.json(fields_of(found, copies, project.agent))
        else:
            for line in in_words(found, copies, project.agent, most=None if arguments.all else 20):
                output.line(*line)
        if not all(copy.is_known for copy in copies):
            return Exit.UNDECIDED
        if differs(found, copies):
            return Exit.FOUND
        return Exit.OK if found.complete else Exit.UNDECIDED


def _copies(names: tuple[str, str], project: Project) -> tuple[Copy, Copy]:
    """Both copies. Sites are asked last, and both in one crawl."""
    sites = {name: site for name in names if (site := site_in(name)) is not None}
    uri = project.robots.store
    copies = {
        name: stored_copy(name, project, uri) if name.startswith(STORED) else file_copy(name)
        for name in names
        if name not in sites
    }

    async def work(crawl: Crawl) -> int:
        for name, site in sites.items():
            copies[name] = await site_copy(name, site, crawl, project)
        return Exit.OK

    if sites:
        # What the site has now, whatever a store has of it; and the store stays as it is.
        project.settings.set("ROBOTS_STORE", "memory", "cmdline")
        project.ask(work)
    before, after = names
    return copies[before], copies[after]


def _dialect_of_b(arguments: Namespace, project: Project) -> Dialect:
    if arguments.dialect_b is None:
        return project.robots.dialect
    try:
        return dialect_named(arguments.dialect_b)
    except ValueError as error:
        raise WrongUsageError(f"--dialect-b: {error}") from error
