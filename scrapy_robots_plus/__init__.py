"""A Scrapy add-on that makes a crawler obey robots.txt for real.

Public names are loaded on first use, so that importing :mod:`scrapy_robots_plus.protocol` imports
neither Scrapy nor Twisted.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:
    from .addon import Addon as Addon
    from .crawl.events import *  # noqa: F403 - all of it
    from .extension import RobotsExtension as RobotsExtension
    from .hosts.downloader import RobotsDownloader as RobotsDownloader
    from .hosts.queue import RobotsPriorityQueue as RobotsPriorityQueue
    from .origins.parsers import RobotsParser as RobotsParser
    from .origins.policy import Policy as Policy
    from .pages.items import RobotsItemMiddleware as RobotsItemMiddleware
    from .pages.middleware import RobotsPagesMiddleware as RobotsPagesMiddleware
    from .pages.spiders import FOLLOWED_LINKS as FOLLOWED_LINKS
    from .pages.spiders import RobotsSitemapSpider as RobotsSitemapSpider
    from .protocol.access import Access as Access
    from .protocol.dialect import Dialect as Dialect
    from .protocol.origin import Origin as Origin
    from .protocol.verdict import Reason as Reason
    from .protocol.verdict import Verdict as Verdict
    from .requests.middleware import RobotsMiddleware as RobotsMiddleware
    from .settings.robots_settings import RobotsSettingsError as RobotsSettingsError
    from .storage.record import StoreError as StoreError

_NAMES = {
    "addon": "Addon",
    "crawl.events": (
        "RobotsDisallowed RobotsDuplicate RobotsGivenUp RobotsIgnored RobotsNoindex "
        "RobotsOverrideError RobotsUnreachable RobotsUseDisallowed RobotsWalled "
        "request_disallowed request_not_followed robots_changed sitemaps_found"
    ),
    "extension": "RobotsExtension",
    "hosts.downloader": "RobotsDownloader",
    "hosts.queue": "RobotsPriorityQueue",
    "origins.parsers": "RobotsParser",
    "origins.policy": "Policy",
    "pages.items": "RobotsItemMiddleware",
    "pages.middleware": "RobotsPagesMiddleware",
    "pages.spiders": "FOLLOWED_LINKS RobotsSitemapSpider",
    "protocol.access": "Access",
    "protocol.dialect": "Dialect",
    "protocol.origin": "Origin",
    "protocol.verdict": "Reason Verdict",
    "requests.middleware": "RobotsMiddleware",
    "settings.robots_settings": "RobotsSettingsError",
    "storage.record": "StoreError",
}
"""The public names, by the module of each."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
