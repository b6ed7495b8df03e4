"""Crawls that share the pace of one host, at a clock that runs as fast as it can."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

LET_GO = 2.0
"""Seconds from a question within which a request may leave, or not at all."""


class Rules(Protocol):
    """The events of an :class:`.Entry`, wherever it is."""

    def ask(
        self, now: float, who: str, delay: float, patience: float, moment: float | None
    ) -> tuple[float, float | None]: ...

    def left(self, now: float, who: str, ago: float, delay: float) -> None: ...

    def unused(
        self, now: float, who: str, ago: float, delay: float, moment: float | None
    ) -> None: ...

    def leave_alone(self, now: float, seconds: float) -> None: ...


@dataclass(order=True)
class Event:
    at: float
    number: int
    happen: Callable[[], object] = field(compare=False)


class World:
    """The host, and the time."""

    def __init__(self, entry: Rules, random: Random) -> None:
        self.entry = entry
        self.random = random
        self.now = 1000.0
        self.departures: list[tuple[float, str]] = []
        """When each request really left, and whose it was."""
        self._events: list[Event] = []
        self._numbers = itertools.count()

    def after(self, seconds: float, happen: Callable[[], object]) -> None:
        heapq.heappush(self._events, Event(self.now + seconds, next(self._numbers), happen))

    def run(self, most_events: int = 20_000) -> None:
        for _ in range(most_events):
            if not self._events:
                return
            event = heapq.heappop(self._events)
            self.now = max(self.now, event.at)
            event.happen()
        raise AssertionError("it does not end")

    def gaps(self) -> list[float]:
        """Between requests of different crawls."""
        pairs = itertools.pairwise(sorted(self.departures))
        return [later - at for (at, one), (later, other) in pairs if one != other]


class Worker:
    """A crawl with *requests* for the host, one at a time.

    *lag*: the longest time that a message takes, in seconds; its timers are as late. *connecting*:
    the longest time from handover to departure; *answering*: that from there to the answer.
    """

    def __init__(
        self,
        world: World,
        name: str,
        requests: int,
        delay: float = 1.0,
        lag: float = 0.0,
        connecting: float = 0.0,
        answering: float = 0.0,
        patience: float | None = None,
        dies_after: int | None = None,
        drops: float = 0.0,
        repeats: float = 0.0,
        pauses: float = 0.0,
    ) -> None:
        self.world = world
        self.who = name
        self.requests = requests
        self.delay = delay
        self.lag = lag
        self.connecting = connecting
        self.answering = answering
        self.patience = connecting if patience is None else patience
        self.dies_after = dies_after
        """It dies when it has been told to go so many times, and does not go."""
        self.drops = drops
        """The probability that it has no request when its moment has come."""
        self.repeats = repeats
        """The probability that what it tells arrives once more, after the next answer."""
        self.pauses = pauses
        """The probability that an answer asks for a pause of three delays."""
        self.sent = 0
        self.asked_times = 0
        self.lives = True
        self._moment: float | None = None
        self._left_by = -inf

    def begin(self) -> None:
        self._ask()

    # Its messages take their time, and arrive in order: the next is sent when it has an answer.

    def _ask(self) -> None:
        self.asked_times += 1
        asked_at = self.world.now
        answers: list[tuple[float, float | None]] = []

        def arrive() -> None:
            now, patience = self.world.now, self.patience + LET_GO
            answers.append(self.world.entry.ask(now, self.who, self.delay, patience, self._moment))

        there, back = self._random(self.lag), self._random(self.lag)
        self.world.after(there, arrive)
        self.world.after(there + back, lambda: self._answered(*answers[0], asked_at))

    def _answered(self, wait: float, moment: float | None, asked_at: float) -> None:
        self._moment = moment
        if wait:
            if self._random(1.0) < self.drops / 4:
                self._give_back()
                return
            own = self._left_by + self.delay - self.world.now
            self.world.after(max(wait, own) + self._random(self.lag), self._ask)
        elif self.dies_after == self.sent:
            self.lives = False
        elif self._random(1.0) < self.drops or self.world.now - asked_at > LET_GO:
            self._give_back()
        else:
            self._send()

    def _give_back(self) -> None:
        now, ago = self.world.now, self.world.now - self._left_by
        self.world.entry.unused(now, self.who, ago, self.delay, self._moment)
        self._moment = None
        self.world.after(self._random(self.delay), self._ask)

    def _send(self) -> None:
        connecting = self._random(self.connecting)
        answering = self._random(self.answering)
        self.sent += 1
        self.world.after(connecting, self._depart)
        self.world.after(connecting + answering, lambda: self._come_back(answering))

    def _depart(self) -> None:
        self.world.departures.append((self.world.now, self.who))

    def _come_back(self, answering: float) -> None:
        """The answer tells no better than that it left some time before."""
        self._left_by = self.world.now - self._random(answering)
        ago = self.world.now - self._left_by
        arrives_after = self._random(self.lag)

        def tell() -> None:
            self.world.entry.left(self.world.now, self.who, ago, self.delay)

        self.world.after(arrives_after, tell)
        if self._random(1.0) < self.repeats:
            # Its next request may be on its way; the clock of the book has not moved by a delay.
            self.world.after(arrives_after + self.delay * 1.3, self._tell_again(self._left_by))
        if self._random(1.0) < self.pauses:
            self.world.entry.leave_alone(self.world.now, 3 * self.delay)
        if self.sent < self.requests:
            # Its own delay; no sooner than what it has told, which would arrive after it.
            own = max(self._left_by + self.delay - self.world.now, self.lag)
            self.world.after(own, self._ask)

    def _tell_again(self, left_by: float) -> Callable[[], object]:
        def tell() -> None:
            ago = self.world.now - left_by
            self.world.entry.left(self.world.now, self.who, ago, self.delay)

        return tell

    def _random(self, most: float) -> float:
        return self.world.random.uniform(0.0, most)
