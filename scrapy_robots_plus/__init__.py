"""Makes a Scrapy crawler obey robots.txt for real.

The public names are loaded when they are first used, so that importing
:mod:`scrapy_robots_plus.protocol` imports neither Scrapy nor Twisted.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:
    from .addon import Addon
    from .crawl.exceptions import (
        RobotsDisallowed,
        RobotsDuplicate,
        RobotsGivenUp,
        RobotsIgnored,
        RobotsNoindex,
        RobotsOverrideError,
        RobotsUnreachable,
        RobotsUseDisallowed,
        RobotsWalled,
    )
    from .crawl.signals import (
        request_disallowed,
        request_not_followed,
        robots_changed,
        sitemaps_found,
    )
    from .extension import RobotsExtension
    from .hosts.downloader import RobotsDownloader
    from .hosts.queue import RobotsPriorityQueue
    from .origins.changes import RobotsChange
    from .origins.our_parser import RobotsParser
    from .origins.policy import Policy
    from .pages.items import RobotsItemMiddleware
    from .pages.link_rel import FOLLOWED_LINKS, drop_nofollow
    from .pages.middleware import RobotsPagesMiddleware
    from .pages.sitemap_spider import RobotsSitemapSpider
    from .protocol.access import Access
    from .protocol.dialect import Dialect
    from .protocol.origin import Origin
    from .protocol.verdict import Reason, Verdict
    from .requests.middleware import RobotsMiddleware
    from .settings.robots_settings import RobotsSettingsError
    from .storage.base import StoreError

_HOMES = {
    "Access": "protocol.access",
    "Addon": "addon",
    "FOLLOWED_LINKS": "pages.link_rel",
    "Dialect": "protocol.dialect",
    "Origin": "protocol.origin",
    "Policy": "origins.policy",
    "Reason": "protocol.verdict",
    "RobotsChange": "origins.changes",
    "RobotsDisallowed": "crawl.exceptions",
    "RobotsDuplicate": "crawl.exceptions",
    "RobotsDownloader": "hosts.downloader",
    "RobotsExtension": "extension",
    "RobotsGivenUp": "crawl.exceptions",
    "RobotsIgnored": "crawl.exceptions",
    "RobotsItemMiddleware": "pages.items",
    "RobotsMiddleware": "requests.middleware",
    "RobotsNoindex": "crawl.exceptions",
    "RobotsOverrideError": "crawl.exceptions",
    "RobotsPagesMiddleware": "pages.middleware",
    "RobotsParser": "origins.our_parser",
    "RobotsPriorityQueue": "hosts.queue",
    "RobotsSettingsError": "settings.robots_settings",
    "RobotsSitemapSpider": "pages.sitemap_spider",
    "RobotsUnreachable": "crawl.exceptions",
    "RobotsUseDisallowed": "crawl.exceptions",
    "RobotsWalled": "crawl.exceptions",
    "StoreError": "storage.base",
    "Verdict": "protocol.verdict",
    "drop_nofollow": "pages.link_rel",
    "request_disallowed": "crawl.signals",
    "request_not_followed": "crawl.signals",
    "robots_changed": "crawl.signals",
    "sitemaps_found": "crawl.signals",
}

__all__ = [
    "FOLLOWED_LINKS",
    "Access",
    "Addon",
    "Dialect",
    "Origin",
    "Policy",
    "Reason",
    "RobotsChange",
    "RobotsDisallowed",
    "RobotsDownloader",
    "RobotsDuplicate",
    "RobotsExtension",
    "RobotsGivenUp",
    "RobotsIgnored",
    "RobotsItemMiddleware",
    "RobotsMiddleware",
    "RobotsNoindex",
    "RobotsOverrideError",
    "RobotsPagesMiddleware",
    "RobotsParser",
    "RobotsPriorityQueue",
    "RobotsSettingsError",
    "RobotsSitemapSpider",
    "RobotsUnreachable",
    "RobotsUseDisallowed",
    "RobotsWalled",
    "StoreError",
    "Verdict",
    "__version__",
    "drop_nofollow",
    "request_disallowed",
    "request_not_followed",
    "robots_changed",
    "sitemaps_found",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
