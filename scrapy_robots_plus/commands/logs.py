"""Checks whether an audit log is whole, and the robots.txt files beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.audit.bodies import Bodies, BodyError
from scrapy_robots_plus.audit.chain import Damage, State
from scrapy_robots_plus.audit.entries import CrawlEntry, FileEntry, VerdictEntry
from scrapy_robots_plus.audit.reading import MOST_OPEN_CRAWLS, LogReader
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.protocol.counting import counted

from .output import Style, UnreadableError, reading
from .subcommand import Exit, argument

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from scrapy_robots_plus.audit.reading import Read

    from .output import Output

SHOWN = 20
"""How many damages or differences are shown."""

TURN = 1_000
"""Lines after which the progress is shown."""

_TEXTS = 10_000
"""Texts that are remembered as checked; further ones may be checked twice."""

EXITS = {
    State.WHOLE: Exit.OK,
    State.UNFINISHED: Exit.UNFINISHED,
    State.PART: Exit.PART,
    State.CUT: Exit.CUT,
    State.DAMAGED: Exit.DAMAGED,
}
"""The exit status for each state of a log, in all commands that read one."""

_STYLES = {
    State.WHOLE: Style.GOOD,
    State.UNFINISHED: Style.UNSURE,
    State.PART: Style.UNSURE,
    State.CUT: Style.BAD,
    State.DAMAGED: Style.BAD,
}


LOGS = argument(
    "logs",
    nargs="+",
    metavar="AUDIT_LOG",
    help="the file of ROBOTS_AUDIT_LOG, or all files that it was rotated into, in any order",
)


class LogCheck:
    """Reads a log once, collects what is wrong with it, and says in which state it is.

    With ``--json`` each damage is printed as it is found.
    """

    def __init__(
        self, arguments: Namespace, output: Output, *, unshown: State | None = None
    ) -> None:
        """*unshown*: what is so is not among the damages.

        Raises UnreadableError if a file is named twice.
        """
        logs = [Path(log) for log in arguments.logs]
        self._shown = ", ".join(arguments.logs)
        self._files = len(logs)
        if len({log.resolve() for log in logs}) < len(logs):
            raise UnreadableError(f"{self._shown}: a file is named twice")
        self._output = output
        self._as_json = getattr(arguments, "json", False)
        self._reader = LogReader(logs, self._add)
        self._unshown = unshown
        self._other_state = State.WHOLE
        self.damages: list[Damage] = []
        """The first few."""
        self.count = 0
        """How many there are."""

    def read(self) -> Iterator[Read]:
        """What the log says. Raises UnreadableError if it cannot be read."""
        with reading(self._shown):
            for read in self._reader:
                if self._reader.lines % TURN == 0:
                    self._output.progress(f"{self._reader.lines:,} lines")
                yield read
        self._output.end_progress()
        if self._reader.lines and not self._reader.is_readable:
            first = f": {self.damages[0]}" if self.damages else ""
            raise UnreadableError(f"{self._shown} is not an audit log that can be read{first}")

    def add(self, read: Read, what: str) -> None:
        """Counts something that is wrong with what a line names."""
        self._other_state = State.DAMAGED
        self._add(Damage(read.line, what, State.DAMAGED, read.log))

    @property
    def state(self) -> State:
        """The worst of all that was found."""
        return max(self._reader.state, self._other_state, key=lambda each: each.severity)

    @property
    def lines(self) -> int:
        """How many there are."""
        return self._reader.lines

    @property
    def last_hash(self) -> str | None:
        """Of the last line that could be read; None if there is none."""
        return self._reader.last.hash if self._reader.is_readable else None

    def print_damages(self) -> None:
        """The first few, and how many more."""
        for damage in self.damages:
            where, _, what = str(damage).partition(": ")
            self._output.line((where, _STYLES[damage.state]), f": {what}")
        if self.count > len(self.damages):
            self._output.line(f"and {self.count - len(self.damages):,} more")

    def print_state(self) -> None:
        """In a word, with how much was read."""
        files = f" in {counted(self._files, 'file')}" if self._files > 1 else ""
        logs = f", {self._reader.logs:,} logs" if self._reader.logs > 1 else ""
        word = (self.state.value, _STYLES[self.state])
        self._output.line(word, f": {counted(self.lines, 'line')}{files}{logs}")

    def print_last(self) -> None:
        """Number and hash of the last line, for whoever keeps them elsewhere."""
        last = self._reader.last
        self._output.line(f"the last is number {last.number}, its hash is {last.hash}")

    def fields(self) -> dict[str, Any]:
        """The state for ``--json``."""
        last = self._reader.last
        return {
            "log_state": self.state.value,
            "lines_read": self.lines,
            "logs": self._reader.logs,
            "damages": self.count,
            "last_number": last.number,
            "last_hash": last.hash,
        }

    def _add(self, damage: Damage) -> None:
        if damage.state is self._unshown:
            return
        self.count += 1
        if self._as_json:
            where = {"log": damage.log or None, "line": damage.line}
            self._output.json({**where, "damage": damage.what, "log_state": damage.state.value})
        if len(self.damages) < SHOWN:
            self.damages.append(damage)


class TextFolders:
    """The folders of the robots.txt files that the crawls of a log have kept."""

    def __init__(self, arguments: Namespace) -> None:
        self._given: str | None = arguments.bodies
        self._beside = Path(arguments.logs[0]).parent

    def of(self, crawl: CrawlEntry) -> Bodies | None:
        """The one of *crawl*; None if it kept none."""
        if self._given:
            return Bodies(Path(self._given))
        return None if crawl.bodies is None else Bodies(self._beside / crawl.bodies)


class Verification:
    """Checks the chain and the texts, and says what the last line is."""

    def __init__(self, arguments: Namespace, output: Output) -> None:
        self._output = output
        self._as_json = arguments.json
        self._check = LogCheck(arguments, output)
        self._folders = TextFolders(arguments)
        self._texts: Recent[str, Bodies | None] = Recent(MOST_OPEN_CRAWLS)
        self._checked: Recent[tuple[Path, str], bool] = Recent(_TEXTS)

    def run(self) -> int:
        """Returns the exit status. Raises UnreadableError if the log cannot be read."""
        check = self._check
        for read in check.read():
            match read.entry:
                case CrawlEntry() as crawl:
                    self._texts.put(crawl.crawl, self._folders.of(crawl))
                case FileEntry(sha256=digest) | VerdictEntry(sha256=digest) if digest is not None:
                    self._check_text(read, self._texts.get(read.entry.crawl), digest)
        if self._as_json:
            self._output.json(check.fields())
        else:
            check.print_damages()
            check.print_state()
            check.print_last()
        return EXITS[check.state]

    def _check_text(self, read: Read, texts: Bodies | None, digest: str) -> None:
        if texts is None or (texts.folder, digest) in self._checked:
            return
        self._checked.put((texts.folder, digest), True)
        try:
            texts.get(digest)
        except BodyError as error:
            self._check.add(read, f"its robots.txt: {error}")
