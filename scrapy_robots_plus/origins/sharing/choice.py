"""With whom a crawl shares its fetches of robots.txt files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from scrapy_robots_plus.settings.scrapys_own import caches_http

from .agreement import agreement
from .one_process import Member
from .shared_fetches import Alone, longest_fetch

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.clock import Clock
    from scrapy_robots_plus.origins.agents import Agents
    from scrapy_robots_plus.origins.archive import Archive
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings

    from .shared_fetches import SharedFetches


def shared_fetches(
    crawler: Crawler,
    settings: RobotsSettings,
    agents: Agents,
    archive: Archive,
    clock: Clock,
) -> SharedFetches:
    """What *crawler* asks before it fetches a file.

    With Scrapy's HTTP cache it shares nothing: for a replay, all that a crawl goes by must be in
    its own cache.
    """
    if caches_http(crawler.settings):
        return Alone()
    if archive.server is not None:
        from .lease import Leases
        from .workers import AmongWorkers

        longest = longest_fetch(settings)
        leases = Leases(archive.server, longest)
        return AmongWorkers(leases, archive.calls, archive.failed, longest, clock)
    agreed = partial(agreement, crawler, settings, agents)
    return Member(crawler, settings, clock, agreed, archive.memory)
