"""The queue class and the duplicate filter for scrapy-redis."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from redis.exceptions import RedisError
from scrapy import Request, Spider, signals
from scrapy_redis.dupefilter import RFPDupeFilter
from scrapy_redis.queue import Base

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl, guarded
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.protocol.printable import printable

from .worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from typing_extensions import Self

logger = crawl_log(__name__)


class RobotsQueue(Base):  # type: ignore[misc] # it has no types
    """The ``SCHEDULER_QUEUE_CLASS`` for scrapy-redis: many workers ask a host as one crawler does.

    The requests of each host wait in a queue of their own. A host is handed out when it is due by
    the clock of the server, so that all workers together keep to Crawl-delay, Request-rate,
    Visit-time, Retry-After and the delays of the project. A request that was handed out is leased:
    if its worker is not heard of for ``ROBOTS_WORKER_LIFETIME`` seconds, another gets it.

    Requests are serialized with ``SCHEDULER_SERIALIZER``. Raises TypeError, like the queues of
    scrapy-redis, if that lacks ``loads`` or ``dumps``.
    """

    READS_EVERY = 1.0
    """Seconds between two attempts to read start URLs."""

    def __init__(self, server: Any, spider: Spider, key: str, serializer: Any = None) -> None:
        """Takes *server*, the connection of scrapy-redis, from which this one is made, and *key*,
        where requests are: those in a queue of scrapy-redis itself at this key are taken over.
        """
        super().__init__(server, spider, key, serializer)
        self.crawler: Crawler = spider.crawler
        self.worker = Worker(self.crawler, server, self.key, self.serializer)
        self._clock = Crawl.of(self.crawler).clock
        self._read_at = 0.0

    @guarded("the shared queue", otherwise=1)
    def __len__(self) -> int:
        """Returns how many requests wait, for any worker."""
        return len(self.worker)

    def push(self, request: Request) -> None:
        """Adds *request*, which is kept in memory while the server is away."""
        self.worker.push(request)

    @guarded("the shared queue")
    def pop(self, timeout: float = 0) -> Request | None:
        """Returns a request that may be sent now; None if there is none, or the server is away.

        Never waits. A worker that has had nothing to do for *timeout* seconds may be closed.
        """
        self.worker.patience = timeout
        request = self.worker.next()
        if request is None and self.worker.there:
            self._read_start_urls()
        return request

    def _read_start_urls(self) -> None:
        """Lets a spider of scrapy-redis read its start URLs soon. By itself, it does so only when
        it is idle, which it is not while any host has requests.
        """
        now = self._clock.monotonic()
        read = getattr(self.spider, "schedule_next_requests", None)
        if now >= self._read_at and callable(read):
            self._read_at = now + self.READS_EVERY
            self._clock.call_later(0, partial(self._read, read))

    def _read(self, read: Callable[[], object]) -> None:
        if compat.is_closing(self.crawler):
            return
        try:
            read()
        except (RedisError, OSError) as error:  # the worker logs that the server is away
            logger(self.crawler).debug("No start URLs can be read now: %r", error)
        except Exception as error:  # noqa: BLE001 - of the spider
            logger(self.crawler).exception(
                "Start URLs read from Redis are lost, the whole batch: %s", printable(repr(error))
            )

    def clear(self) -> None:
        """Removes all requests; at the end of a crawl, only if no other worker is alive."""
        self.worker.clear()


class RobotsDupeFilter(RFPDupeFilter):  # type: ignore[misc] # it has no types
    """The ``DUPEFILTER_CLASS`` of Scrapy to use with :class:`RobotsQueue`.

    A fingerprint is stored together with its request, so that neither is ever without the other.
    Requests are looked up a few milliseconds after they come, many at a time: until then they count
    as new. While the server is away, they are kept in memory; they are looked up when it is back.
    ``SCHEDULER_DUPEFILTER_KEY`` and ``DUPEFILTER_DEBUG`` mean what they mean for scrapy-redis.
    """

    crawler: Crawler
    worker: Worker

    @classmethod
    def from_spider(cls, spider: Spider) -> Self:
        """Creates the filter for scrapy-redis. Raises ValueError without ``RobotsQueue``."""
        dupefilter: Self = super().from_spider(spider)
        dupefilter.crawler = spider.crawler
        dupefilter.worker = worker = Worker.of(spider.crawler)
        worker.pushing.seen_key = dupefilter.key
        worker.pushing.on_seen = dupefilter._was_seen
        return dupefilter

    @guarded("the duplicate filter of the shared queue", otherwise=False)
    def request_seen(self, request: Request) -> bool:
        """Returns whether any worker is known to have seen a request like *request*."""
        return self.worker.pushing.is_seen(request, self.request_fingerprint(request))

    def _was_seen(self, request: Request) -> None:
        """Drops *request* as a duplicate, which scrapy-redis has counted as new."""
        spider = compat.spider_of(self.crawler)
        self.log(request, spider)
        count_for_scrapy_redis = compat.stats_of(self.crawler).inc_value
        count_for_scrapy_redis("scheduler/enqueued/redis", -1)
        self.crawler.signals.send_catch_log(signals.request_dropped, request=request, spider=spider)

    def clear(self) -> None:
        """Removes all fingerprints; at the end of a crawl, only if no other worker is alive."""
        self.worker.clear_seen(self.key)
