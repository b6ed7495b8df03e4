"""Start URLs for a spider whose queue holds nothing but requests that must wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.clock import Clock

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
