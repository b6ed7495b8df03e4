"""A clock that the test turns: time passes when the test says so, and timers ring then."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Timer:
    def __init__(self, call: Callable[[], object]) -> None:
        self.call: Callable[[], object] | None = call

    def cancel(self) -> None:
        self.call = None


class HandClock:
    """``clock`` and ``call_later``, as the queue takes them."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.rings = 0
        self._timers: list[tuple[float, int, Timer]] = []
        self._numbers = count()

    def clock(self) -> float:
        return self.now

    def call_later(self, delay: float, call: Callable[[], object]) -> Timer:
        timer = Timer(call)
        heappush(self._timers, (self.now + delay, next(self._numbers), timer))
        return timer

    def pass_time(self, seconds: float) -> None:
        end = self.now + seconds
        self.settle()
        while self._timers and self._timers[0][0] <= end:
            at, _, timer = heappop(self._timers)
            self.now = max(self.now, at)
            if timer.call is not None:
                self.rings += 1
                timer.call()
            self.settle()
        self.now = end

    def turn(self) -> None:
        """One turn of the loop: what is due rings, and not what that sets."""
        due = []
        while self._timers and self._timers[0][0] <= self.now:
            due.append(heappop(self._timers)[-1])
        for timer in due:
            if timer.call is not None:
                timer.call()

    def settle(self) -> None:
        """What happens by itself after each ring."""
