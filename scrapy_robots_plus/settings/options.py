"""What settings may be, and how they are handed to pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_robots_plus.protocol.access import StatusTable
    from scrapy_robots_plus.protocol.http_caching import Limits


Mode = Literal["obey", "observe"]
"""What a crawl does with verdicts: what they deny is not sent, or they are counted and logged only
and nothing is denied or delayed."""

Politeness = Literal["default", "gentle", "archive"]
"""What several settings are together, unless the user has set them: ``gentle`` has a delay for
every host, ``archive`` puts patience before speed."""

TooLong = Literal["clamp", "skip"]
"""What happens to a Crawl-delay over the maximum: that is kept instead, or the host is not
crawled."""

OnVisitTime = Literal["ignore", "obey"]
"""How a Visit-time is treated. With ``obey`` the host's requests wait in the queue for its
hours."""

OnWall = Literal["report", "stop"]
"""What is done about a site that refuses pages which its robots.txt allows: it is shown, or its
requests fail."""

AiPolicy = Literal["observe", "skip"]
"""What happens to pages whose site objects to a use that the crawl is for: they are crawled,
stamped and counted, or they are not requested, or not handed to the spider."""

ContentUse = Literal["immediate", "reference", "full"]
"""How far a crawl uses what it fetches (contentsignals.org), each use including those before it:
nothing is stored; it is indexed, quoted and linked; it is summarized or reproduced."""

PageAction = Literal["ignore", "observe", "obey"]
"""What is done about a directive by which a page speaks of itself: pages are not read for it, or
what the page led to is marked and goes on, or it is dropped."""

SitemapScope = Literal["host", "site", "any"]
"""Which of the sitemaps that a robots.txt names are requested: those on its own host, whatever
their scheme and port, on any host with the same registrable domain, or all: naming a sitemap of
another host is how a site says that it is its own."""


def uses_of(ai_uses: Iterable[str], content_use: str | None) -> tuple[str, ...]:
    """All that a crawl is for, as statements name it: ``train-ai``, ``use=full``."""
    return (*ai_uses, *(() if content_use is None else (f"use={content_use}",)))


@dataclass(frozen=True, slots=True)
class Rulebook:
    """The settings for records: how long they last, and what a status means."""

    limits: Limits
    statuses: StatusTable
