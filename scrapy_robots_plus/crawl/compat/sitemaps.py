"""Scrapy's SitemapSpider."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request
    from scrapy.http import Response
    from scrapy.spiders import SitemapSpider


def parse_sitemap(spider: SitemapSpider, response: Response) -> Iterable[Request]:
    """The requests that *spider* makes of a sitemap, an index of sitemaps, or a robots.txt.

    Needed by 2.14 to 2.19, in which the callback has no public name. Can go when it has one.
    """
    return spider._parse_sitemap(response)  # noqa: SLF001
