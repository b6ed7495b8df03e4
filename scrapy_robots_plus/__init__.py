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
    from .crawl.downloader import RobotsDownloader
    from .crawl.exceptions import RobotsDisallowed, RobotsIgnored, RobotsUnreachable
    from .crawl.extension import RobotsExtension
    from .crawl.middleware import RobotsMiddleware
    from .crawl.parser import RobotsParser
    from .crawl.scheduling.queue import RobotsPriorityQueue
    from .crawl.settings import RobotsSettingsError
    from .crawl.signals import request_disallowed, robots_changed
    from .protocol.verdict import Reason, Verdict

_HOMES = {
    "Addon": "addon",
    "Reason": "protocol.verdict",
    "RobotsDisallowed": "crawl.exceptions",
    "RobotsDownloader": "crawl.downloader",
    "RobotsExtension": "crawl.extension",
    "RobotsIgnored": "crawl.exceptions",
    "RobotsMiddleware": "crawl.middleware",
    "RobotsParser": "crawl.parser",
    "RobotsPriorityQueue": "crawl.scheduling.queue",
    "RobotsSettingsError": "crawl.settings",
    "RobotsUnreachable": "crawl.exceptions",
    "Verdict": "protocol.verdict",
    "request_disallowed": "crawl.signals",
    "robots_changed": "crawl.signals",
}

__all__ = [
    "Addon",
    "Reason",
    "RobotsDisallowed",
    "RobotsDownloader",
    "RobotsExtension",
    "RobotsIgnored",
    "RobotsMiddleware",
    "RobotsParser",
    "RobotsPriorityQueue",
    "RobotsSettingsError",
    "RobotsUnreachable",
    "Verdict",
    "__version__",
    "request_disallowed",
    "robots_changed",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
