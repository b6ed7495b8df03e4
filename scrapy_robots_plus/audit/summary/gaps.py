"""Gaps between the requests to a host, against the delay that was asked for."""

from __future__ import annotations

from math import inf

TOLERANCE = 0.01
"""Seconds by which a gap may be shorter than the delay, and not count as too short: what computers
need to send a request once it is due."""


class Gaps:
    """The gaps between requests to a host while it had one delay, from start to start."""

    __slots__ = ("count", "delay", "shortest", "too_short")

    def __init__(self, delay: float) -> None:
        self.delay = delay
        """That each request had to keep, in seconds."""
        self.count = self.too_short = 0
        """How many gaps there are; those shorter than the delay by more than TOLERANCE."""
        self.shortest = inf
        """In seconds."""

    def add(self, seconds: float) -> None:
        """Counts a gap."""
        self.count += 1
        self.too_short += seconds < self.delay - TOLERANCE
        self.shortest = min(self.shortest, seconds)
