"""``scrapy robots replay`` and ``scrapy robots report``: the commands that read an audit log."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from os.path import isdir
from pathlib import Path
from typing import Any

from scrapy_robots_plus.audit.bodies import Bodies, BodyError
from scrapy_robots_plus.audit.chain import MOST_OPEN_CRAWLS, SHOWN, LogReader, LogState
from scrapy_robots_plus.audit.entries import CrawlEntry, EndEntry, Entry, VerdictEntry
from scrapy_robots_plus.audit.replay import Differences
from scrapy_robots_plus.audit.report import MAKER, page, sentence
from scrapy_robots_plus.audit.summary import Summary
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.protocol.printable import counted
from scrapy_robots_plus.settings.host_patterns import plain_pattern
from scrapy_robots_plus.whole_file import whole_file

from .errors import UnreadableError, WrongUsageError
from .inputs import JSON, agent_option, argument, dialect_option, read_by
from .subcommand import Exit, Subcommand, complain

LOGS = argument(
    "logs",
    nargs="+",
    metavar="AUDIT_LOG",
    help="the file of ROBOTS_AUDIT_LOG, or all files that it was rotated into, in any order",
)


class LogCommand(Subcommand):
    """A subcommand that reads a log once, and knows its state and what is wrong with it."""

    def read(self) -> Iterator[Entry]:
        """Yields the entries of the log.

        Raises OSError, and UnreadableError if a file is named twice or is not an audit log.
        """
        logs, names = list(map(Path, self.given.logs)), ", ".join(self.given.logs)
        if len(set(map(os.path.realpath, logs))) < len(logs):
            raise UnreadableError(f"{names}: a file is named twice")
        self.reader = reader = LogReader(logs)
        yield from reader
        if reader.lines and not reader.is_readable:
            raise UnreadableError(f"{names} is not a readable audit log: {reader.damages[0]}")

    def state_in_words(self) -> str:
        """Returns the state of the log, and how much of it was read, in words."""
        reader, files = self.reader, len(self.given.logs)
        in_files = f" in {counted(files, 'file')}" if files > 1 else ""
        return f"{reader.state.name.lower()}: {counted(reader.lines, 'line')}{in_files}"


_TEXTS = 10_000
"""The most texts that are remembered as checked; others may be checked twice."""


class Replay(LogCommand):
    """Re-evaluate every request in an audit log, or check the log.

    Without --agent and --dialect, each verdict should come out as it was logged; with them, it says
    what would have changed. Exit status: 0 if nothing differs, 1 if something does, 2 if a verdict
    could not be recomputed; 3 if a crawl has no end, 4 if lines are missing, 5 if the log is
    damaged.
    """

    # Takes constant memory. The settings in the log apply, not those of the project.

    arguments = (
        LOGS,
        agent_option("what if it were this crawler"),
        dialect_option("what if files were read in this"),
        argument(
            "--verify",
            action="store_true",
            help="check the chain of the lines and the robots.txt files; replay nothing",
        ),
    )

    def run(self) -> None:
        if self.given.verify:
            self._verify()
        else:
            self._replay()

    def _texts_of(self, crawl: CrawlEntry) -> Bodies | None:
        """Returns the folder of the robots.txt files that *crawl* kept; None if it kept none."""
        if crawl.bodies is None:
            return None
        logs = self.reader.log, *map(Path, self.given.logs)  # a rotated one may have been moved
        beside = [log.parent / crawl.bodies for log in logs]
        return Bodies(next(filter(isdir, beside), beside[0]))

    def _entries(self) -> Iterator[tuple[Entry, CrawlEntry | None, Bodies | None]]:
        """Yields each entry, with the first entry and the folder of texts of its crawl, or None."""
        begins: Recent[str, tuple[CrawlEntry, Bodies | None]] = Recent(MOST_OPEN_CRAWLS)
        for entry in self.read():
            if isinstance(entry, CrawlEntry):
                begins.put(entry.crawl, (entry, self._texts_of(entry)))
            yield entry, *begins.get(entry.crawl, (None, None))
            if isinstance(entry, EndEntry):  # crawls that were killed have none
                begins.pop(entry.crawl, None)

    # Checks the chain and the texts, and names the last line

    def _verify(self) -> None:
        checked: Recent[tuple[Path, str], bool] = Recent(_TEXTS)
        for entry, _, texts in self._entries():
            digest = getattr(entry, "sha256", None)
            if digest is None or texts is None or (texts.folder, digest) in checked:
                continue
            checked.put((texts.folder, digest), True)
            try:
                texts.get(digest)
            except BodyError as error:
                self.reader.report(LogState.DAMAGED, f"its robots.txt: {error}")
        last = self.reader.last
        lines = [*self.reader.damages, self.state_in_words()]
        if last.number >= 0:
            lines.append(f"the last is number {last.number}, its hash is {last.hash}")
        self.show([], lines)
        self.status = self.reader.state

    # Decides again about each request

    def _replay(self) -> None:
        found = Differences(self.given.agent, self.given.dialect)
        for entry, crawl, texts in self._entries():
            if isinstance(entry, VerdictEntry):
                found.replay(self.reader.place, entry, crawl, texts)
        self.show([], self._in_words(found))
        self.status = self.reader.state
        if self.reader.state not in (LogState.CUT, LogState.DAMAGED):
            differs = Exit.FOUND if found.kinds.total() else self.status
            self.status = Exit.UNDECIDED if found.undecided else differs

    def _in_words(self, found: Differences) -> Iterator[str]:
        yield from self.reader.damages
        for why, count in found.undecided.most_common(SHOWN):
            yield f"undecided  {count:,} x {why}"
        for group, count in found.groups():
            origin, before, after = group
            yield f"{count:,} x {origin}: {before} -> {after}"
            yield from (f"    {each}" for each in found.examples[group])
        differ = "would differ" if any(found.changes) else "differ"
        parts = ", ".join(f"{count:,} {kind}" for kind, count in found.kinds.items() if count)
        text = f"{counted(found.verdicts, 'verdict')}, {found.kinds.total():,} {differ}"
        yield f"{text}: {parts}" if parts else text
        if self.reader.state is not LogState.WHOLE:
            yield self.state_in_words()


class Report(LogCommand):
    """Write an HTML report of an audit log: what was allowed and denied, and why.

    An earlier report is replaced, any other file is not. Exit status: 0 if the log is whole; 2 if
    it cannot be read; 3 if a crawl has no end, 4 if lines are missing, 5 if it is damaged, all of
    which the page says too.
    """

    # Sums up the log in constant memory, then writes the page at once.

    arguments = (
        LOGS,
        argument(
            "-o",
            "--output",
            metavar="FILE",
            default="report.html",
            help="where to write the page (default: report.html); - is standard output",
        ),
        argument("--title", default="", help="the heading of the page"),
        argument(
            "--host",
            action="append",
            type=read_by(plain_pattern),
            default=[],
            help="only this host (example.com), its subdomains (*.example.com) or an origin; may "
            "be given several times",
        ),
        JSON,
    )

    def run(self) -> None:
        given, target = self.given, Path(self.given.output)
        is_file = not self.as_json and given.output != "-"
        if is_file:
            _check_target(target, given.logs)
        summary = Summary(given.host)
        for entry in self.read():
            summary.add(entry)
        for damage in self.reader.damages:
            complain(damage if given.logs[1:] else f"{given.logs[0]}: {damage}")
        if is_file:
            with whole_file(target, "ascii") as file:
                file.write(page(summary, self.reader, given.title))
        if is_file or self.as_json:
            self.show(_objects(summary), [f"{target}: {sentence(summary.totals)}"])
        else:
            sys.stdout.write(page(summary, self.reader, given.title))
        self.note(self.reader.state)


def _check_target(target: Path, logs: Iterable[str]) -> None:
    """Raises WrongUsageError if *target* is one of the *logs*, or a file other than a report."""
    if not target.is_file():
        return
    if os.path.realpath(target) in map(os.path.realpath, logs):  # which may be empty
        raise WrongUsageError(f"{target} is the log; choose another name")
    with target.open("rb") as file:
        beginning = file.read(2_000)  # in which a page names its maker
    if beginning and f'name="generator" content="{MAKER} '.encode() not in beginning:
        raise WrongUsageError(f"{target} exists and is not a report; choose another name")


def _objects(summary: Summary) -> Iterator[dict[str, Any]]:
    """Yields the objects for ``--json``: the totals, then each site."""
    totals = summary.totals
    yield {
        "summary": sentence(totals),
        "requests_denied": totals.denied,
        "requests_allowed": totals.all_allowed if totals.counts_all else None,
        "sites": totals.origins,
        "robots_failures": totals.failures,
        "robots_changes": totals.changes,
    }
    for site in summary.rows("sites"):
        if not totals.logs_all:  # the number of those that were logged says nothing
            site.requests_allowed = None
        yield vars(site)
