"""The tasks of a worker that has nothing to send while requests wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.clock import Clock


logger = crawl_log(__name__)


class Idle:
    """The tasks of a worker while all requests wait for slow hosts.

    It lets a spider of scrapy-redis read its start URLs. By itself, that does so only when it is
    idle, which it is not while any host has requests. It logs after a minute that the worker has
    nothing to do, and again each time that this has lasted twice as long.
    """

    READS_EVERY = 1.0
    TELLS_AFTER = 60.0
    """Seconds without anything to do until the log says so. ``READS_EVERY`` is in seconds, too."""

    def __init__(self, crawler: Crawler, clock: Clock) -> None:
        self._crawler = crawler
        self._clock = clock
        self._log = logger(crawler)
        self._read_at = 0.0
        self._since = clock.monotonic()
        self._tell_after = self.TELLS_AFTER

    def read(self) -> None:
        """Lets the spider read start URLs. Called when nothing can be sent, but requests wait."""
        now = self._clock.monotonic()
        read = getattr(compat.spider_of(self._crawler), "schedule_next_requests", None)
        if now >= self._read_at and callable(read):
            self._read_at = now + self.READS_EVERY
            self._clock.call_later(0, lambda: self._read(read))

    def _read(self, read: Callable[[], object]) -> None:
        from redis.exceptions import RedisError

        if compat.is_closing(self._crawler):
            return
        try:
            read()
        except (RedisError, OSError) as error:  # the queue logs that the server is away
            self._log.debug("No start URLs can be read now: %r", error)
        except Exception as error:  # noqa: BLE001 - of the spider
            self._log.exception(
                "Start URLs read from Redis are lost, the whole batch: %s",
                printable(repr(error)),
            )

    def tell(self, waiting: int) -> None:
        """Logs if the worker has long had nothing to do. Called several times a second.

        *waiting*: how many requests wait; 0 if the worker has something to do.
        """
        now = self._clock.monotonic()
        if not waiting:
            self._since, self._tell_after = now, self.TELLS_AFTER
        elif now - self._since >= self._tell_after:
            self._tell_after *= 2
            self._log.info(
                "This worker has had nothing to do for %d s: the hosts of all requests that wait "
                "(%d) are not due yet or wait for their robots.txt, or other workers have a "
                "request to them under way",
                now - self._since,
                waiting,
            )
