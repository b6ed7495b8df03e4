"""The queue class and the duplicate filter for scrapy-redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy_redis.dupefilter import RFPDupeFilter
from scrapy_redis.queue import Base

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import guarded

from .worker import Worker

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self


class RobotsQueue(Base):  # type: ignore[misc] # it has no types
    """The ``SCHEDULER_QUEUE_CLASS`` for scrapy-redis: many workers ask a host as one crawler does.

    The requests of each host wait in a queue of their own. A host is handed out when it is due by
    the clock of the server, so that all workers together keep to Crawl-delay, Request-rate,
    Visit-time, Retry-After and the delays of the project. A request that was handed out is leased:
    if its worker is not heard of for ``ROBOTS_WORKER_LIFETIME`` seconds, another gets it.

    Requests are serialized with ``SCHEDULER_SERIALIZER``. Raises TypeError, like the queues of
    scrapy-redis, if that lacks ``loads`` or ``dumps``.
    """

    def __init__(self, server: Any, spider: Spider, key: str, serializer: Any = None) -> None:
        """Takes *server*, the connection of scrapy-redis, from which this one is made, and *key*,
        where requests are: those in a queue of scrapy-redis itself at this key are taken over.
        """
        super().__init__(server, spider, key, serializer)
        self.crawler: Crawler = spider.crawler
        self.worker = Worker(self.crawler, server, self.key, self.serializer)

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
        return self.worker.next()

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
