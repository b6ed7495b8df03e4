"""Which crawl fetches a robots.txt that several need at the same time, and with whom it shares.

Crawls that run in one process at the same time fetch each file once for all of them; so do those
that share a Redis server (``workers.py``).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from scrapy import signals
from twisted.internet.defer import Deferred

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.clock import Alarm, Clock
from scrapy_robots_plus.settings.scrapys_own import how_files_are_asked_for, job_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings
    from scrapy_robots_plus.storage.memory import MemoryStore

    from .agents import Agents


_OF_THE_SPIDER = ("user_agent", "http_user", "http_pass", "http_auth_domain")
"""Attributes of a spider that decide the same as those settings of Scrapy."""


def agreement(crawler: Crawler, settings: RobotsSettings, agents: Agents) -> list[Any]:
    """What must be equal in two crawls: then a site gives both the same answer.

    Not what the answer means, such as ``ROBOTS_STATUS_POLICY``: each crawl decides that for itself.
    """
    mine = settings
    return [
        os.getpid(),  # after a fork, nothing that the other process does can be seen
        compat.loop_in_use(),
        agents.fixed,
        (mine.store or job_folder(crawler.settings) or "memory", mine.store_max),
        (mine.fetch_timeout, mine.fetch_retries, mine.fetch_max_bytes, mine.fetch_meta),
        how_files_are_asked_for(crawler.settings),
        [getattr(crawler.spider, name, None) for name in _OF_THE_SPIDER],
    ]


MOST_SECONDS = 60.0
"""Of ``ROBOTS_FETCH_TIMEOUT``: fetches that take longer are rare, and fetched twice rather than
waited for."""

SPARE_SECONDS = 5.0
"""Beside ``ROBOTS_FETCH_TIMEOUT``, for waiting in a slot and for storing what was fetched."""


class Turn:
    """A crawl that needs a file, among others that do. By itself it is alone, and waits for nobody.

    Whoever had to wait looks for the file, and if it is not there, asks again: the other crawl may
    have ended in the middle of its fetch.
    """

    async def begin(self) -> bool:
        """Whether this crawl is to fetch the file now; False if another one is fetching it."""
        return True

    @property
    def is_late(self) -> bool:
        """Once this crawl is to fetch the file: whether another one may have just done so."""
        return False

    async def wait(self) -> None:
        """Waits until the other crawl has ended its fetch, or has not in time."""

    def release(self) -> None:
        """The fetch has ended, and what it has brought is stored; or it never began."""


def longest_fetch(settings: RobotsSettings) -> float:
    """Seconds after which a fetch no longer counts: whoever began it is dead, or stuck.

    ``ROBOTS_FETCH_TIMEOUT`` is for all tries together, with redirects.
    """
    return min(settings.fetch_timeout, MOST_SECONDS) + SPARE_SECONDS


@dataclass(eq=False)
class TurnInGroup(Turn):
    """Of one crawl, for one file: it fetches, or waits for another that does."""

    _group: Group
    _origin: Origin
    _lifetime: float
    _clock: Clock
    overdue_at: float = inf
    """By the monotonic clock: from then on another crawl may fetch the file too."""
    waiters: list[Deferred[None]] = field(default_factory=list)
    """Of other crawls."""

    async def begin(self) -> bool:
        now, other = self._clock.monotonic(), self._group.under_way.get(self._origin)
        if other is not None and now < other.overdue_at:
            return False
        self.overdue_at = now + self._lifetime
        self._group.under_way[self._origin] = self
        return True

    @property
    def is_late(self) -> bool:
        return self._group.was_shared

    async def wait(self) -> None:
        other = self._group.under_way.get(self._origin)
        if other is None:
            return
        waiter: Deferred[None] = Deferred()
        other.waiters.append(waiter)
        seconds = max(other.overdue_at - self._clock.monotonic(), Alarm.LEAST)
        alarm = self._clock.call_later(seconds, lambda: _wake(waiter))
        try:
            await compat.wait_for(waiter)
        finally:
            alarm.cancel()
            if waiter in other.waiters:
                other.waiters.remove(waiter)

    def release(self) -> None:
        if self._group.under_way.get(self._origin) is self:
            del self._group.under_way[self._origin]
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            _wake(waiter)


def _wake(waiter: Deferred[None]) -> None:
    if not waiter.called:  # nor cancelled
        waiter.callback(None)


@dataclass(eq=False)
class Group:
    """Crawls that agree (:func:`agreement`), while they run."""

    agreed: list[Any]
    members: WeakSet[Member] = field(default_factory=WeakSet)
    under_way: dict[Origin, TurnInGroup] = field(default_factory=dict)
    """Who fetches which file."""
    was_shared: bool = False
    """Whether it ever had two members at once."""


_groups: list[Group] = []
"""Those that have members, each a crawl that runs."""


def _forget_the_empty() -> None:
    _groups[:] = [group for group in _groups if group.members]


def _group_of(agreed: list[Any]) -> Group:
    _forget_the_empty()
    for group in _groups:
        if group.agreed == agreed:
            return group
    _groups.append(Group(agreed))
    return _groups[-1]


class Member:
    """A crawl, as the others of its process see it: from ``spider_opened`` to ``spider_closed``."""

    def __init__(
        self,
        crawler: Crawler,
        settings: RobotsSettings,
        clock: Clock,
        agreed: Callable[[], list[Any]],
        memory: MemoryStore,
    ) -> None:
        """*agreed*: what must be equal in other crawls; *memory*: the records of this one."""
        self._lifetime = longest_fetch(settings)
        self._clock = clock
        self._agreed = agreed
        self.memory = memory
        self._group: Group | None = None
        crawler.signals.connect(self._join, signals.spider_opened)
        crawler.signals.connect(self._leave, signals.spider_closed)

    def turn(self, origin: Origin) -> Turn:
        if self._group is None:
            return Turn()
        return TurnInGroup(self._group, origin, self._lifetime, self._clock)

    def _join(self) -> None:
        self._group = _group_of(self._agreed())
        other = next(iter(self._group.members), None)
        if other is not None:
            self._group.was_shared = True
            self.memory.share(other.memory)
        self._group.members.add(self)

    def _leave(self) -> None:
        if self._group is not None:
            self._group.members.discard(self)
            self._group = None
            _forget_the_empty()
