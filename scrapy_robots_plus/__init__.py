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
    )
    from .crawl.gate.downloader import RobotsDownloader
    from .crawl.gate.middleware import RobotsMiddleware
    from .crawl.hints.sitemap_spider import RobotsSitemapSpider
    from .crawl.pages.link_rel import FOLLOWED_LINKS, drop_nofollow
    from .crawl.pages.middleware import RobotsPagesMiddleware
    from .crawl.parsers.our_parser import RobotsParser
    from .crawl.policies.changes import RobotsChange
    from .crawl.policies.policy import Policy
    from .crawl.preferences.items import RobotsItemMiddleware
    from .crawl.reporting.extension import RobotsExtension
    from .crawl.settings.errors import RobotsSettingsError
    from .crawl.signals import (
        request_disallowed,
        request_not_followed,
        robots_changed,
        sitemaps_found,
    )
    from .hosts.queue import RobotsPriorityQueue
    from .policy.access import Access
    from .policy.origin import Origin
    from .protocol.dialect import Dialect
    from .protocol.verdict import Reason, Verdict
    from .storage.base import StoreError

_HOMES = {
    "Access": "policy.access",
    "Addon": "addon",
    "FOLLOWED_LINKS": "crawl.pages.link_rel",
    "Dialect": "protocol.dialect",
    "Origin": "policy.origin",
    "Policy": "crawl.policies.policy",
    "Reason": "protocol.verdict",
    "RobotsChange": "crawl.policies.changes",
    "RobotsDisallowed": "crawl.exceptions",
    "RobotsDuplicate": "crawl.exceptions",
    "RobotsDownloader": "crawl.gate.downloader",
    "RobotsExtension": "crawl.reporting.extension",
    "RobotsGivenUp": "crawl.exceptions",
    "RobotsIgnored": "crawl.exceptions",
    "RobotsItemMiddleware": "crawl.preferences.items",
    "RobotsMiddleware": "crawl.gate.middleware",
    "RobotsNoindex": "crawl.exceptions",
    "RobotsOverrideError": "crawl.exceptions",
    "RobotsPagesMiddleware": "crawl.pages.middleware",
    "RobotsParser": "crawl.parsers.our_parser",
    "RobotsPriorityQueue": "hosts.queue",
    "RobotsSettingsError": "crawl.settings.errors",
    "RobotsSitemapSpider": "crawl.hints.sitemap_spider",
    "RobotsUnreachable": "crawl.exceptions",
    "RobotsUseDisallowed": "crawl.exceptions",
    "StoreError": "storage.base",
    "Verdict": "protocol.verdict",
    "drop_nofollow": "crawl.pages.link_rel",
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
