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


@dataclass
class AmongWorkers:
    """For a crawl whose store is on a server."""

    leases: Leases
    calls: compat.Courier | compat.InPlace
    """In order with those that store records, so that a file is stored before its lease is given
    up."""
    failed: Callable[[Exception], None]
    """Is told of each error of the server."""
    longest: float
    """Seconds to wait for one and the same worker."""
    clock: Clock

    def turn(self, origin: Origin) -> TurnAmongWorkers:
        return TurnAmongWorkers(self, origin)


class TurnAmongWorkers(Turn):
    """Of one worker, for one file: it fetches, or waits for another that does.

    If the server fails, it fetches: a file that is fetched twice does no harm.
    """

    def __init__(self, among: AmongWorkers, origin: Origin) -> None:
        self._among = among
        self._leases = among.leases
        self._clock = among.clock
        self._origin = origin
        self._token = uuid4().hex.encode()
        self._holder: bytes | None = None
        self._may_hold = False
        """Whether the server may have given the lease to this worker, answer or not."""
        self._fetches_anyway = False

    async def begin(self) -> bool:
        if self._fetches_anyway:
            return True
        self._may_hold = True
        self._holder = await self._ask(partial(self._leases.take, self._origin, self._token))
        self._may_hold = self._fetches_anyway or self._holder == self._token
        return self._may_hold

    @property
    def is_late(self) -> bool:
        return not self._fetches_anyway  # a server that has just failed is not asked once more

    async def wait(self) -> None:
        give_up_at = self._clock.monotonic() + self._among.longest
        seconds, holder = FIRST_PAUSE, self._holder
        while not self._fetches_anyway and holder is not None and holder == self._holder:
            if self._clock.monotonic() >= give_up_at:
                self._fetches_anyway = True
                return
            await self._clock.sleep(seconds * (0.5 + self._clock.jitter()))
            seconds = min(1.5 * seconds, LONGEST_PAUSE)
            holder = await self._ask(partial(self._leases.holder, self._origin))

    def release(self) -> None:
        if self._may_hold:
            self._may_hold = False
            self._among.calls.tell(self._give_up, lambda _: None)

    async def _ask(self, call: Callable[[], bytes | None]) -> bytes | None:
        try:
            return await self._among.calls.ask(call)
        except compat.CourierClosedError:
            self._fetches_anyway = True
        except (ServerError, compat.CourierError) as error:
            self._among.failed(error)
            self._fetches_anyway = True
        return None

    def _give_up(self) -> None:
        with suppress(ServerError):
            self._leases.release(self._origin, self._token)
