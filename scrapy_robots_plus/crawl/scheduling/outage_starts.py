"""Since when robots.txt files cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from scrapy_robots_plus.policy.origin import Origin


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

    def _forget(self) -> None:
        waiting = self._waiting()
        self._since = {origin: at for origin, at in self._since.items() if origin in waiting}
        self._full = max(self.LEAST, 2 * len(self._since))
