"""For scrapy-redis: ``SCHEDULER_QUEUE_CLASS`` and ``DUPEFILTER_CLASS``.

Importing it needs scrapy-redis, which brings redis.
"""

from __future__ import annotations

from .crawl.sharing.dupefilter import RobotsDupeFilter
from .crawl.sharing.queue import RobotsQueue

__all__ = ["RobotsDupeFilter", "RobotsQueue"]
