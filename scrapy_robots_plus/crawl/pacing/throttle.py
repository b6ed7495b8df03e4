"""How often a host may be asked, found out from its refusals."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Throttle:
    """A pause after each refusal, and a gap between requests that grows and shrinks.

    Limits are of two kinds. One asks for a minimum gap: then a refusal says that the gap was just
    too short. The other allows a number of requests in some time, at once or not: then the gap of
    the last requests says little, and what was answered between two refusals says how many are
    allowed. Nobody knows which kind it is, so the gap after a refusal is the geometric mean of
    both, and a little more. From there it shrinks: fast until it is near to the one that was
    refused, then slowly, then faster the longer nothing is refused, as TCP does (RFC 9438).

    Before the second refusal nothing is known, and the gap shrinks with each answer.

    Requests that were under way together are refused together: only a request that was sent after
    the last pause can start another. So each request belongs to a phase, which the next refusal
    ends.

    Some refusals have nothing to do with the pace: a page that is always refused, a server of many
    that is out of order. If they come as often at half the pace, it does not get slower still.

    Times are seconds by one clock.
    """

    FIRST_WAIT = 1.0
    LEAST_WAIT = 0.5
    JITTER = 0.1
    """The largest part of a wait that is added to it at random."""
    LONGEST_GAP = 60.0
    LEAST_GAP = 0.01
    """A gap below this is none."""
    MARGIN = 1.1
    """How much longer the gap is than the one that seems to be allowed."""
    SHRINKS_BLINDLY = 0.8
    """The gap as a part of the one before, while no limit is known."""
    APPROACHES = 0.02
    """The part of the way to the refused gap that each answer takes off."""
    CREEPS = 0.0003
    """The part of the gap that each answer takes off near the refused one, and for each second."""
    PATIENCE = 100
    """After this many such answers they take off four times as much, and so on."""
    LARGEST_STEP = 0.2
    STEADY = 10
    """After this many answers, a refusal may be one that has nothing to do with the pace."""
    PROBATION = 4
    """How many times the longest wait must pass without a refusal until all is forgotten."""

    def __init__(self, longest_wait: float, jitter: Callable[[], float]) -> None:
        """*jitter* returns a number from 0 to 1."""
        self._most = longest_wait
        self._jitter = jitter
        self.phase = 0
        self.gap = 0.0
        """Between two requests; 0 for none."""
        self.until = 0.0
        """When the pause ends."""
        self._forget()

    def _forget(self) -> None:
        self._refused_at: float | None = None
        """When the last phase ended; None if the host is as free as any other."""
        self._answers = 0
        """Those since then."""
        self._goal: float | None = None
        """The gap that it shrinks to, and then slowly below; None while no limit is known."""
        self._crept = 0
        self._wait = self._longest_wait = 0.0
        self._steady: tuple[float, int] | None = None
        """The shortest gap at which the pace itself seemed to be allowed, and the answers then."""
        self._slowest = self.LONGEST_GAP
        """A longer gap makes no difference, as far as is known."""
        self._answered = self._passed = 0.0
        """Answers, and the time that they took, between refusals; older ones count less."""
        self.gap = 0.0

    @property
    def is_on(self) -> bool:
        """Whether the host has refused requests lately."""
        return self._refused_at is not None

    def refused(self, sent_in: int | None, now: float) -> bool:
        """A request was refused: the host is left alone for a while, and then asked less often.

        *sent_in*: the phase it was sent in; None if that is not known. Returns whether that is
        news: it is not, if the request was sent before the last refusal.
        """
        if self._refused_at is None:
            self._wait = self.FIRST_WAIT
            self.gap = self._wait / 2
        elif sent_in != self.phase:
            return False
        elif self._answers:
            self._too_often(now - self._refused_at)
        else:
            self._too_early(now - self._refused_at)
        self._pause(now)
        return True

    def answered(self, sent_in: int | None, now: float) -> None:
        """A request was not refused: the host may be asked a little more often."""
        if self._refused_at is None or sent_in != self.phase:
            return
        self._answers += 1
        self._shrink()
        if self.gap < self.LEAST_GAP:
            self.gap = 0.0
            if now - self._refused_at > self.PROBATION * self._longest_wait:
                self._forget()

    def _too_often(self, passed: float) -> None:
        """Requests were answered, then one was refused: the limit is somewhere near."""
        self._answered += self._answers
        self._passed += passed
        gap = max(self.gap, self.LEAST_GAP)
        average = max(self._passed / self._answered, gap)
        self._goal = gap * self.MARGIN if self._goal else gap / self.SHRINKS_BLINDLY
        self._compare(gap, average)
        self.gap = min(sqrt(gap * average) * self.MARGIN, self._slowest)
        self._wait = max(2 * self.gap, self._wait / 2, self.LEAST_WAIT)
        self._crept = 0
        self._answered /= 2
        self._passed /= 2

    def _compare(self, gap: float, average: float) -> None:
        """Notes whether longer gaps make refusals rarer."""
        if self._answers < self.STEADY:
            self._slowest = min(1.5 * self._slowest, self.LONGEST_GAP)
        elif average < 1.3 * gap:
            steady, answers = self._steady or (gap, self._answers)
            if gap <= steady:
                self._steady = (gap, self._answers)
            elif gap >= 2 * steady and self._answers <= 1.5 * answers:
                self._slowest = 2 * steady

    def _too_early(self, passed: float) -> None:
        """The first request after a pause was refused: the pause was too short."""
        self._passed += passed
        self._wait *= 2
        if self._goal is None:
            self.gap = min(self._wait / 2, self.LONGEST_GAP)

    def _pause(self, now: float) -> None:
        self._wait = min(self._wait, self._most)
        self.gap = min(self.gap, self._most)
        self._longest_wait = max(self._wait, self._longest_wait / 2)
        self.until = now + min(self._wait * (1 + self.JITTER * self._jitter()), self._most)
        self._refused_at = now
        self._answers = 0
        self.phase += 1

    def _shrink(self) -> None:
        if self._goal is None:
            self.gap *= self.SHRINKS_BLINDLY
            return
        impatience = (1 + self._crept / self.PATIENCE) ** 2
        step = min(self.CREEPS * (impatience + self.gap), self.LARGEST_STEP) * self.gap
        approach = (self.gap - self._goal) * self.APPROACHES
        if approach <= step:
            self._crept += 1
        self.gap -= max(step, approach)
