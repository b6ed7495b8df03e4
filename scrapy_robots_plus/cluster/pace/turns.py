"""Whose request may leave next, to one host: the same rules for all crawls that share its pace.

Operations:

- ``ask``: may my request leave now? If not, when should I ask again?
- ``left``: my request has left, at least this many seconds ago;
- ``unused``: I have no request any more, or did not use the turn that I was given;
- ``leave_alone``: the host asks for no requests for a while.

Goals: between two departures lies the delay, the longer one if the two crawls keep different ones.
Those who ask have their turns in the order in which they first asked. A crawl that dies costs the
others its patience once, and no more. While all are well, the host is asked once in each delay.

Hazards:

- A crawl that was told to go may take long to send, for it may have to connect first, and nobody
  knows when it has sent until the answer comes. Until then its departure is taken to be as late as
  its patience allows. The estimate for the others assumes that it left at once.
- Who is late may be dead. The others wait for it a little, then pass it over: longer each time, so
  that somebody who is merely slow has its turn; then it is forgotten.
- A turn reserved ahead may never be used. Who did not ask to go is passed over but once.
- A crawl knows its own departures best, and keeps its own delay: they do not count against it.

Times are seconds by one clock, that of whoever holds the state. No clock of a crawl matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

SHORTEST_WAIT = 0.001
"""Seconds. The wait of a request is never 0.0, which would tell it to go."""
REMEMBERED = 60.0
"""Seconds that a departure is remembered at least, for a crawl that keeps a longer delay."""
MOST_PASSED = 3
"""How many times somebody who is late is passed over before it is forgotten."""
LONGEST_WAIT = 5.0
"""Seconds, or two delays: who is not the first asks again, as those before it may be gone."""


class Departure(NamedTuple):
    """The last request of one asker."""

    at: float
    """When it left at the earliest."""
    until: float
    """When it left at the latest."""
    delay: float
    """Seconds that its crawl keeps."""


@dataclass(slots=True)
class Waiting:
    """One that has asked, and has not gone."""

    ticket: str
    delay: float
    due: float = inf
    """When it was told to ask again, or when its turn was expected to be, if that is later."""
    comes: bool = False
    """Whether it has a request that could leave at once, so that it surely asks again."""
    passed: int = 0
    """How many times others have gone before it because it was late."""

    @property
    def grace(self) -> float:
        """Seconds that the others wait for it when it is late."""
        return min(max(self.delay / 4, 0.05), 0.5) * 2.0**self.passed

    def is_late(self, now: float) -> bool:
        return now > self.due + self.grace


def worker_of(ticket: str) -> str:
    """The crawl that a ticket belongs to: what stands before its last slash."""
    return ticket.rpartition("/")[0]


class Turns:
    """The state of one host."""

    __slots__ = ("departures", "paused_until", "waiting")

    def __init__(self) -> None:
        self.departures: dict[str, Departure] = {}
        """By ticket."""
        self.waiting: list[Waiting] = []
        """In the order of their turns."""
        self.paused_until = 0.0

    def ask(self, ticket: str, delay: float, patience: float | None, now: float) -> float:
        """Seconds after which to ask again; 0.0 for a request that may leave now.

        *delay*: what the crawl keeps, in seconds. *patience*: for how long the others are to assume
        that the request may not have left, if they hear nothing; None if there is no request yet,
        and a turn is only reserved. Then 0.0 says that it is time to come with one.
        """
        self._forget(now)
        mine = self._place_of(ticket, delay, comes=patience is not None)
        ahead = [each for each in self._before(mine) if not each.is_late(now)]
        free_at = self._free_at(ticket, delay)
        if patience is not None and now >= free_at and not ahead:
            self._go(mine, patience, now)
            return 0.0
        mine.due = self._due(mine, ahead, free_at, now)
        wait = mine.due - now
        if patience is None:
            return wait
        if ahead:
            wait = min(wait, max(LONGEST_WAIT, 2 * delay))
        return max(wait, SHORTEST_WAIT)

    def left(self, ticket: str, ago: float, delay: float, now: float) -> None:
        """The last request of *ticket* left no later than *ago* seconds ago.

        If *ago* is below 0, it may not have left, but will have in that many seconds.
        """
        before = self.departures.get(ticket)
        at = now if before is None else before.at
        until = now - ago
        self.departures[ticket] = Departure(until if ago >= 0 else at, until, delay)
        self._forget(now)

    def unused(self, ticket: str, ago: float, now: float) -> None:
        """No request of *ticket* waits any more; its last one left no later than *ago* seconds ago,
        infinity if there was none.
        """
        self.waiting = [each for each in self.waiting if each.ticket != ticket]
        last = self.departures.pop(ticket, None)
        if last is not None and ago != inf:
            self.left(ticket, ago, last.delay, now)

    def leave_alone(self, seconds: float, now: float) -> None:
        """Nobody goes for *seconds* from now."""
        self.paused_until = max(self.paused_until, now + seconds)

    @property
    def useful_until(self) -> float:
        """When all of it can be forgotten."""
        longest = max(REMEMBERED, self._longest_delay)
        left = (each.until + longest for each in self.departures.values())
        waiting = (each.due + each.grace for each in self.waiting)
        return max((self.paused_until, *left, *waiting))

    @property
    def _longest_delay(self) -> float:
        left = (each.delay for each in self.departures.values())
        return max((0.0, *left, *(each.delay for each in self.waiting)))

    def _forget(self, now: float) -> None:
        longest = max(REMEMBERED, self._longest_delay)
        old = [ticket for ticket, each in self.departures.items() if each.until + longest <= now]
        for ticket in old:
            del self.departures[ticket]

    def _place_of(self, ticket: str, delay: float, *, comes: bool) -> Waiting:
        for each in self.waiting:
            if each.ticket == ticket:
                each.delay, each.comes = delay, comes
                return each
        self.waiting.append(Waiting(ticket, delay, comes=comes))
        return self.waiting[-1]

    def _before(self, mine: Waiting) -> list[Waiting]:
        return self.waiting[: self.waiting.index(mine)]

    def _free_at(self, ticket: str, delay: float) -> float:
        """When the host may surely be asked again, as far as others have asked it."""
        worker = worker_of(ticket)
        others = (
            each.until + max(each.delay, delay)
            for other, each in self.departures.items()
            if worker_of(other) != worker
        )
        return max((self.paused_until, *others))

    def _go(self, mine: Waiting, patience: float, now: float) -> None:
        passed = self._before(mine)
        for each in passed:
            each.passed += 1
            each.due = now + max(each.delay, mine.delay)
        gone = [each for each in passed if each.passed > MOST_PASSED or not each.comes]
        self.waiting = [each for each in self.waiting if each is not mine and each not in gone]
        self.departures[mine.ticket] = Departure(now, now + patience, mine.delay)

    def _due(self, mine: Waiting, ahead: list[Waiting], free_at: float, now: float) -> float:
        """When the turn of *mine* is, as far as can be said."""
        left = (each.at + max(each.delay, mine.delay) for each in self.departures.values())
        due = max((now, self.paused_until, *left))
        if ahead:
            last = ahead[-1]
            after = max(last.delay, mine.delay) if last.due > now else last.grace
            due = max(due, last.due + after)
        if due <= now < free_at:  # somebody is under way: look again soon
            due = min(now + min(max(mine.delay / 10, 0.02), 0.5), free_at)
        return due
