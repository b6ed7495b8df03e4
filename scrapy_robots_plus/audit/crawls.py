"""The crawls of an audit log: each counts its own lines.

So what was cut off is missed when its crawl goes on or ends, even if the chain was sealed anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.counting import counted

from .damage import State, place
from .entries import CrawlEntry, EndEntry, VerdictEntry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .chain import Line, Link

    Wrong = tuple[State, str]

MOST_OPEN_CRAWLS = 1_000
"""Crawls without an end that are followed. Of more, the oldest cannot be running still."""


@dataclass(slots=True)
class _Open:
    """A crawl without an end so far."""

    begin: str
    """Where that is, in words."""
    last: Link
    lines: int | None
    """How many it has; None if that is not known."""
    denials: int | None
    """How many lines say that a request was denied; None if that is not known, or is no matter."""


class Crawls:
    """Follows the crawls of a log."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._has_forgotten = False
        """Whether there were too many of them."""

    def __len__(self) -> int:
        """How many have no end so far."""
        return len(self._open)

    @property
    def ends(self) -> list[Link]:
        """The last line of each."""
        return [each.last for each in self._open.values()]

    def follow(self, line: Line, number: int, log: str) -> Iterator[Wrong]:
        """What is wrong with *line*, which is number *number* of the file *log*, for its crawl."""
        kind, name = line.fields.get("type"), line.fields.get("crawl")
        if not isinstance(name, str):
            return
        crawl = self._open.get(name)
        if kind == CrawlEntry.type:
            yield from self._begin(name, crawl, line, place(number, log))
        elif crawl is None:
            yield from self._unknown(name, line, place(number, log))
        crawl = self._open[name]
        if kind == EndEntry.type:
            del self._open[name]
            yield from _counted_wrongly(name, crawl, line)
            return
        crawl.last = line.link
        if crawl.lines is not None:
            crawl.lines += 1
        if crawl.denials is not None and kind == VerdictEntry.type:
            crawl.denials += line.fields.get("allowed") is False
        if len(self._open) > MOST_OPEN_CRAWLS:
            self._has_forgotten = True
            yield self._unfinished(next(iter(self._open)))

    def unfinished(self) -> Iterator[Wrong]:
        """After the last line: the crawls that have no end."""
        for name in list(self._open):
            yield self._unfinished(name)

    def _begin(self, name: str, crawl: _Open | None, line: Line, where: str) -> Iterator[Wrong]:
        continues = line.continues
        if continues is None:
            if crawl is not None:
                yield State.DAMAGED, f"crawl {name:.100} begins a second time"
            counts = 0 if line.fields.get("mode") == "obey" else None
            self._open[name] = _Open(where, line.link, 0, counts)
            return
        before = _whole_number(line.fields["continues"].get("lines"))
        if crawl is None:
            last = f"number {continues.number}, with the hash {continues.hash:.64}"
            yield State.PART, f"crawl {name:.100} goes on after {last}, which is not here"
        elif (crawl.last, crawl.lines) != (continues, before):
            missing = (before or 0) - (crawl.lines or 0)
            if missing > 0:
                is_, lines = "is" if missing == 1 else "are", counted(missing, "line")
                yield State.CUT, f"{lines} of crawl {name:.100} {is_} missing before it"
            else:
                yield State.DAMAGED, f"crawl {name:.100} goes on after another line than its last"
        begin, denials = (where, None) if crawl is None else (crawl.begin, crawl.denials)
        self._open[name] = _Open(begin, continues, before, denials)

    def _unknown(self, name: str, line: Line, where: str) -> Iterator[Wrong]:
        if not self._has_forgotten:
            yield State.CUT, f"the beginning of crawl {name:.100} is missing"
        self._open[name] = _Open(where, line.link, None, None)

    def _unfinished(self, name: str) -> Wrong:
        what = (
            f"the end of crawl {name:.100}, which begins in {self._open.pop(name).begin}, is "
            "missing: it was killed or still runs, or lines were removed"
        )
        return State.UNFINISHED, what


def _counted_wrongly(name: str, crawl: _Open, end: Line) -> Iterator[Wrong]:
    """Whether the lines of a crawl are those that its *end* counts."""
    lines, denied = (_whole_number(end.fields.get(key)) for key in ("lines", "denied"))
    lost = _whole_number(end.fields.get("lost")) or 0
    if None not in (lines, crawl.lines) and lines != crawl.lines:
        what = f"the end of crawl {name:.100} counts {lines} lines before it, not {crawl.lines}"
        yield (State.CUT if lines > crawl.lines else State.DAMAGED), what  # type: ignore[operator]
    elif denied is not None and crawl.denials is not None and denied > crawl.denials + lost:
        what = f"the end of crawl {name:.100} counts {denied} denials, not {crawl.denials}"
        yield State.CUT, what


def _whole_number(value: object) -> int | None:
    return value if type(value) is int else None
