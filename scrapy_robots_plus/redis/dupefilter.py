"""The duplicate filter of scrapy-redis, for workers whose server may be away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request, Spider, signals
from scrapy_redis.dupefilter import RFPDupeFilter

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import guarded

from .worker import Worker

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self


class RobotsDupeFilter(RFPDupeFilter):  # type: ignore[misc] # it has no types
    """Scrapy's ``DUPEFILTER_CLASS``, beside :class:`RobotsQueue`: a fingerprint is noted together
    with its request, so that neither is ever without the other.

    All requests of a moment are looked up together, a few milliseconds after they came: until then
    they count as new. If the server is away, they are kept in memory, and looked up when it is
    back. ``SCHEDULER_DUPEFILTER_KEY`` and ``DUPEFILTER_DEBUG`` mean what they mean for
    scrapy-redis; with another queue it is that of scrapy-redis.
    """

    _worker: Worker | None = None

    @classmethod
    def from_spider(cls, spider: Spider) -> Self:
        """Called by scrapy-redis."""
        dupefilter: Self = super().from_spider(spider)
        dupefilter.use(Worker.of(spider.crawler))
        return dupefilter

    def use(self, worker: Worker | None) -> None:
        """Shares the connection of *worker*."""
        self._worker = worker
        if worker is not None:
            worker.use_seen(self.key)
            worker.pushing.on_seen = self._was_seen

    def request_seen(self, request: Request) -> bool:
        """Whether a request like *request* has been seen by any worker."""
        if self._worker is None:
            return bool(super().request_seen(request))
        return self._is_seen(request)

    @property
    def crawler(self) -> Crawler | None:
        """That of the worker."""
        return None if self._worker is None else self._worker.crawler

    @guarded("the duplicate filter of the shared queue", otherwise=False)
    def _is_seen(self, request: Request) -> bool:
        if self._worker is None:
            return False
        return not self._worker.push_new(request, self.request_fingerprint(request))

    def _was_seen(self, request: Request) -> None:
        """*request*, which scrapy-redis has counted as new, is not."""
        if self._worker is None:
            return
        crawler = self._worker.crawler
        self.log(request, crawler.spider)
        count_for_scrapy_redis = compat.stats_of(crawler).inc_value
        count_for_scrapy_redis("scheduler/enqueued/redis", -1)
        crawler.signals.send_catch_log(
            signals.request_dropped, request=request, spider=crawler.spider
        )

    def clear(self) -> None:
        """Forgets what was seen. At the end of a crawl, only if no other worker is alive."""
        if self._worker is None:
            super().clear()
        else:
            self._worker.clear_seen(self.key)
