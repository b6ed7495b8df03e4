"""With whom a crawl shares its fetches of robots.txt files."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus import compat
from scrapy_robots_plus.settings.scrapys_own import caches_http, how_files_are_asked_for, job_folder

from .one_process import Member
from .shared_fetches import Alone, longest_fetch

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.clock import Clock
    from scrapy_robots_plus.origins.agents import Agents
    from scrapy_robots_plus.origins.archive import Archive
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings

    from .shared_fetches import SharedFetches

_OF_THE_SPIDER = ("user_agent", "http_user", "http_pass", "http_auth_domain")
"""Attributes of a spider that decide the same as those settings of Scrapy."""


def agreement(crawler: Crawler, settings: RobotsSettings, agents: Agents) -> list[Any]:
    """What must be equal in two crawls: then a site gives both the same answer.

    Not what the answer means, such as ``ROBOTS_STATUS_POLICY``: each crawl decides that for itself.
    """
    mine = settings
    return [
        os.getpid(),  # after a fork, nothing that the other process does can be seen
        compat.loop_in_use(),
        agents.fixed,
        (mine.store or job_folder(crawler.settings) or "memory", mine.store_max),
        (mine.fetch_timeout, mine.fetch_retries, mine.fetch_max_bytes),
        (mine.fetch_meta, mine.fetch_headers),
        how_files_are_asked_for(crawler.settings),
        [getattr(crawler.spider, name, None) for name in _OF_THE_SPIDER],
    ]


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
