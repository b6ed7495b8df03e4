"""For spiders: a SitemapSpider that requests no robots.txt twice, and an XPath of links."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

from scrapy import Request
from scrapy.http import Response
from scrapy.spiders import SitemapSpider

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.requests import SITEMAPS_META_KEY
from scrapy_robots_plus.protocol.sent_forms import asks_for_robots_txt


class RobotsSitemapSpider(SitemapSpider):
    """A :class:`~scrapy.spiders.SitemapSpider` that does not request a robots.txt a second time.

    Where ``sitemap_urls`` has a robots.txt, its sitemaps come from the copy that the crawl reads
    anyway. Without the add-on, the spider is just Scrapy's. As a mixin, name it before a class of
    your own that is a ``SitemapSpider``.
    """

    async def start(self) -> AsyncIterator[Any]:
        """Yields Scrapy's start requests; those for a robots.txt are answered by what is known."""
        async for each in super().start():
            if isinstance(each, Request) and asks_for_robots_txt(each.url):
                each.meta.setdefault(SITEMAPS_META_KEY, True)
            yield each

    def parse_sitemap(self, response: Response) -> Iterable[Request]:
        """Yields the requests that follow from a sitemap, an index of sitemaps or a robots.txt.

        This is the callback of ``ROBOTS_SITEMAPS``. Like Scrapy's, it applies ``sitemap_rules``,
        ``sitemap_follow`` and ``sitemap_filter()``. Further sitemaps get the priority of this one.
        """
        parse = compat.sitemap_callback(self)
        for request in parse(response):
            if request.callback == parse and response.request is not None:
                request.priority = response.request.priority
            yield request


_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ,", "abcdefghijklmnopqrstuvwxyz "
_REL = f"concat(' ', normalize-space(translate(@rel, '{_UPPER}', '{_LOWER}')), ' ')"
_SAYS_NO = " or ".join(f"contains({_REL}, ' {rel} ')" for rel in ("nofollow", "ugc", "sponsored"))

FOLLOWED_LINKS = (
    f"//*[(self::a or self::area) and not(descendant::a or descendant::area) and not({_SAYS_NO})]"
)
"""An XPath for links whose ``rel`` has no ``nofollow``, ``ugc`` or ``sponsored``, which Google
documents: for ``restrict_xpaths`` of Scrapy's ``LinkExtractor``, or for ``response.xpath()``. A
link around others, which HTML does not allow, is left out: they would come with it, whatever their
``rel`` says."""
