"""A queue on a Redis server that many workers share, for scrapy-redis.

The classes for ``SCHEDULER_QUEUE_CLASS`` and ``DUPEFILTER_CLASS`` need scrapy-redis, so they are
loaded when they are first used. ``host_queue.py`` is the queue on the server, which the Lua files
beside it read and change; it needs no Scrapy. ``queue.py`` and ``dupefilter.py`` connect it to a
crawl.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .dupefilter import RobotsDupeFilter
    from .queue import RobotsQueue

__all__ = ["RobotsDupeFilter", "RobotsQueue"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import dupefilter, queue

    return getattr(queue if name == "RobotsQueue" else dupefilter, name)
