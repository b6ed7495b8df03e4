"""Whether a host refuses less if it is asked less often."""

from __future__ import annotations

from collections import deque
from itertools import islice
from math import lgamma

FEW = 8
_REMEMBERED = 32
"""How many answers at full speed are remembered."""
_CERTAIN = 4.6
"""The logarithm of 100: so many times likelier it must be that slowness helps."""
_PROMISING = 0.3
"""A share of refusals that is so much below the other may be lower, or luck."""


class RefusalShares:
    """The share of refusals among the latest answers at full speed, and at the pace of a host that
    is slowed down.

    Many refusals have nothing to do with the pace: broken pages, a server of many that is out of
    order. So the two shares are compared, by a Bayes factor that one may look at after each answer.
    """

    def __init__(self) -> None:
        self._fast = deque([False] * FEW, _REMEMBERED)
        """Which ones refused. Before the first refusal, some were answered."""
        self.begin()

    def begin(self) -> None:
        """Nothing is known of the pace."""
        self._answered = self._refused = 0.0
        """At the pace; halved each time it helped."""

    def forget(self, *, all_but: int = 0) -> None:
        """Forgets the answers at full speed, except so many of the latest."""
        self._fast = deque(list(self._fast)[-all_but:] if all_but else (), _REMEMBERED)

    def at_full_speed(self, *, refused: bool) -> None:
        """A request that was not slowed down was answered."""
        self._fast.append(refused)

    def at_the_pace(self, *, refused: bool) -> bool:
        """One that was slowed down was answered. Returns whether it is certain that this helps."""
        self._refused += refused
        self._answered += not refused
        if not self.is_rarer:
            return False
        self._answered /= 2
        self._refused /= 2
        return True

    @property
    def remembered(self) -> int:
        """Answers at full speed."""
        return len(self._fast)

    @property
    def refused_lately(self) -> int:
        """Of the latest :data:`FEW` at full speed."""
        return sum(list(self._fast)[-FEW:])

    def all_refused(self, latest: int) -> bool:
        """Whether that is so of so many at full speed."""
        return all(islice(reversed(self._fast), latest))

    @property
    def slow_answers(self) -> float:
        """Those at the pace."""
        return self._answered + self._refused

    @property
    def fast(self) -> float:
        """The share of refusals at full speed."""
        return sum(self._fast) / max(len(self._fast), 1)

    @property
    def seems_rarer(self) -> bool:
        """Whether refusals may be rarer at the pace."""
        return self._refused / max(self.slow_answers, 1) <= self.fast - _PROMISING

    @property
    def is_rarer(self) -> bool:
        """Whether it is certain that they are."""
        fast = sum(self._fast)
        also = len(self._fast) - fast
        is_less = self._refused * also < fast * self._answered
        return is_less and (
            _likelier_different(self._refused, self._answered, fast, also) >= _CERTAIN
        )


def _likelier_different(
    refused: float, answered: float, refused_2: float, answered_2: float
) -> float:
    """The logarithm of how much likelier two shares are if they differ than if they are the same.

    The Bayes factor for uniform shares. Under the same share it exceeds *x* with a probability
    below *1/x*, however often one looks.
    """

    def beta(a: float, b: float) -> float:
        return lgamma(a + 1) + lgamma(b + 1) - lgamma(a + b + 2)

    return (
        beta(refused, answered)
        + beta(refused_2, answered_2)
        - beta(refused + refused_2, answered + answered_2)
    )
