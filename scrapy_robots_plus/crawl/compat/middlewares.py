"""Downloader middlewares, and the signal of Scrapy's own for robots.txt."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import scrapy.signals
from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware

from .crawler import engine_of

if TYPE_CHECKING:
    from typing import Any

    from scrapy.crawler import Crawler


robots_parsed: object | None = getattr(scrapy.signals, "robots_parsed", None)
"""Scrapy's signal for a parsed robots.txt, 2.18 and later."""


def last_process_request(crawler: Crawler, method: object) -> None:
    """Makes *method* the last ``process_request``, after all middlewares (2.14 to 2.19)."""
    manager = engine_of(crawler).downloader.middleware
    manager.methods["process_request"].append(cast("Any", method))


def http_cache(crawler: Crawler) -> HttpCacheMiddleware | None:
    """Scrapy's HTTP cache, where it is in use; its ``storage`` is the project's."""
    return crawler.get_downloader_middleware(HttpCacheMiddleware)
