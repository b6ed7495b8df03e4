"""Which crawl fetches a robots.txt that several need at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings

MOST_SECONDS = 60.0
"""Of ``ROBOTS_FETCH_TIMEOUT``: fetches that take longer are rare, and fetched twice rather than
waited for."""

SPARE_SECONDS = 5.0
"""Beside ``ROBOTS_FETCH_TIMEOUT``, for waiting in a slot and for storing what was fetched."""


class Turn(Protocol):
    """A crawl that needs a file, among others that do.

    Whoever had to wait looks for the file, and if it is not there, asks again: the other crawl may
    have ended in the middle of its fetch.
    """

    async def begin(self) -> bool:
        """Whether this crawl is to fetch the file now; False if another one is fetching it."""

    @property
    def is_late(self) -> bool:
        """Once this crawl is to fetch the file: whether another one may have just done so."""

    async def wait(self) -> None:
        """Waits until the other crawl has ended its fetch, or has not in time."""

    def release(self) -> None:
        """The fetch has ended, and what it has brought is stored; or it never began."""


class SharedFetches(Protocol):
    """What a crawl asks before it fetches a file."""

    def turn(self, origin: Origin) -> Turn:
        """Takes its place among those who need the file of *origin*."""


def longest_fetch(settings: RobotsSettings) -> float:
    """Seconds after which a fetch no longer counts: whoever began it is dead, or stuck.

    ``ROBOTS_FETCH_TIMEOUT`` is for all tries together, with redirects.
    """
    return min(settings.fetch_timeout, MOST_SECONDS) + SPARE_SECONDS


class TurnAlone:
    """Of a crawl that nobody waits for."""

    is_late = False

    async def begin(self) -> bool:
        return True

    async def wait(self) -> None:
        pass

    def release(self) -> None:
        pass


class Alone:
    """For a crawl that shares its fetches with no other."""

    _TURN = TurnAlone()

    def turn(self, origin: Origin) -> Turn:  # noqa: ARG002
        return self._TURN
