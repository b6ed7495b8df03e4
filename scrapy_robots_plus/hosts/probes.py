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
    """

    AFTER = 15.0
    """How many more seconds the pace may cost until each probe."""
    LATEST = 6 * FEW
    """How many answers at the pace are remembered."""
    REFUSED = 5
    """How many of the latest answers must be refusals: that the host goes on refusing."""
    SIZE = 2 * FEW
    """How many answers a probe takes."""
    MORE = 0.25
    """How much larger the share of refusals of a probe is if the host needs the pace."""
    PASSED = 2
    """How many probes in a row show that it does not."""

    def __init__(self) -> None:
        self.phase = -1
        """The phase of the throttle whose requests are the probe that goes on; -1 if none does."""
        self._asked = self._refused = 0
        """Answers and refusals of the latest probe."""
        self.begin()

    def begin(self) -> None:
        """Starts anew: nothing was probed."""
        self._after = 0.0
        """How many seconds the pace may cost until the next probe."""
        self._start_counting()

    def _start_counting(self) -> None:
        self.passed = 0
        """How many of the latest probes in a row were refused no more than the pace."""
        self._after += self.AFTER
        self._cost = 0.0
        self._slow: deque[bool] = deque(maxlen=self.LATEST)
        """Which of the latest answers at the pace were refusals."""

    def cost(self, seconds: float) -> None:
        """Counts *seconds* that the pace has cost."""
        self._cost += seconds

    def at_the_pace(self, *, refused: bool) -> None:
        """Counts the answer to a slowed down request that does not follow a pause."""
        self._slow.append(refused)

    @property
    def is_due(self) -> bool:
        """Whether the pace has cost enough while the host goes on refusing."""
        return self._cost >= self._after and sum(self._slow) >= self.REFUSED

    def probe(self, phase: int) -> None:
        """Starts a probe, with the requests of *phase*."""
        self.phase = phase
        self._asked = self._refused = 0

    def at_full_speed(self, *, refused: bool) -> bool | None:
        """Counts an answer to the probe.

        Returns whether the host needs the pace; None while there are too few answers to tell.
        """
        self._asked += 1
        self._refused += refused
        at_the_pace = sum(self._slow) / max(len(self._slow), 1)
        needs_pace = self._refused >= (at_the_pace + self.MORE) * self.SIZE
        if not needs_pace and self._asked < self.SIZE:
            return None
        self.phase = -1
        if needs_pace:
            self._start_counting()
        else:
            self.passed += 1
        return needs_pace
