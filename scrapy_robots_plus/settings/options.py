"""Options for requests that could wait."""

from __future__ import annotations

from enum import Enum


class OnVisitTime(str, Enum):
    """How a Visit-time is treated."""

    IGNORE = "ignore"
    OBEY = "obey"
    """The host's requests wait in the queue for its visiting hours."""


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
