"""What settings may be, and how they are handed to pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_robots_plus.protocol.access import StatusTable
    from scrapy_robots_plus.protocol.http_caching import Limits


class TooLong(str, Enum):
    """What happens to a Crawl-delay over the maximum."""

    CLAMP = "clamp"
    """The maximum is kept instead."""
    SKIP = "skip"
    """The host is not crawled."""


class OnVisitTime(str, Enum):
    """How a Visit-time is treated."""

    IGNORE = "ignore"
    OBEY = "obey"
    """The host's requests wait in the queue for its visiting hours."""


class OnWall(str, Enum):
    """What is done about a site that refuses pages which its robots.txt allows."""

    REPORT = "report"
    """It is shown."""
    STOP = "stop"
    """Its requests fail."""


class PageAction(str, Enum):
    """What is done about a directive by which a page speaks of itself."""

    IGNORE = "ignore"
    """Pages are not read for it."""
    OBSERVE = "observe"
    """What the page led to is marked, and goes on."""
    OBEY = "obey"
    """What the page led to is dropped."""


class Politeness(str, Enum):
    """What several settings are together, unless the user has set them."""

    DEFAULT = "default"
    GENTLE = "gentle"
    """A delay for every host."""
    ARCHIVE = "archive"
    """Patience comes before speed."""


class AiPolicy(str, Enum):
    """What happens to pages whose site objects to a use that the crawl is for."""

    OBSERVE = "observe"
    """They are crawled, stamped and counted."""
    SKIP = "skip"
    """They are not requested, or not handed to the spider."""


class ContentUse(str, Enum):
    """How far a crawl uses what it fetches (contentsignals.org): each use includes those before
    it."""

    IMMEDIATE = "immediate"
    """At once; nothing is stored."""
    REFERENCE = "reference"
    """It is indexed, quoted and linked."""
    FULL = "full"
    """It is summarized or reproduced."""


def uses_of(ai_uses: Iterable[str], content_use: str | None) -> tuple[str, ...]:
    """All that a crawl is for, as statements name it: ``train-ai``, ``use=full``."""
    return (*ai_uses, *(() if content_use is None else (f"use={ContentUse(content_use).value}",)))


class Mode(str, Enum):
    """What a crawl does with verdicts."""

    OBEY = "obey"
    """What they deny is not sent."""
    OBSERVE = "observe"
    """They are counted and logged only; nothing is denied or delayed."""


class SitemapScope(str, Enum):
    """Which of the sitemaps that a robots.txt names are requested."""

    HOST = "host"
    """Those on its own host, whatever their scheme and port."""
    SITE = "site"
    """Those on any host with the same registrable domain."""
    ANY = "any"
    """All: naming a sitemap of another host is how a site says that it is its own."""


@dataclass(frozen=True, slots=True)
class Rulebook:
    """The settings for records: how long they last, and what a status means."""

    limits: Limits
    statuses: StatusTable
