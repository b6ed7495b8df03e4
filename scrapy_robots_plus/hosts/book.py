"""The book, in which several crawls reserve moments for their requests to one host.

- ``ask``: may my request leave now? If not, when should I ask again, and with which moment?
- ``left``: my last request left at least so many seconds ago;
- ``unused``: I will not use the moment that I booked, or the permission to go;
- ``leave_alone``: the host wants no requests for a while.

Each crawl books the moment one delay after the last one booked. When its moment has come, it asks
again: only then is it known if the last request of another crawl surely left one delay earlier.
If that one was late, all booked moments move with it: the time in which they count stands still
meanwhile. So crawls go in the order of their moments. One that does not come in time loses its
moment to the next, and is the first as soon as it comes. One that never comes costs the others one
moment, or a few seconds if it was the first. One that is killed after it was allowed to go costs
them its patience, up to 17 seconds (``Departures.LONGEST`` and ``GO_SECONDS``), and one delay.

A crawl that may go may still have to connect, and nobody knows when its request was sent until the
answer comes. Until then it counts as sent as late as its patience allows. A crawl knows its own
requests best: they do not count against it.

Times are seconds by one clock, that of the book's keeper; the clocks of the crawls do not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

LEAST_WAIT = 0.001
"""The shortest wait in seconds: 0.0 would tell a request to go."""
LATE = 2.0
"""Seconds that others wait for the first crawl when it does not ask again in time."""
REMEMBERED = 60.0
"""Minimum seconds for which a request counts: another crawl may keep a longer delay."""
LEAST_SILENCE = 1.0
"""Minimum seconds for which a host is left alone after the book was lost: a crawl may have been
allowed to send a request just before."""


@dataclass(slots=True, eq=False, repr=False)
class Entry:
    """The entry of one host in the book."""

    last: str = ""
    """The crawl that went last; "" for none."""
    next: float = 0.0
    """The next moment to be booked."""
    lag: float = 0.0
    """How many seconds the time of the moments is behind the clock."""
    virtual: float = 0.0
    """The latest moment at which a crawl went."""
    left_by: float = 0.0
    """The latest time at which the last request may have left, by the clock."""
    delay: float = 0.0
    """The delay in seconds that the crawl that went last keeps."""
    first: float = inf
    """The moment of the crawl that waits only for the last request or a pause; else infinity."""
    first_at: float = 0.0
    """The time at which the crawl with the moment :attr:`first` is to ask again, by the clock."""
    paused: float = 0.0
    """The time until which nobody goes, by the clock."""
    lost_at: float = -inf
    """The time at which the book was lost, by the clock."""

    @property
    def values(self) -> tuple[Any, ...]:
        """The values of all fields, in their order: what a book stores."""
        return tuple(getattr(self, name) for name in self.__slots__)

    def ask(
        self, now: float, who: str, delay: float, patience: float, moment: float | None
    ) -> tuple[float, float | None]:
        """Returns the seconds to wait and the moment to ask again with; (0.0, None) to go now.

        *delay*: seconds that the crawl *who* keeps. *patience*: for how many seconds the others
        must assume that the request may not have left, if they hear nothing. *moment*: the one
        returned before; None for a new request.
        """
        if moment is None or moment >= self.next:  # or booked before the book was lost
            is_alone = self.next <= self.virtual + self.delay and self.first == inf
            if (is_alone and self.last == who) or now - self.lag > self.next:
                # No booked moment lies ahead: from here on, moments are by the clock again.
                self.virtual += self.lag
                self.lag, self.next = 0.0, now
            moment = self.next
            self.next += delay
        free = self.paused = max(self.paused, self.lost_at + max(delay, LEAST_SILENCE))
        if self.last not in ("", who):
            free = max(free, self.left_by + max(delay, self.delay))
        if now < (due := moment + self.lag):
            return max(due - now, LEAST_WAIT), moment
        if self.first < moment and now < self.first_at + LATE:
            wait = min(max(self.first_at - now, 0.0) + delay, self.first_at + LATE - now)
            return max(wait, LEAST_WAIT), moment
        if now < free:
            wait = free - now
            if self.left_by > now:  # when it left may soon be known better
                wait = min(wait, max(0.02, min(delay / 10, 0.5)))
            wait = max(wait, LEAST_WAIT)
            self.first, self.first_at = moment, now + wait
            return wait, moment
        if self.first <= moment:
            self.first = inf
        self.last, self.delay, self.left_by = who, delay, now + patience
        self.virtual = max(self.virtual, moment)
        self.lag = now - self.virtual
        return 0.0, None

    def left(self, now: float, who: str, ago: float, delay: float) -> None:
        """Records that the last request of *who* left no later than *ago* seconds ago.

        If *ago* is negative, it may not have left yet, but will have in that many seconds.
        """
        at = now - ago
        if self.last != who:
            if at <= self.left_by:
                self.paused = max(self.paused, at + delay)
                return
            if self.last:  # *who* took longer than its patience, or did not ask
                self.paused = max(self.paused, self.left_by + max(delay, self.delay))
            self.last, self.delay = who, delay
            self.virtual = max(self.virtual, min(at, now) - self.lag)
        elif at < self.virtual + self.lag - delay / 2:
            return  # an earlier request, not the last one
        self.left_by = at

    def unused(self, now: float, who: str, ago: float, delay: float, moment: float | None) -> None:
        """Releases *moment*, which *who* does not need; None: *who* was allowed to go, but did not.

        Its last request left no later than *ago* seconds ago; infinity if there was none.
        """
        if moment is None:
            if self.last != who:
                return
            self.left_by = min(self.left_by, now - min(ago, self.delay))
        if moment == self.first:
            self.first = inf
        if moment is not None and moment + delay == self.next:
            self.next = moment
        else:
            self.lag -= delay  # later moments come one delay sooner

    def leave_alone(self, now: float, seconds: float) -> None:
        """Lets nobody go for *seconds* from *now*."""
        self.paused = max(self.paused, now + seconds)

    def move(self, seconds: float) -> None:
        """Adds *seconds* to all times, because the clock was set."""
        for name in ("next", "virtual", "left_by", "first", "first_at", "paused", "lost_at"):
            setattr(self, name, getattr(self, name) + seconds)

    @property
    def useful_until(self) -> float:
        """The time from which the entry is of no more use, by the clock."""
        left = self.left_by + max(REMEMBERED, self.delay) if self.last else 0.0
        return max(self.next + self.lag, self.paused, left, self.lost_at + REMEMBERED)


class Book(Protocol):
    """The entries of hosts, kept for several crawls."""

    def change(self, host: str, event: str, *arguments: Any) -> Any:
        """Calls the method *event* of the :class:`Entry` of *host* with the time and *arguments*.

        Returns its answer. May wait, and may raise :exc:`BookError`.
        """

    def close(self) -> None:
        """Closes the book. Never raises."""


class BookError(Exception):
    """Raised if a book cannot be read or written now. The message says why, without a password."""


class BookInMemory:
    """The book for the crawls of one process. It forgets hosts that nobody has asked lately.

    It keeps at most twice as many entries as are of use, or :data:`LEAST`.
    """

    LEAST = 1_000
    """How many hosts are kept without checking whether their entries are still of use."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Takes *now*, which returns the time in seconds."""
        self._now = now
        self._entries: dict[str, Entry] = {}
        self._most = self.LEAST

    def __len__(self) -> int:
        return len(self._entries)

    def change(self, host: str, event: str, *arguments: Any) -> Any:
        now = self._now()
        entry = self._entries.get(host)
        if entry is None:
            if len(self._entries) >= self._most:
                entries = self._entries.items()
                self._entries = {name: kept for name, kept in entries if now < kept.useful_until}
                self._most = max(self.LEAST, 2 * len(self._entries))
            entry = self._entries[host] = Entry()
        return getattr(entry, event)(now, *arguments)

    def close(self) -> None:
        pass
