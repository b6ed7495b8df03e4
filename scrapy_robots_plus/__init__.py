"""Makes a Scrapy crawler obey robots.txt for real.

The public names are loaded when they are first used, so that importing
:mod:`scrapy_robots_plus.protocol` imports neither Scrapy nor Twisted.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:
    from .addon import Addon as Addon
    from .crawl.exceptions import RobotsDisallowed as RobotsDisallowed
    from .crawl.exceptions import RobotsDuplicate as RobotsDuplicate
    from .crawl.exceptions import RobotsGivenUp as RobotsGivenUp
    from .crawl.exceptions import RobotsIgnored as RobotsIgnored
    from .crawl.exceptions import RobotsNoindex as RobotsNoindex
    from .crawl.exceptions import RobotsOverrideError as RobotsOverrideError
    from .crawl.exceptions import RobotsUnreachable as RobotsUnreachable
    from .crawl.exceptions import RobotsUseDisallowed as RobotsUseDisallowed
    from .crawl.exceptions import RobotsWalled as RobotsWalled
    from .crawl.signals import request_disallowed as request_disallowed
    from .crawl.signals import request_not_followed as request_not_followed
    from .crawl.signals import robots_changed as robots_changed
    from .crawl.signals import sitemaps_found as sitemaps_found
    from .extension import RobotsExtension as RobotsExtension
    from .hosts.downloader import RobotsDownloader as RobotsDownloader
    from .hosts.queue import RobotsPriorityQueue as RobotsPriorityQueue
    from .origins.changes import RobotsChange as RobotsChange
    from .origins.our_parser import RobotsParser as RobotsParser
    from .origins.policy import Policy as Policy
    from .pages.items import RobotsItemMiddleware as RobotsItemMiddleware
    from .pages.middleware import RobotsPagesMiddleware as RobotsPagesMiddleware
    from .pages.spiders import FOLLOWED_LINKS as FOLLOWED_LINKS
    from .pages.spiders import RobotsSitemapSpider as RobotsSitemapSpider
    from .pages.spiders import drop_nofollow as drop_nofollow
    from .protocol.access import Access as Access
    from .protocol.dialect import Dialect as Dialect
    from .protocol.origin import Origin as Origin
    from .protocol.verdict import Reason as Reason
    from .protocol.verdict import Verdict as Verdict
    from .requests.middleware import RobotsMiddleware as RobotsMiddleware
    from .settings.robots_settings import RobotsSettingsError as RobotsSettingsError
    from .storage.base import StoreError as StoreError

_HOMES = {
    "Access": "protocol.access",
    "Addon": "addon",
    "FOLLOWED_LINKS": "pages.spiders",
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
    "RobotsSitemapSpider": "pages.spiders",
    "RobotsUnreachable": "crawl.exceptions",
    "RobotsUseDisallowed": "crawl.exceptions",
    "RobotsWalled": "crawl.exceptions",
    "StoreError": "storage.base",
    "Verdict": "protocol.verdict",
    "drop_nofollow": "pages.spiders",
    "request_disallowed": "crawl.signals",
    "request_not_followed": "crawl.signals",
    "robots_changed": "crawl.signals",
    "sitemaps_found": "crawl.signals",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
