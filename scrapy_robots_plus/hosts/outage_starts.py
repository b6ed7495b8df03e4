"""Since when robots.txt files cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from scrapy_robots_plus.protocol.origin import Origin


class OutageStarts:
    """When each outage began, in bounded memory: those that requests wait for, and some others.

    If there are too many, origins without requests are forgotten. If such an origin comes back,
    its time starts again.
    """

    LEAST = 1_000
    """With fewer outages than this, nothing is forgotten."""

    def __init__(self, waiting: Callable[[], Collection[Origin]]) -> None:
        """*waiting* returns the origins that have requests."""
        self._waiting = waiting
        self._since: dict[Origin, float] = {}
        self._asleep: set[Origin] = set()
        """Those whose requests are in the file of a job alone."""
        self._full = self.LEAST

    def __len__(self) -> int:
        return len(self._since)

    def since(self, origin: Origin, now: float) -> float:
        """When the outage of *origin* began; *now* if it is new."""
        if origin not in self._since and len(self._since) >= self._full:
            self._forget()
        return self._since.setdefault(origin, now)

    def over(self, origin: Origin) -> None:
        if self._since:
            self._since.pop(origin, None)

    def sleeps(self, origin: Origin) -> None:
        """The requests of *origin* are in the file of a job alone from now on."""
        if origin in self._since:
            self._asleep.add(origin)

    def has_lanes(self, origin: Origin | None) -> None:
        """The requests of *origin* are waiting again."""
        if self._asleep and origin is not None:
            self._asleep.discard(origin)

    def _forget(self) -> None:
        waiting = self._waiting()
        self._since = {
            origin: at
            for origin, at in self._since.items()
            if origin in waiting or origin in self._asleep
        }
        self._full = max(self.LEAST, 2 * len(self._since))
