"""What a worker does that has nothing to send while requests wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.protocol.printable import counted, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.clock import Clock, Now

    from .host_queue import State

logger = crawl_log(__name__)


class Feeding:
    """Lets a spider of scrapy-redis read its start URLs while requests wait for slow hosts.

    By itself it reads them only when it is idle, which it is not while any host has requests.
    """

    SECONDS = 1.0
    """Between two attempts."""

    def __init__(self, crawler: Crawler, clock: Clock) -> None:
        self._crawler = crawler
        self._clock = clock
        self._at = 0.0

    def look(self, *, is_idle: bool) -> None:
        """Called when nothing can be sent. *is_idle*: the spider reads them by itself."""
        now = self._clock.monotonic()
        if is_idle or now < self._at:
            return
        self._at = now + self.SECONDS
        spider: Any = compat.spider_of(self._crawler)
        read = getattr(spider, "schedule_next_requests", None)
        if callable(read):
            self._clock.call_later(0, lambda: self._read(read))

    def _read(self, read: Callable[[], object]) -> None:
        from redis.exceptions import RedisError

        if compat.is_closing(self._crawler):
            return
        try:
            read()
        except (RedisError, OSError) as error:  # the queue tells of a server that is away
            logger(self._crawler).debug("No start URLs can be read now: %r", error)
        except Exception as error:  # noqa: BLE001 - of the spider
            logger(self._crawler).exception(
                "Start URLs from Redis are lost, with those that were read at the same time: %s",
                printable(repr(error)),
            )


class Standstill:
    """Says after a minute why a worker has nothing to do while requests wait, and again each time
    that took twice as long.
    """

    SECONDS = 60.0

    def __init__(self, crawler: Crawler, now: Now) -> None:
        self._log = logger(crawler)
        self._now = now
        self._since = now()
        self._say_after = self.SECONDS

    def look(self, waiting: int, parked: int, state: Callable[[], State | None]) -> None:
        """Called several times a second. *waiting*: how many requests wait, 0 for a worker that has
        something to do. *parked*: how many of them do so here, for a robots.txt.
        """
        if not waiting:
            self._since, self._say_after = self._now(), self.SECONDS
            return
        passed = self._now() - self._since
        if passed >= self._say_after:
            self._say_after *= 2
            self._log.info(
                "This worker has had nothing to do for %d s, while %s: %s",
                passed,
                f"{counted(waiting, 'request')} wait" if waiting != 1 else "1 request waits",
                _why(state(), parked),
            )


def _why(state: State | None, parked: int) -> str:
    if state is None:
        return "the Redis server cannot be used"
    if parked:
        return f"{counted(parked, 'request')} here for a robots.txt that is being fetched"
    if state.wait:
        return f"the first host may be asked in {state.wait:,.0f} s"
    if state.wait is None:
        held = counted(state.held, "host")
        return f"{held} to which other workers have a request under way that has not left yet"
    return "a host may be asked now, and this worker is to get a request to it soon"
