"""The sitemaps of a crawl: read from policies, counted once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.http import Response, TextResponse

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.origins.fetching.results import CACHED
from scrapy_robots_plus.origins.parsers.failing import guarded
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.printable import printable

from .news import News
from .sitemap_urls import SitemapUrls, sitemap_urls

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings

logger = crawl_log(__name__)

_NOT_FOUND = 404


class Sitemaps:
    """Reads the Sitemap lines of policies, whichever parser is in use."""

    MOST = 5_000
    """Sitemap lines of a robots.txt that are read; the others are counted."""

    def __init__(self, crawler: Crawler, settings: RobotsSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._stats = compat.stats_of(crawler)
        self._counted: News[Origin] = News(settings.cache_size)
        self._once = Once()

    @classmethod
    def of_crawl(cls, crawl: Crawl) -> Self:
        return cls(crawl.crawler, crawl.settings)

    async def urls(self, policy: Policy, lines: tuple[str, ...]) -> SitemapUrls:
        """What *lines*, those of *policy*, name; counted unless it is known."""
        settings = self._settings
        base, origin = policy.record.url, policy.origin
        urls = await sitemap_urls(lines, base, origin, settings.sitemaps_scope, self.MOST)
        if lines and self._counted.is_new(origin, lines):
            self._count(urls, policy)
        return urls

    def lines(self, policy: Policy) -> tuple[str, ...]:
        """The Sitemap lines as they are; none if the parser fails."""
        return guarded(lambda: policy.sitemaps, lambda _: (), policy.record.url, self._stats)

    async def response(self, request: Request, policy: Policy) -> Response | None:
        """The answer to *request*, for the Sitemap lines of a robots.txt, from its *policy*; marked
        as cached, so that the HTTP cache does not keep it.

        None if the crawl does not ask for the file, so that *request* has to.
        """
        if policy.file is None and not policy.settings.needs_file:
            return None
        if policy.file is None or policy.access is not Access.RULES:
            status = policy.record.outcome
            status = status if isinstance(status, int) else _NOT_FOUND
            return Response(request.url, status, flags=[CACHED])
        urls = await self.urls(policy, self.lines(policy))
        if not urls.in_scope:
            logger(self._crawler).info(
                "%s names no sitemap that may be requested",
                printable(policy.record.url),
            )
        body = "".join(f"Sitemap: {url}\n" for url in urls.in_scope)
        return TextResponse(request.url, body=body, encoding="utf-8", flags=[CACHED])

    def _count(self, urls: SitemapUrls, policy: Policy) -> None:
        self._stats.inc_value(stats.SITEMAPS_FOUND, len(urls.all))
        if urls.relative:
            self._stats.inc_value(stats.SITEMAPS_RELATIVE, urls.relative)
        for reason, count in urls.left_out.items():
            self._stats.inc_value(stats.filled(stats.SITEMAPS_LEFT_OUT, reason), count)
        if urls.left_out:
            self._report(urls, policy)

    def _report(self, urls: SitemapUrls, policy: Policy) -> None:
        is_first = self._once.is_first()
        logger(self._crawler).log(
            logging.INFO if is_first else logging.DEBUG,
            "Sitemap lines of %s that are not requested: %s.%s",
            printable(policy.record.url),
            ", ".join(f"{count:,} {reason}" for reason, count in urls.left_out.items()),
            " Others are counted, and logged at DEBUG." if is_first else "",
        )
