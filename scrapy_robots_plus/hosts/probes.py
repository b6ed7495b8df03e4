"""When a host that goes on refusing is asked at full speed again, to see what its pace is for."""

from __future__ import annotations

from collections import deque

from .refusal_shares import FEW


class Probes:
    """The probes of one host that is slowed down: short times at full speed.

    Outages that come again and again look like a limit: what is under way is refused together, and
    less is refused while the host is asked slowly. But a limit that has been found refuses next to
    nothing, and an outage refuses at its own moments. So if a host goes on refusing, it is asked at
    full speed at a moment that it has not chosen. If it needs the pace, it refuses much more then.

    A limit may change, or a short probe may not meet it. So a host that passes is watched: if it
    refuses much more at full speed after all, it gets its pace back.
    """

    AFTER = 15.0
    """Seconds that the pace may cost until a host is probed; twice as many after each time that it
    needs the pace."""
    LATEST = 6 * FEW
    """How many answers at the pace are remembered."""
    REFUSED = 5
    """How many of the latest answers must be refusals: that the host goes on refusing."""
    SIZE = 2 * FEW
    """How many answers a probe takes."""
    WATCHED = 16 * FEW
    """How many answers at full speed tell, at least, whether a host that has passed needs a pace
    after all."""
    MORE = 0.3
    """How much larger the share of refusals at full speed is if the host needs the pace."""

    def __init__(self) -> None:
        self.phase = -1
        """The phase of the throttle whose requests are the probe that goes on; -1 if none does."""
        self._answers = self._refused = 0
        """Answers and refusals at full speed, of the latest probe or since it passed."""
        self.begin()

    def begin(self) -> None:
        """Starts anew: nothing was probed."""
        self._after = 0.0
        """How many seconds the pace may cost until the next probe."""
        self._start_counting()

    def _start_counting(self) -> None:
        self.is_passed = False
        """Whether the host has passed the latest probe, and is watched."""
        self._after = 2 * self._after or self.AFTER
        self.cost = 0.0
        """How many seconds the pace has cost."""
        self.at_the_pace: deque[bool] = deque(maxlen=self.LATEST)
        """Which of the latest answers to slowed down requests, except those that followed a pause,
        were refusals."""

    @property
    def is_due(self) -> bool:
        """Whether the pace has cost enough while the host goes on refusing."""
        return self.cost >= self._after and sum(self.at_the_pace) >= self.REFUSED

    def probe(self, phase: int) -> None:
        """Starts a probe, with the requests of *phase*."""
        self.phase, self.is_passed = phase, False
        self._answers = self._refused = 0

    def at_full_speed(self, *, refused: bool) -> None:
        """Counts the answer to a request of the probe, or to any since it passed."""
        self._answers += 1
        self._refused += refused

    def ends(self) -> bool:
        """Returns whether there are enough answers to the probe, and ends it then."""
        if self._needs_pace(self.SIZE):
            self._start_counting()
        elif self._answers < self.SIZE:
            return False
        else:
            self.is_passed = True
            self._answers = self._refused = 0
        self.phase = -1
        return True

    def needs_pace_after_all(self) -> bool:
        """Returns whether the host has passed and yet refuses much more; then it is watched no
        more.
        """
        is_clear = self.is_passed and self._answers >= self.WATCHED
        if not is_clear or not self._needs_pace(self._answers):
            return False
        self._start_counting()
        return True

    def _needs_pace(self, answers: int) -> bool:
        share = sum(self.at_the_pace) / max(len(self.at_the_pace), 1)
        return self._refused >= (share + self.MORE) * answers
