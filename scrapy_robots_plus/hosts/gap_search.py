"""The search, by trial, for the gap that a host needs between two requests."""

from __future__ import annotations

from math import sqrt

FIRST_WAIT = 1.0
LEAST_WAIT = 0.5
LONGEST_GAP = 60.0
LEAST_GAP = 0.01
"""The shortest gap in seconds; a shorter one counts as none."""
_MARGIN = 1.1
"""The factor by which the gap is longer than the one that seems to be allowed."""
_SHRINKS_BLINDLY = 0.8
"""The factor that each answer applies to the gap while no limit is known."""
_APPROACHES = 0.04
"""The part of its distance to the refused gap that each answer takes off the gap."""
_CREEPS = 0.0003
"""The part of the gap that each answer, and each second, takes off near the refused gap."""
_PATIENCE = 80
"""How many answers near the refused gap until each takes off four times as much, and so on."""
_LARGEST_STEP = 0.2


class GapSearch:
    """The gap that a host seems to ask for, and the pause after a refusal, in seconds.

    There are two kinds of limits. One asks for a minimum gap: then a refusal means that the gap was
    just too short. The other allows a number of requests in some time, at once or not: then the
    answers between two refusals show how many. Nobody knows which kind it is, so the gap after a
    refusal is a little more than the geometric mean of both results. From there it shrinks: fast
    until it is near the refused one, then slowly, then faster the longer nothing is refused, as in
    TCP (RFC 9438). Before the second refusal nothing is known, and the gap shrinks with each
    answer.
    """

    def __init__(self, most: float) -> None:
        """Takes *most*, the longest gap and the longest pause in seconds."""
        self._most = most
        self.gap = 0.0
        """Seconds between two requests; 0 for none."""
        self.begin()

    def begin(self) -> None:
        """Starts anew: no limit is known yet."""
        self.wait = FIRST_WAIT
        """The length of the pause in seconds."""
        self._goal: float | None = None
        """The gap to approach fast, and to shrink below slowly; None while no limit is known."""
        self._crept = 0
        self._answered = self._passed = 0.0
        """Answers between refusals, and the seconds that they took; older ones count less."""

    def open(self, gap: float) -> None:
        """Sets the gap to *gap*, a guess, or to the longest."""
        self.gap = min(gap, self._most)

    def too_often(self, answers: int, passed: float) -> None:
        """Lengthens the gap: after *answers* in *passed* seconds, a request was refused."""
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
        """Lengthens the pause: the first request after one of *passed* seconds was refused."""
        self._passed += passed
        self.wait = min(2 * self.wait, self._most)
        if self._goal is None:
            self.gap = min(max(self.wait / 8, FIRST_WAIT / 2), LONGEST_GAP)

    def bounded(self) -> float:
        """Returns the pause that begins now, after limiting it, and the gap, to the longest."""
        self.wait = min(self.wait, self._most)
        self.gap = min(self.gap, self._most)
        return self.wait

    def shrink(self) -> None:
        """Shortens the gap a little: a request was answered."""
        if self._goal is None:
            self.gap *= _SHRINKS_BLINDLY
            return
        # The longer the pause that a refusal costs, the less worthwhile it is to risk one.
        costs = max(self.wait / max(2 * self.gap, FIRST_WAIT), 1.0)
        impatience = (1 + self._crept / _PATIENCE) ** 2 / costs
        step = min(_CREEPS * (impatience + self.gap), _LARGEST_STEP) * self.gap
        approach = (self.gap - self._goal) * _APPROACHES
        if approach <= step:
            self._crept += 1
        self.gap -= max(step, approach)
