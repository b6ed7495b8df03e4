"""The Redis server that several crawls share. No Scrapy, no Twisted.

For scrapy-redis: ``SCHEDULER_QUEUE_CLASS`` and ``DUPEFILTER_CLASS``. These are loaded when they are
first used, which needs scrapy-redis.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_robots_plus.workers.dupefilter import RobotsDupeFilter
    from scrapy_robots_plus.workers.queue import RobotsQueue

_HOMES = {"RobotsDupeFilter": "dupefilter", "RobotsQueue": "queue"}

__all__ = ["RobotsDupeFilter", "RobotsQueue"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"scrapy_robots_plus.workers.{_HOMES[name]}"), name)
