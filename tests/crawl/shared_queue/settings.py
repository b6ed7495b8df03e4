"""What a project sets."""

from __future__ import annotations

from typing import Any

SHARED: dict[str, Any] = {
    "SCHEDULER_QUEUE_CLASS": "scrapy_robots_plus.redis.RobotsQueue",
    "DUPEFILTER_CLASS": "scrapy_robots_plus.redis.RobotsDupeFilter",
}
THEIRS: dict[str, Any] = {
    "ADDONS": {},
    "ROBOTSTXT_OBEY": True,
    "SCHEDULER_QUEUE_CLASS": "scrapy_redis.queue.PriorityQueue",
}
"""scrapy-redis as it comes."""
