"""Gaps between the requests to a host, against the delay that was asked for; in bounded memory."""

from __future__ import annotations

from array import array
from math import inf
from random import Random
from statistics import median

BINS_PER_DELAY = 20
BINS = 2 * BINS_PER_DELAY
"""Of a histogram: it reaches up to twice the delay; one more bin is for all longer gaps. Those from
BINS_PER_DELAY on hold the gaps that are long enough."""
TOLERANCE = 0.01
"""Seconds by which a gap may be shorter than the delay, and not count as too short: what computers
need to send a request once it is due."""
_SAMPLE = 500
_RANDOM = Random(0)  # noqa: S311 - for a sample


class Gaps:
    """The gaps between requests to a host while it had one delay, from start to start."""

    __slots__ = ("_sample", "count", "delay", "histogram", "longest", "shortest")

    def __init__(self, delay: float) -> None:
        self.delay = delay
        """That each request had to keep, in seconds."""
        self.count = 0
        """How many gaps there are."""
        self.shortest = inf
        """In seconds."""
        self.longest = 0.0
        """In seconds."""
        self.histogram = array("Q", [0] * (BINS + 1))
        """How many gaps there are in each bin."""
        self._sample = array("d")

    def add(self, seconds: float) -> None:
        """Counts a gap."""
        self.count += 1
        self.shortest = min(self.shortest, seconds)
        self.longest = max(self.longest, seconds)
        self.histogram[self._bin_of(seconds)] += 1
        self._keep(seconds)

    def _bin_of(self, seconds: float) -> int:
        place = int(min(seconds / self.delay * BINS_PER_DELAY, BINS))
        if seconds < self.delay - TOLERANCE:
            return min(place, BINS_PER_DELAY - 1)
        return max(place, BINS_PER_DELAY)

    def _keep(self, seconds: float) -> None:
        """In a sample in which each gap is as likely to be as any other."""
        if len(self._sample) < _SAMPLE:
            self._sample.append(seconds)
        elif (place := _RANDOM.randrange(self.count)) < _SAMPLE:
            self._sample[place] = seconds

    @property
    def too_short(self) -> int:
        """How many are shorter than the delay, by more than :data:`TOLERANCE`."""
        return sum(self.histogram[:BINS_PER_DELAY])

    @property
    def median(self) -> float:
        """In seconds; of a sample, if there are more than 500."""
        return median(self._sample)

    @property
    def is_sampled(self) -> bool:
        """Whether the median is that of a sample."""
        return self.count > _SAMPLE
