"""Stands for the leases of a Redis server, with a clock of the test's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_robots_plus.origins.fetch_lease import Leases
    from scrapy_robots_plus.protocol.origin import Origin


class _LeasesInMemory:
    def __init__(self, seconds: float, now: Callable[[], float]) -> None:
        self.seconds = seconds
        self._now = now
        self._held: dict[Origin, tuple[bytes, float]] = {}
        self.awaited = 0

    def take(self, origin: Origin, token: bytes) -> bytes:
        held = self.holder(origin)
        if held is None:
            self._held[origin] = token, self._now() + self.seconds
        return held or token

    def holder(self, origin: Origin) -> bytes | None:
        token, until = self._held.get(origin, (None, 0.0))
        return token if self._now() < until else None

    def release(self, origin: Origin, token: bytes) -> bool:
        held = self._held.get(origin, (None, 0.0))[0] == token
        if held:
            del self._held[origin]
        return held


def leases_in_memory(seconds: float, now: Callable[[], float]) -> Leases:
    """Leases that last so many *seconds* by the clock *now*."""
    made: Any = _LeasesInMemory(seconds, now)
    return made
