"""With whom a crawl shares its fetches of robots.txt files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.settings import caches_http

from .agreement import agreement
from .one_process import Member
from .shared_fetches import Alone

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.agents import Agents
    from scrapy_robots_plus.crawl.clock import Clock
    from scrapy_robots_plus.crawl.settings import RobotsSettings
    from scrapy_robots_plus.storage.memory import MemoryStore

    from .shared_fetches import SharedFetches


def shared_fetches(
    crawler: Crawler,
    settings: RobotsSettings,
    agents: Agents,
    memory: MemoryStore,
    clock: Clock,
) -> SharedFetches:
    """What *crawler* asks before it fetches a file. *memory*: its records that end with it.

    With Scrapy's HTTP cache it shares nothing: for a replay, all that a crawl goes by must be in
    its own cache.
    """
    if caches_http(crawler.settings):
        return Alone()
    return Member(crawler, settings, clock, lambda: agreement(crawler, settings, agents), memory)
