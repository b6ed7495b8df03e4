"""One queue for many workers, on a Redis server, for scrapy-redis.

``SCHEDULER_QUEUE_CLASS`` and ``DUPEFILTER_CLASS`` are loaded when they are first used, which needs
scrapy-redis. ``host_queue.py`` is what the server keeps, and the Lua files beside it change; it
needs no Scrapy. ``worker.py`` joins it to a crawl.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .queue import RobotsDupeFilter, RobotsQueue

__all__ = ["RobotsDupeFilter", "RobotsQueue"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import queue

    return getattr(queue, name)
