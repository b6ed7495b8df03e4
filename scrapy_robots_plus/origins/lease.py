"""Which crawl fetches a robots.txt that several need at the same time, and with whom it shares.

Crawls that run in one process at the same time fetch each file once for all of them; so do those
that share a Redis server, on one machine or many. Who may fetch has a lease, which expires by
itself: a crawl that is killed or stuck keeps nobody from fetching for longer than that.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4
from weakref import WeakSet

from scrapy import signals

from scrapy_robots_plus import compat
from scrapy_robots_plus.settings.scrapys_own import how_files_are_asked_for, job_folder
from scrapy_robots_plus.storage import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis import Redis
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.clock import Clock
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings
    from scrapy_robots_plus.storage.base import MemoryStore
    from scrapy_robots_plus.storage.redis_server import Server

    from .agents import Agents
    from .crawl_store import CrawlStore


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


def longest_fetch(settings: RobotsSettings) -> float:
    """Seconds after which a fetch no longer counts: whoever began it is dead, or stuck.

    ``ROBOTS_FETCH_TIMEOUT`` is for all tries together, with redirects.
    """
    return min(settings.fetch_timeout, MOST_SECONDS) + SPARE_SECONDS


class Leases:
    """The leases of files, by origin, in memory. Each is held by a *token*, which no other holder
    has.
    """

    is_shared = False
    """Whether another crawl may hold one of them."""

    def __init__(self, seconds: float, now: Callable[[], float]) -> None:
        """*seconds*: how long a lease lasts that is not released, by the clock *now*."""
        self._seconds = seconds
        self._now = now
        self._held: dict[Origin, tuple[bytes, float]] = {}
        """Tokens, and until when they hold."""

    def take(self, origin: Origin, token: bytes) -> bytes | None:
        """Takes the lease of *origin*, if it is free. The token of its holder afterwards, or None
        if it was just released by another.
        """
        held = self.holder(origin)
        if held is None:
            self._held[origin] = token, self._now() + self._seconds
        return held or token

    def holder(self, origin: Origin) -> bytes | None:
        """The token of whoever holds the lease of *origin*; None if it is free."""
        token, until = self._held.get(origin, (None, 0.0))
        return token if self._now() < until else None

    def release(self, origin: Origin, token: bytes) -> bool:
        """Gives up the lease of *origin*, if *token* still holds it; whether it did."""
        held = self._held.get(origin, (None, 0.0))[0] == token
        if held:
            del self._held[origin]
        return held


class LeasesOnServer(Leases):
    """The same on a Redis server: keys that expire
    (https://redis.io/docs/latest/commands/set/, "Patterns").

    All methods raise :class:`~scrapy_robots_plus.redis.ServerError` if the server does not do what
    it is asked. A lease that was taken although the answer was lost expires like any other.
    """

    is_shared = True

    def __init__(self, server: Server, seconds: float) -> None:
        self._server = server
        self._milliseconds = max(1, round(seconds * 1000))

    def take(self, origin: Origin, token: bytes) -> bytes | None:
        key = _key(origin)

        def ask(client: Redis) -> bytes | None:
            pipeline = client.pipeline(transaction=False)
            pipeline.set(key, token, nx=True, px=self._milliseconds)
            pipeline.get(key)
            return cast("bytes | None", pipeline.execute()[1])

        return self._server.run(ask)

    def holder(self, origin: Origin) -> bytes | None:
        key = _key(origin)
        return self._server.run(lambda client: cast("bytes | None", client.get(key)))

    def release(self, origin: Origin, token: bytes) -> bool:
        return self._server.swap(_key(origin), token, b"") is None


def _key(origin: Origin) -> str:
    return f"{{robots:{origin}}}:lease"


FIRST_PAUSE, LONGEST_PAUSE = 0.05, 0.5
"""Seconds between two looks at the lease of another crawl: half as many more each time, and half
more or less at random."""


@dataclass(eq=False)
class Turn:
    """Of one crawl, for one file: it fetches, or waits for another that does.

    Whoever had to wait looks for the file, and if it is not there, asks again: the other crawl may
    have ended in the middle of its fetch. If the server of the leases fails, it fetches: a file
    that is fetched twice does no harm.
    """

    origin: Origin
    leases: Leases
    calls: compat.Courier | compat.InPlace
    """In order with those that store records, so that a file is stored before its lease is given
    up."""
    failed: Callable[[Exception], None]
    """Is told of each error of the server."""
    longest: float
    """Seconds to wait for one and the same crawl."""
    clock: Clock
    _holder: bytes | None = None
    _may_hold: bool = False
    """Whether this crawl may have been given the lease, answer or not."""
    _fetches_anyway: bool = False

    def __post_init__(self) -> None:
        self._token = uuid4().hex.encode()

    async def begin(self) -> bool:
        """Whether this crawl is to fetch the file now; False if another one is fetching it."""
        if self._fetches_anyway:
            return True
        self._may_hold = True
        self._holder = await self._ask(partial(self.leases.take, self.origin, self._token))
        self._may_hold = self._fetches_anyway or self._holder == self._token
        return self._may_hold

    @property
    def is_late(self) -> bool:
        """Once this crawl is to fetch the file: whether another one may have just done so."""
        # A server that has just failed is not asked once more.
        return self.leases.is_shared and not self._fetches_anyway

    async def wait(self) -> None:
        """Waits until the other crawl has ended its fetch, or has not in time."""
        give_up_at = self.clock.monotonic() + self.longest
        seconds, holder = FIRST_PAUSE, self._holder
        while not self._fetches_anyway and holder is not None and holder == self._holder:
            if self.clock.monotonic() >= give_up_at:
                self._fetches_anyway = True
                return
            await self.clock.sleep(seconds * (0.5 + self.clock.jitter()))
            seconds = min(1.5 * seconds, LONGEST_PAUSE)
            holder = await self._ask(partial(self.leases.holder, self.origin))

    def release(self) -> None:
        """The fetch has ended, and what it has brought is stored; or it never began."""
        if self._may_hold:
            self._may_hold = False
            self.calls.tell(self._give_up, lambda _: None)

    async def _ask(self, call: Callable[[], bytes | None]) -> bytes | None:
        try:
            return await self.calls.ask(call)
        except compat.CourierClosedError:
            self._fetches_anyway = True
        except (StoreError, compat.CourierError) as error:
            self.failed(error)
            self._fetches_anyway = True
        return None

    def _give_up(self) -> None:
        with suppress(StoreError):
            self.leases.release(self.origin, self._token)


_running: WeakSet[Member] = WeakSet()
"""The crawls of this process."""


class Member:
    """A crawl, among those that it shares fetches with: of one server; or of its process, from
    ``spider_opened`` to ``spider_closed``.

    With Scrapy's HTTP cache it shares nothing: for a replay, all that a crawl goes by must be in
    its own cache.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: RobotsSettings,
        agents: Agents,
        store: CrawlStore,
        clock: Clock,
    ) -> None:
        self._crawler, self._settings, self._agents = crawler, settings, agents
        self._seconds = longest_fetch(settings)
        self._clock = clock
        self._failed = store.failed
        self.memory: MemoryStore = store.memory
        """The records of this crawl."""
        self.agreed: list[Any] = []
        """See :func:`agreement`; empty before it runs."""
        self.leases = Leases(self._seconds, clock.monotonic)
        self._calls: compat.Courier | compat.InPlace = compat.InPlace()
        if crawler.settings.getbool("HTTPCACHE_ENABLED"):
            return
        if store.server is not None:
            self.leases, self._calls = LeasesOnServer(store.server, self._seconds), store.calls
            return
        crawler.signals.connect(self._join, signals.spider_opened)
        crawler.signals.connect(self._leave, signals.spider_closed)

    def turn(self, origin: Origin) -> Turn:
        """Its place among those who need the file of *origin*."""
        failed = self._failed
        return Turn(origin, self.leases, self._calls, failed, self._seconds, self._clock)

    def _join(self) -> None:
        self.agreed = agreement(self._crawler, self._settings, self._agents)
        for other in _running:
            if other.agreed == self.agreed:
                self.leases = other.leases
                self.leases.is_shared = True
                self.memory.share(other.memory)
                break
        _running.add(self)

    def _leave(self) -> None:
        _running.discard(self)
