"""Scrapy's HTTP cache (``HTTPCACHE_ENABLED``): written for replays, read in replays and outages."""

from __future__ import annotations

import logging
from email.utils import formatdate
from typing import TYPE_CHECKING

from scrapy.http import Response

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.protocol.access import Failure

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware

    from scrapy_robots_plus.storage.record import FetchResult, RobotsRecord

    _T = TypeVar("_T")

logger = crawl_log(__name__)

_OF_THE_TRANSFER = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class HttpCache:
    """The robots.txt files in the project's HTTP cache.

    The storage is used without the cache's policy: ``DummyPolicy`` would answer a crawl of the live
    site from a file of any age, and ``RFC2616Policy`` does not keep everything a replay needs.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._stats = compat.stats_of(crawler)
        self._once = Once()

    @property
    def replays(self) -> bool:
        """Whether the cache alone answers the crawl (``HTTPCACHE_IGNORE_MISSING``)."""
        return self._middleware is not None and self._middleware.ignore_missing

    def look_up(self, request: Request) -> Response | None:
        """The cached response to *request*, whatever its age."""
        cache = self._middleware
        if cache is None:
            return None
        storage, spider = cache.storage, self._crawler.spider
        found: Response | None = self._guarded(
            lambda: storage.retrieve_response(spider, request), None
        )
        if found is None:
            self._stats.inc_value(stats.HTTPCACHE_MISSES)
        else:
            self._stats.inc_value(stats.HTTPCACHE_HITS)
        return found

    def keep(self, request: Request, result: FetchResult | RobotsRecord) -> None:
        """Stores the final response to *request*, after redirects, for a replay.

        Server errors are stored too: a replay does what the crawl did.
        """
        cache = self._middleware
        response = None if cache is None else _response_of(request, result)
        if cache is None or response is None:
            return
        storage, spider = cache.storage, self._crawler.spider
        self._guarded(lambda: storage.store_response(spider, request, response), None)
        self._stats.inc_value(stats.HTTPCACHE_STORED)

    @property
    def _middleware(self) -> HttpCacheMiddleware | None:
        return compat.http_cache(self._crawler)

    def _guarded(self, action: Callable[[], _T], otherwise: _T) -> _T:
        try:
            return action()
        except Exception:  # noqa: BLE001 - any storage may be in use
            self._stats.inc_value(stats.HTTPCACHE_ERRORS)
            logger(self._crawler).log(
                logging.WARNING if self._once.is_first() else logging.DEBUG,
                "The HTTP cache failed on a robots.txt; further errors are counted as %s",
                stats.HTTPCACHE_ERRORS,
                exc_info=True,
            )
            return otherwise


def _response_of(request: Request, result: FetchResult | RobotsRecord) -> Response | None:
    """The response that leads to *result*; None if there was none."""
    if result.outcome is Failure.REDIRECTS:
        return Response(request.url, status=302, headers={"Location": request.url})
    if isinstance(result.outcome, Failure):
        return None
    headers = {"date": formatdate(usegmt=True), **result.headers}
    kept = {name: value for name, value in headers.items() if name not in _OF_THE_TRANSFER}
    encoded = {name: value.encode("latin-1") for name, value in kept.items()}
    return Response(result.url, status=result.outcome, headers=encoded, body=result.body)
