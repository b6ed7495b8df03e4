"""Who leaves next of several crawls that ask one host: moments are booked.

- ``ask``: may my request leave now? If not, when should I ask again, and with which moment?
- ``left``: my last request left at least so many seconds ago;
- ``unused``: I do not use the moment that I booked, or the answer that I may go;
- ``leave_alone``: the host asks for no requests for a while.

Each crawl books the moment one delay after the one booked before it. When its moment has come it
asks again: only then is it known whether the last request of another crawl has surely left one
delay before. If that one was late, all that is booked moves with it: moments are in a time that
stands still meanwhile. So crawls go in the order of their moments. Who does not come in time loses
its moment to the next one, and is the first as soon as it comes; who never comes costs the others
one moment, or a few seconds if it was the first.

A crawl that may go may still have to connect, and nobody knows when it has sent its request until
the answer comes. Until then it counts as sent as late as its patience allows. A crawl knows its own
requests best: they do not count against it.

Times are seconds by one clock, that of whoever keeps the book; no clock of a crawl matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST_WAIT = 0.001
"""Seconds. A wait is never 0.0, which tells a request to go."""
LATE = 2.0
"""Seconds for which others wait for the first one, when it does not ask again in time."""
REMEMBERED = 60.0
"""Seconds that a request counts at least, for a crawl that keeps a longer delay."""
LEAST_SILENCE = 1.0
"""Seconds for which a host is left alone at least after the book was lost: somebody may have been
allowed to send something just before."""


@dataclass(slots=True, eq=False, repr=False)
class Entry:
    """What the book says of one host."""

    last: str = ""
    """Who went last; "" for nobody."""
    next: float = 0.0
    """The next moment to be booked."""
    lag: float = 0.0
    """How far the time of the moments is behind the clock."""
    virtual: float = 0.0
    """The latest moment at which somebody went."""
    left_by: float = 0.0
    """When the last one has left at the latest, by the clock."""
    delay: float = 0.0
    """The seconds that it keeps."""
    first: float = inf
    """The moment of the one that could go but for the last; infinity for none."""
    first_at: float = 0.0
    """When it was told to ask again, by the clock."""
    paused: float = 0.0
    """Until when nobody goes, by the clock."""
    lost_at: float = -inf
    """When the book was lost, by the clock."""

    @property
    def values(self) -> tuple[Any, ...]:
        """All there is to keep, in the order of the fields."""
        return tuple(getattr(self, name) for name in self.__slots__)

    def ask(
        self, now: float, who: str, delay: float, patience: float, moment: float | None
    ) -> tuple[float, float | None]:
        """Seconds after which to ask again, and with which moment; (0.0, None) to go now.

        *delay*: seconds that the crawl *who* keeps. *patience*: for how many seconds the others are
        to assume that the request may not have left, if they hear nothing. *moment*: what it was
        told before, None for a new request.
        """
        if moment is None or moment >= self.next:  # or booked before the book was lost
            is_alone = self.next <= self.virtual + self.delay and self.first == inf
            if (is_alone and self.last == who) or now - self.lag > self.next:
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
            if self.left_by > now:  # it may soon be known better
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
        """The last request of *who* left no later than *ago* seconds ago.

        If *ago* is below 0, it may not have left, but will have in that many seconds.
        """
        at = now - ago
        if self.last != who:
            if at <= self.left_by:
                self.paused = max(self.paused, at + delay)
                return
            if self.last:  # this one took longer than its patience, or went unasked
                self.paused = max(self.paused, self.left_by + max(delay, self.delay))
            self.last, self.delay = who, delay
            self.virtual = max(self.virtual, min(at, now) - self.lag)
        elif at < self.virtual + self.lag - delay / 2:
            return  # that was the one before
        self.left_by = at

    def unused(self, now: float, who: str, ago: float, delay: float, moment: float | None) -> None:
        """*who* has no request for *moment*, or with None, did not go though it might have.

        Its last request left no later than *ago* seconds ago, infinity if there was none.
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
            self.lag -= delay  # whoever comes after it comes sooner

    def leave_alone(self, now: float, seconds: float) -> None:
        """Nobody goes for *seconds* from now."""
        self.paused = max(self.paused, now + seconds)

    def move(self, seconds: float) -> None:
        """The clock was set: all of its times are *seconds* later than they seemed."""
        for name in ("next", "virtual", "left_by", "first", "first_at", "paused", "lost_at"):
            setattr(self, name, getattr(self, name) + seconds)

    @property
    def useful_until(self) -> float:
        """When all of it can be forgotten."""
        left = self.left_by + max(REMEMBERED, self.delay) if self.last else 0.0
        return max(self.next + self.lag, self.paused, left, self.lost_at + REMEMBERED)


class Book(Protocol):
    """Keeps the entries of hosts for several crawls."""

    def change(self, host: str, event: str, *arguments: Any) -> Any:
        """Calls the method *event* of the :class:`Entry` of *host*, after the time, with
        *arguments*. Returns its answer. May wait, and may raise :exc:`BookError`.
        """

    def close(self) -> None:
        """Never raises."""


class BookError(Exception):
    """The book cannot be read or written now. The message says why, without a password."""


class BookInMemory:
    """For the crawls of one process. Forgets hosts that nobody has asked lately: what is kept is
    at most twice what is of use.
    """

    LEAST = 1_000
    """Up to this many hosts are kept without checking whether they are still of use."""

    def __init__(self, now: Callable[[], float]) -> None:
        """*now*: returns seconds."""
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
                self._forget(now)
            entry = self._entries[host] = Entry()
        return getattr(entry, event)(now, *arguments)

    def close(self) -> None:
        pass

    def _forget(self, now: float) -> None:
        kept = {host: each for host, each in self._entries.items() if now < each.useful_until}
        self._entries = kept
        self._most = max(self.LEAST, 2 * len(kept))
