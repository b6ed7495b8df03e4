"""Whether a host refuses less if it is asked less often."""

from __future__ import annotations

from collections import deque
from itertools import islice
from math import lgamma

FEW = 8
_REMEMBERED = 32
"""How many answers at full speed are remembered."""
_CERTAIN = 4.6
"""The logarithm of 100: that slowness helps must be 100 times likelier than that it does not."""
_PROMISING = 0.3
"""How far a share of refusals must be below the other to seem lower, though that may be luck."""


class RefusalShares:
    """The shares of refusals among the latest answers at full speed, and at the pace of a host that
    is slowed down.

    Many refusals have nothing to do with the pace: broken pages, one of many servers that is out of
    order. So the two shares are compared by a Bayes factor, which may be read after each answer.
    """

    def __init__(self) -> None:
        self.at_full_speed = deque([False] * FEW, _REMEMBERED)
        """Which of the latest answers at full speed were refusals. At first, some that were not are
        assumed."""
        self.begin()

    def begin(self) -> None:
        """Forgets the answers at the pace."""
        self._refused = 0.0
        """The number of refusals at the pace; halved each time it helped."""
        self.slow_answers = 0.0
        """The number of answers at the pace, refusals included; halved each time it helped."""

    def forget(self, *, all_but: int = 0) -> None:
        """Forgets the answers at full speed, except the latest *all_but*."""
        while len(self.at_full_speed) > all_but:
            self.at_full_speed.popleft()

    def at_the_pace(self, *, refused: bool) -> bool:
        """Counts the answer to a slowed down request. Returns whether slowness certainly helps."""
        self._refused += refused
        self.slow_answers += 1
        if not self.is_rarer:
            return False
        self.slow_answers /= 2
        self._refused /= 2
        return True

    def refused_of(self, latest: int) -> int:
        """Returns how many of the *latest* answers at full speed were refusals."""
        return sum(islice(reversed(self.at_full_speed), latest))

    @property
    def fast(self) -> float:
        """The share of refusals at full speed."""
        return sum(self.at_full_speed) / max(len(self.at_full_speed), 1)

    @property
    def seems_rarer(self) -> bool:
        """Whether refusals may be rarer at the pace."""
        return self._refused / max(self.slow_answers, 1) <= self.fast - _PROMISING

    @property
    def is_rarer(self) -> bool:
        """Whether it is certain that refusals are rarer at the pace."""
        fast, slow = sum(self.at_full_speed), self._refused
        also_fast, also_slow = len(self.at_full_speed) - fast, self.slow_answers - slow
        if slow * also_fast >= fast * also_slow:
            return False
        # The logarithm of how much likelier the counts are if the shares differ than if not: the
        # Bayes factor for uniform shares. If they are the same, it exceeds *x* with a probability
        # below *1/x*, however often one looks.
        if_different = _log_beta(slow, also_slow) + _log_beta(fast, also_fast)
        factor = if_different - _log_beta(slow + fast, also_slow + also_fast)
        return factor >= _CERTAIN


def _log_beta(refused: float, answered: float) -> float:
    """Returns the logarithm of how likely these answers are, if all shares are equally likely."""
    return lgamma(refused + 1) + lgamma(answered + 1) - lgamma(refused + answered + 2)
