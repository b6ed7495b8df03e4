"""Downloader middlewares, the signal of Scrapy's own for robots.txt, and SitemapSpider."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import scrapy.signals
from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware

from .crawler import engine_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.spiders import SitemapSpider


robots_parsed: object | None = getattr(scrapy.signals, "robots_parsed", None)
"""Scrapy's signal for a parsed robots.txt; None before 2.18. Can be imported when 2.17 goes."""


def last_process_request(crawler: Crawler, method: object) -> None:
    """Makes *method* the last ``process_request``, after all middlewares.

    Needed by 2.14 to 2.19: only a middleware of its own could stand there, which a project would
    have to name. Can go when requests can be changed in ``request_reached_downloader``.
    """
    manager = engine_of(crawler).downloader.middleware
    manager.methods["process_request"].append(cast("Any", method))


def http_cache(crawler: Crawler) -> HttpCacheMiddleware | None:
    """Scrapy's HTTP cache, where it is in use; its ``storage`` is the project's.

    Public in 2.14 to 2.19; here because its storage has no protocol of its own.
    """
    return crawler.get_downloader_middleware(HttpCacheMiddleware)


def parse_sitemap(spider: SitemapSpider, response: Response) -> Iterable[Request]:
    """The requests that *spider* makes of a sitemap, an index of sitemaps, or a robots.txt.

    Needed by 2.14 to 2.19, in which the callback has no public name. Can go when it has one.
    """
    return spider._parse_sitemap(response)  # noqa: SLF001
