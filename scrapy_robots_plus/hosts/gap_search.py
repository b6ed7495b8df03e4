"""How long the gap between two requests to a host must be, found by trying."""

from __future__ import annotations

from math import sqrt

FIRST_WAIT = 1.0
LEAST_WAIT = 0.5
LONGEST_GAP = 60.0
LEAST_GAP = 0.01
"""A gap below this is none."""
_MARGIN = 1.1
"""How much longer the gap is than the one that seems to be allowed."""
_SHRINKS_BLINDLY = 0.8
"""The gap as a part of the one before, while no limit is known."""
_APPROACHES = 0.04
"""The part of the way to the refused gap that each answer takes off."""
_CREEPS = 0.0003
"""The part of the gap that each answer takes off near the refused one, and for each second."""
_PATIENCE = 80
"""After this many such answers they take off four times as much, and so on."""
_LARGEST_STEP = 0.2


class GapSearch:
    """The gap that a host seems to ask for, and the pause after a refusal, in seconds.

    Limits are of two kinds. One asks for a minimum gap: then a refusal says that the gap was just
    too short. The other allows a number of requests in some time, at once or not: then what was
    answered between two refusals says how many are allowed. Nobody knows which kind it is, so the
    gap after a refusal is the geometric mean of both, and a little more. From there it shrinks:
    fast until it is near to the one that was refused, then slowly, then faster the longer nothing
    is refused, as TCP does (RFC 9438). Before the second refusal nothing is known, and the gap
    shrinks with each answer.
    """

    def __init__(self, most: float) -> None:
        """*most*: the longest gap, and pause."""
        self._most = most
        self.gap = 0.0
        """Between two requests; 0 for none."""
        self.begin(0.0)

    def begin(self, wait: float) -> None:
        """Nothing is known yet."""
        self.wait = wait
        """The length of the pause."""
        self._goal: float | None = None
        """The gap that it shrinks to, and then slowly below; None while no limit is known."""
        self._crept = 0
        self._answered = self._passed = 0.0
        """Answers, and the time that they took, between refusals; older ones count less."""

    def open(self, gap: float) -> None:
        """Begins with this *gap*, a guess."""
        self.gap = min(gap, self._most)

    def too_often(self, answers: int, passed: float) -> None:
        """One was refused after so many *answers* in *passed* seconds: the limit is somewhere
        near.
        """
        self._answered += answers
        self._passed += passed
        gap = max(self.gap, LEAST_GAP)
        average = max(self._passed / self._answered, gap)
        self._goal = gap * _MARGIN if self._goal else gap / _SHRINKS_BLINDLY
        self.gap = min(sqrt(gap * average) * _MARGIN, LONGEST_GAP)
        self.wait = max(2 * self.gap, self.wait / 2, LEAST_WAIT)
        self._crept = 0
        self._answered /= 2
        self._passed /= 2

    def too_early(self, passed: float) -> None:
        """The first request after a pause of *passed* seconds was refused: that was too short."""
        self._passed += passed
        self.wait = min(2 * self.wait, self._most)
        if self._goal is None:
            self.gap = min(max(self.wait / 8, FIRST_WAIT / 2), LONGEST_GAP)

    def bounded(self) -> float:
        """The pause that begins now, and the gap after it, are no longer than the longest."""
        self.wait = min(self.wait, self._most)
        self.gap = min(self.gap, self._most)
        return self.wait

    def shrink(self) -> None:
        """A request was answered."""
        if self._goal is None:
            self.gap *= _SHRINKS_BLINDLY
            return
        # The longer it stays shut after a refusal, the less one more is worth.
        costs = max(self.wait / max(2 * self.gap, FIRST_WAIT), 1.0)
        impatience = (1 + self._crept / _PATIENCE) ** 2 / costs
        step = min(_CREEPS * (impatience + self.gap), _LARGEST_STEP) * self.gap
        approach = (self.gap - self._goal) * _APPROACHES
        if approach <= step:
            self._crept += 1
        self.gap -= max(step, approach)
