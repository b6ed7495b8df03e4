"""The choice of the worker that fetches a robots.txt that several need at the same time.

Workers that share a Redis server as their ``ROBOTS_STORE``, on one machine or many, fetch each file
once for all of them. The one that may fetch it has a lease, which expires by itself: a worker that
is killed or stuck keeps the others from fetching no longer than that.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, cast
from uuid import uuid4

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage import StoreError

if TYPE_CHECKING:
    from redis import Redis

    from scrapy_robots_plus.storage.redis_server import Server

SPARE_SECONDS = 5.0
"""Seconds that a lease lasts beyond ``ROBOTS_FETCH_TIMEOUT``, which covers all tries of a fetch:
for waiting in a slot and for storing the file. A worker that takes longer is dead, or stuck."""


class Leases:
    """The leases of files, by origin: keys of a Redis server that expire.

    See https://redis.io/docs/latest/commands/set/, "Patterns". Each lease is held by a *token*,
    which no other holder has. All methods raise
    :class:`~scrapy_robots_plus.storage.redis_server.ServerError` if the server does not do what it
    is asked. A lease that was taken although the answer was lost expires like any other.
    """

    def __init__(self, server: Server, seconds: float) -> None:
        """Takes *seconds*, how long a lease lasts that is not released."""
        self._server = server
        self.seconds = seconds
        """How long a lease lasts, and one and the same crawl is waited for."""
        self._milliseconds = max(1, round(seconds * 1000))
        self.awaited = 0
        """The number of other crawls' leases that this crawl waits for."""

    def take(self, origin: Origin, token: bytes) -> bytes | None:
        """Takes the lease of *origin*, if it is free; returns the token of its holder afterwards.

        Returns None if another holder has just released it.
        """
        key = _key(origin)

        def ask(client: Redis) -> bytes | None:
            pipeline = client.pipeline(transaction=False)
            pipeline.set(key, token, nx=True, px=self._milliseconds)
            pipeline.get(key)
            return cast("bytes | None", pipeline.execute()[1])

        return self._server.run(ask)

    def holder(self, origin: Origin) -> bytes | None:
        """Returns the token of the holder of the lease of *origin*; None if it is free."""
        key = _key(origin)
        return self._server.run(lambda client: cast("bytes | None", client.get(key)))

    def release(self, origin: Origin, token: bytes) -> bool:
        """Releases the lease of *origin* if *token* still holds it; returns whether it did."""
        return self._server.swap(_key(origin), token, b"") is None


def _key(origin: Origin) -> str:
    return f"{{robots:{origin}}}:lease"


FIRST_PAUSE, LONGEST_PAUSE = 0.05, 0.5
"""Seconds between two looks at the lease of another crawl, at first and at most: half as long again
each time, and up to half more or less at random."""

MOST_LOOKS = 200
"""The most looks of a crawl at the leases of others in a second, however many it waits for: the
server takes one question at a time, and its other answers would come too late."""


@dataclass(eq=False, repr=False)
class Turn:
    """The turn of one worker for one file: it fetches, or waits for another that does.

    A worker that had to wait looks for the file in the store, and if it is not there, begins again:
    the other one may have ended in the middle of its fetch. If the server of the leases fails, the
    worker fetches: a file that is fetched twice does no harm.
    """

    origin: Origin
    leases: Leases | None
    """The leases of all workers; None if there are no others, so that this one fetches."""
    calls: compat.Courier
    """The courier that also stores records: a file is stored before its lease is released."""
    failed: Callable[[Exception], None]
    """Called with each error of the server."""
    clock: Clock
    _holder: bytes | None = None
    _may_hold: bool = False
    """Whether this crawl may hold the lease, even if the answer was lost."""
    fetches_anyway: bool = field(init=False)
    """Whether the worker fetches without asking the server, or without asking it again."""

    def __post_init__(self) -> None:
        self._token = uuid4().hex.encode()
        self.fetches_anyway = self.leases is None

    async def begin(self) -> bool:
        """Returns whether this crawl is to fetch the file now; False if another one fetches it."""
        if self.leases is None or self.fetches_anyway:
            return True
        self._may_hold = True
        self._holder = await self._ask(partial(self.leases.take, self.origin, self._token))
        self._may_hold = self.fetches_anyway or self._holder == self._token
        return self._may_hold

    async def wait(self) -> None:
        """Waits until the other crawl has ended its fetch, or its time is up."""
        leases, seconds, holder = self.leases, FIRST_PAUSE, self._holder
        if leases is None:
            return
        give_up_at = self.clock.monotonic() + leases.seconds
        leases.awaited += 1
        try:
            while not self.fetches_anyway and holder is not None and holder == self._holder:
                left = give_up_at - self.clock.monotonic()
                if left <= 0:
                    self.fetches_anyway = True
                    return
                pause = max(seconds, leases.awaited / MOST_LOOKS) * (0.5 + self.clock.jitter())
                await self.clock.sleep(min(pause, left))
                seconds = min(1.5 * seconds, LONGEST_PAUSE)
                holder = await self._ask(partial(leases.holder, self.origin))
        finally:
            leases.awaited -= 1

    def release(self) -> None:
        """Releases the lease: the fetch has ended, and its result is stored, or it never began."""
        if self._may_hold and self.leases is not None:
            self._may_hold = False
            self.calls.tell(partial(self._give_up, self.leases), lambda _: None)

    async def _ask(self, call: Callable[[], bytes | None]) -> bytes | None:
        try:
            return await self.calls.ask(call)
        except compat.CourierClosedError:
            self.fetches_anyway = True
        except (StoreError, compat.CourierLateError) as error:
            self.failed(error)
            self.fetches_anyway = True
        return None

    def _give_up(self, leases: Leases) -> None:
        with suppress(StoreError):
            leases.release(self.origin, self._token)
