"""What the ``rel`` of a link says, for link extractors and callbacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.link import Link

_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ,", "abcdefghijklmnopqrstuvwxyz "
_REL = f"concat(' ', normalize-space(translate(@rel, '{_UPPER}', '{_LOWER}')), ' ')"
_SAYS_NO = " or ".join(f"contains({_REL}, ' {rel} ')" for rel in ("nofollow", "ugc", "sponsored"))

FOLLOWED_LINKS = f"//*[(self::a or self::area) and not({_SAYS_NO})]"
"""An XPath of the links of an HTML page whose ``rel`` has none of ``nofollow``, ``ugc`` and
``sponsored``, as Google documents them: for ``restrict_xpaths`` of Scrapy's ``LinkExtractor``, or
for ``response.xpath()``."""


def drop_nofollow(links: Iterable[Link]) -> list[Link]:
    """The links without ``rel="nofollow"``: for ``process_links`` of a ``Rule`` of Scrapy's
    ``CrawlSpider``. Scrapy's links know no other value of ``rel``.
    """
    return [link for link in links if not link.nofollow]
