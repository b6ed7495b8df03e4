"""For spiders: a SitemapSpider that asks for no robots.txt twice, and links by their ``rel``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.spiders import SitemapSpider

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.requests import SITEMAPS_META_KEY
from scrapy_robots_plus.protocol.sent_forms import asks_for_robots_txt

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from scrapy.http import Response


class RobotsSitemapSpider(SitemapSpider):
    """A :class:`~scrapy.spiders.SitemapSpider` that finds sitemaps in the robots.txt that the crawl
    reads anyway, where ``sitemap_urls`` has one. Without the add-on it is just Scrapy's.

    A mixin too: name it before a class of your own that is a ``SitemapSpider``.
    """

    async def start(self) -> AsyncIterator[Any]:
        """Scrapy's own start requests; those for a robots.txt are answered from what is known."""
        async for each in super().start():
            if isinstance(each, Request) and asks_for_robots_txt(each.url):
                each.meta.setdefault(SITEMAPS_META_KEY, True)
            yield each

    def parse_sitemap(self, response: Response) -> Iterable[Request]:
        """The requests that follow from a sitemap, an index of sitemaps or a robots.txt: the
        callback of ``ROBOTS_SITEMAPS``.

        It goes by ``sitemap_rules``, ``sitemap_follow`` and ``sitemap_filter()``, as Scrapy's does.
        """
        return compat.parse_sitemap(self, response)


_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ,", "abcdefghijklmnopqrstuvwxyz "
_REL = f"concat(' ', normalize-space(translate(@rel, '{_UPPER}', '{_LOWER}')), ' ')"
_SAYS_NO = " or ".join(f"contains({_REL}, ' {rel} ')" for rel in ("nofollow", "ugc", "sponsored"))

FOLLOWED_LINKS = f"//*[(self::a or self::area) and not({_SAYS_NO})]"
"""An XPath of the links of an HTML page whose ``rel`` has none of ``nofollow``, ``ugc`` and
``sponsored``, as Google documents them: for ``restrict_xpaths`` of Scrapy's ``LinkExtractor``, or
for ``response.xpath()``."""
