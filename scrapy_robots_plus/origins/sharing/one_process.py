"""Crawls that run in one process at the same time fetch each robots.txt once for all of them."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from scrapy import signals
from twisted.internet.defer import Deferred

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.clock import Alarm

from .shared_fetches import TurnAlone, longest_fetch

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.clock import Clock
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings
    from scrapy_robots_plus.storage.memory import MemoryStore


class TurnInGroup:
    """Of one crawl, for one file: it fetches, or waits for another that does."""

    def __init__(self, group: Group, origin: Origin, lifetime: float, clock: Clock) -> None:
        self._group = group
        self._origin = origin
        self._lifetime = lifetime
        self._clock = clock
        self.overdue_at = inf
        """By the monotonic clock: from then on another crawl may fetch the file too."""
        self.waiters: list[Deferred[None]] = []
        """Of other crawls."""

    async def begin(self) -> bool:
        now = self._clock.monotonic()
        if self._other is not None and now < self._other.overdue_at:
            return False
        self.overdue_at = now + self._lifetime
        self._group.under_way[self._origin] = self
        return True

    @property
    def is_late(self) -> bool:
        return self._group.was_shared

    async def wait(self) -> None:
        other = self._other
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

    @property
    def _other(self) -> TurnInGroup | None:
        return self._group.under_way.get(self._origin)


def _wake(waiter: Deferred[None]) -> None:
    if not waiter.called:  # nor cancelled
        waiter.callback(None)


class Group:
    """Crawls that agree (:func:`~.choice.agreement`), while they run."""

    def __init__(self, agreed: list[Any]) -> None:
        self.agreed = agreed
        self.members: WeakSet[Member] = WeakSet()
        self.under_way: dict[Origin, TurnInGroup] = {}
        """Who fetches which file."""
        self.was_shared = False
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

    def turn(self, origin: Origin) -> TurnInGroup | TurnAlone:
        if self._group is None:
            return TurnAlone()
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
