"""The duplicate filter for scrapy-redis."""

from __future__ import annotations

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy_redis.dupefilter import RFPDupeFilter

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl, guarded

from .queue import RobotsQueue


class RobotsDupeFilter(RFPDupeFilter):  # type: ignore[misc] # it has no types
    """The ``DUPEFILTER_CLASS`` of Scrapy to use with :class:`RobotsQueue`.

    A fingerprint is stored together with its request, so that neither is ever without the other.
    Requests are looked up a few milliseconds after they come, many at a time: until then they count
    as new. While the server is away, they are kept in memory; they are looked up when it is back.
    ``SCHEDULER_DUPEFILTER_KEY`` and ``DUPEFILTER_DEBUG`` mean what they mean for scrapy-redis.
    """

    crawler: Crawler
    queue: RobotsQueue

    @classmethod
    def from_spider(cls, spider: Spider) -> RobotsDupeFilter:
        """Creates the filter for scrapy-redis. Raises ValueError without ``RobotsQueue``."""
        queue = Crawl.of(spider.crawler).queue
        if not isinstance(queue, RobotsQueue):
            raise ValueError("RobotsDupeFilter needs RobotsQueue in SCHEDULER_QUEUE_CLASS")
        dupefilter: RobotsDupeFilter = super().from_spider(spider)
        dupefilter.crawler, dupefilter.queue = spider.crawler, queue
        queue.pushing.seen_key = dupefilter.key
        queue.pushing.on_seen = dupefilter._was_seen
        return dupefilter

    @guarded("the duplicate filter of the shared queue", otherwise=False)
    def request_seen(self, request: Request) -> bool:
        """Returns whether any worker is known to have seen a request like *request*."""
        return self.queue.pushing.is_seen(request, self.request_fingerprint(request))

    def _was_seen(self, request: Request) -> None:
        """Drops *request* as a duplicate, which scrapy-redis has counted as new."""
        spider = compat.spider_of(self.crawler)
        self.log(request, spider)
        count_for_scrapy_redis = self.crawler.stats.inc_value
        count_for_scrapy_redis("scheduler/enqueued/redis", -1)
        self.crawler.signals.send_catch_log(signals.request_dropped, request=request, spider=spider)

    def clear(self) -> None:
        """Removes all fingerprints; at the end of a crawl, only if no other worker is alive."""
        self.queue.clear_seen(self.key)
