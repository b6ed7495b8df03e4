"""Crawls that share a Redis server, on one machine or many, fetch each robots.txt once for all."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from scrapy_robots_plus import compat
from scrapy_robots_plus.storage.redis_server import ServerError

from .sharing import Turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_robots_plus.crawl.clock import Clock
    from scrapy_robots_plus.origins.lease import Leases
    from scrapy_robots_plus.protocol.origin import Origin

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 0.5
"""Seconds between two looks at the lease of another worker: half as many more each time, and half
more or less at random."""


@dataclass(eq=False)
class TurnAmongWorkers(Turn):
    """Of one worker, for one file: it fetches, or waits for another that does.

    If the server fails, it fetches: a file that is fetched twice does no harm.
    """

    leases: Leases
    calls: compat.Courier | compat.InPlace
    """In order with those that store records, so that a file is stored before its lease is given
    up."""
    failed: Callable[[Exception], None]
    """Is told of each error of the server."""
    longest: float
    """Seconds to wait for one and the same worker."""
    clock: Clock
    origin: Origin
    _holder: bytes | None = None
    _may_hold: bool = False
    """Whether the server may have given the lease to this worker, answer or not."""
    _fetches_anyway: bool = False

    def __post_init__(self) -> None:
        self._token = uuid4().hex.encode()

    async def begin(self) -> bool:
        if self._fetches_anyway:
            return True
        self._may_hold = True
        self._holder = await self._ask(partial(self.leases.take, self.origin, self._token))
        self._may_hold = self._fetches_anyway or self._holder == self._token
        return self._may_hold

    @property
    def is_late(self) -> bool:
        return not self._fetches_anyway  # a server that has just failed is not asked once more

    async def wait(self) -> None:
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
        if self._may_hold:
            self._may_hold = False
            self.calls.tell(self._give_up, lambda _: None)

    async def _ask(self, call: Callable[[], bytes | None]) -> bytes | None:
        try:
            return await self.calls.ask(call)
        except compat.CourierClosedError:
            self._fetches_anyway = True
        except (ServerError, compat.CourierError) as error:
            self.failed(error)
            self._fetches_anyway = True
        return None

    def _give_up(self) -> None:
        with suppress(ServerError):
            self.leases.release(self.origin, self._token)
