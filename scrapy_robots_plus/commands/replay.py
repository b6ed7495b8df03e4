"""``scrapy robots replay``: re-evaluates every request in an audit log, or checks the log."""

from __future__ import annotations

from collections import Counter
from os.path import isdir
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.bodies import Bodies, BodyError
from scrapy_robots_plus.audit.chain import State
from scrapy_robots_plus.audit.entries import CrawlEntry, EndEntry, VerdictEntry
from scrapy_robots_plus.audit.reading import MOST_OPEN_CRAWLS, SHOWN
from scrapy_robots_plus.audit.replay import (
    UNREPLAYED,
    Decided,
    Differences,
    UndecidedError,
    decided_again,
)
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.protocol.printable import counted

from .logs import EXITS, LOGS, LogCommand
from .subcommand import Exit, argument, dialect, name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.audit.entries import Entry

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
        argument("--agent", type=name, metavar="NAME", help="what if it were this crawler"),
        argument("--dialect", type=dialect, metavar="NAME", help="what if files were read in this"),
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
        beside = [Path(log).parent / crawl.bodies for log in self.given.logs]
        return Bodies(next(filter(isdir, beside), beside[0]))  # logs may have been moved

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
                self.reader.report(State.DAMAGED, f"its robots.txt: {error}")
        last = self.reader.last
        lines = [*self.reader.damages, self.state_in_words()]
        if last.number >= 0:
            lines.append(f"the last is number {last.number}, its hash is {last.hash}")
        self.show([], lines)
        self.status = EXITS[self.reader.state]

    # Decides again about each request

    def _replay(self) -> None:
        self._changes = (self.given.agent, self.given.dialect)
        self._differences = Differences()
        self._undecided: Counter[str] = Counter()
        for entry, crawl, texts in self._entries():
            if isinstance(entry, VerdictEntry) and entry.reason not in UNREPLAYED:
                self._decide(entry, crawl, texts)
        self.show([], self._in_words())
        self.status = EXITS[self.reader.state]
        if self.reader.state not in (State.CUT, State.DAMAGED):
            differs = Exit.FOUND if any(self._differences.kinds.values()) else self.status
            self.status = Exit.UNDECIDED if self._undecided else differs

    def _decide(self, entry: VerdictEntry, crawl: CrawlEntry | None, texts: Bodies | None) -> None:
        try:
            if crawl is None:
                raise UndecidedError("the log does not say how its crawl began")
            after = decided_again(entry, crawl, texts, *self._changes)
        except UndecidedError as error:
            why = str(error)
            is_named = why in self._undecided or len(self._undecided) < SHOWN
            self._undecided[why if is_named else "other reasons"] += 1
            return
        where = f"{self.reader.place}: {entry.url}"
        self._differences.add(where, entry.origin or "", Decided.of(entry), after)

    # What is printed

    def _in_words(self) -> Iterator[str]:
        found = self._differences
        yield from self.reader.damages
        for why, count in self._undecided.most_common(SHOWN):
            yield f"undecided  {count:,} x {why}"
        for group, count in found.groups():
            origin, before, after = group
            yield f"{count:,} x {origin}: {before} -> {after}"
            yield from (f"    {each}" for each in found.examples[group])
        total = found.kinds.total()
        differ = "would differ" if any(self._changes) else "differ"
        parts = ", ".join(f"{count:,} {kind}" for kind, count in found.kinds.items() if count)
        text = f"{counted(found.verdicts, 'verdict')}, {total:,} {differ}"
        yield f"{text}: {parts}" if parts else text
        if self.reader.state is not State.WHOLE:
            yield self.state_in_words()
