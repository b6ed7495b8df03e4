"""What waits, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_robots_plus.crawl.settings.checks.kinds import number, whole_number
from scrapy_robots_plus.crawl.settings.setting import setting


@dataclass(frozen=True, eq=False)
class Queue:
    """The queue"""

    fetch_concurrency: int = setting(
        "ROBOTS_FETCH_CONCURRENCY",
        whole_number("fetches", 1, 10_000),
        default=32,
        example=64,
        doc="How many robots.txt files are fetched at the same time. They do not count towards "
        "`CONCURRENT_REQUESTS`. Unusually slow fetches stop counting towards this limit.",
    )
    max_waiting: int = setting(
        "ROBOTS_MAX_WAITING",
        whole_number("requests", 0, 1_000_000),
        default=1_000,
        example=200,
        doc="How many requests that wait in the middleware for a robots.txt, or in the downloader "
        "for the pace of their host, are exempt from `CONCURRENT_REQUESTS`. See "
        "[the queue](queue.md).",
    )
    worker_lifetime: float = setting(
        "ROBOTS_WORKER_LIFETIME",
        number("seconds", 1, 86_400),
        default=60,
        example=300,
        doc="With `RobotsQueue` for scrapy-redis: how long a worker may be silent before others "
        "get the requests that it has. It reports several times in that time, unless a callback "
        "keeps it busy for longer.",
    )
