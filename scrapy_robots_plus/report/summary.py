"""The machine-readable summary of a crawl, described in docs/end-of-crawl.md, and its file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from math import inf
from tempfile import TemporaryFile
from typing import Any

from scrapy_robots_plus._version import __version__
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.clock import timestamp
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.hosts.door import Door
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.protocol.printable import picked, printable
from scrapy_robots_plus.settings.checks import filled_in
from scrapy_robots_plus.whole_file import refuse_odd_file, whole_file

from .table import Site, sites_of

SCHEMA = 1
"""The version of the schema. It rises if a key is removed or redefined, not if one is added."""


def summary(crawl: Crawl, started: float, reason: str) -> Iterator[str]:
    """Yields the text of the JSON object, a line per origin: a million origins need no memory.

    *started*: seconds since the epoch. *reason*: that of Scrapy's ``spider_closed``.
    """
    head = json.dumps(_head(crawl, started, reason), indent=1)
    yield head.removesuffix("\n}") + ',\n "sites": ['
    between = "\n"
    for site in sites_of(crawl.get(Tally)):
        pace = None if site.delay is None else crawl.get(Door).pace_of(site.origin.host)
        yield between + json.dumps(_site(site, pace.departures.shortest_gap if pace else inf))
        between = ",\n"
    yield "\n]}\n"


def _head(crawl: Crawl, started: float, reason: str) -> dict[str, Any]:
    tally, settings, collector = crawl.get(Tally), crawl.settings, crawl.stats
    return {
        "schema": SCHEMA,
        "version": __version__,
        "spider": crawl.crawler.spider.name if crawl.crawler.spider else None,
        "started": timestamp(started),
        "finished": timestamp(crawl.clock.wall()),
        "finish_reason": reason,
        **picked(settings, "mode", "obey"),
        "delays": settings.keeps_delays,
        "origins": len(tally),
        **picked(tally, "allowed", "denied"),
        "dont_obey": tally.not_asked,
        **picked(tally, "not_followed", "not_indexed"),
        "denied_by_reason": stats.by_part(collector.get_stats(), stats.FORBIDDEN_BY_REASON),
        "uses": {
            "ai_uses": list(settings.ai_uses),
            **picked(settings, "content_use", "ai_policy"),
            "preferences": stats.by_part(collector.get_stats(), stats.PREFERENCES),
            "contradictions": collector.get_value(stats.CONTRADICTIONS, 0),
            "objections": collector.get_value(stats.OBJECTIONS, 0),
            **picked(tally, "skipped_requests", "skipped_pages"),
        },
        "forgotten": {
            "origins": tally.forgotten_origins,
            **picked(tally.forgotten, "allowed", "denied"),
        },
    }


def _site(site: Site, gap: float) -> dict[str, Any]:
    policy = site.policy
    fetched = policy if policy and policy.settings.needs_file else None
    has_own_text = policy is not None and policy.settings.robots_txt is not None
    return {
        "origin": str(site.origin),
        "robots_url": site.origin.robots_url if policy is None else policy.record.url,
        "status": None if policy is None else policy.status,
        "failure": None if site.failure is None else str(site.failure),
        "access": str(policy.access) if policy and (fetched or has_own_text) else None,
        "sha256": (policy.record.sha256 or None) if policy else None,
        "fetched_at": timestamp(fetched.record.fetched_at) if fetched else None,
        **picked(site, "delay_asked", "delay"),
        "shortest_gap": None if gap == inf else round(gap, 3),
        "skipped": site.is_skipped,
        "given_up": site.given_up,
        "standing": site.standing.value,
        **picked(site, "allowed", "denied"),
        "override": None if policy is None else policy.override_label,
    }


logger = crawl_log(__name__)


class SummaryFile:
    """The summary file of one crawl. If it cannot be written, that is logged; the crawl goes on."""

    def __init__(self, crawl: Crawl, pattern: str) -> None:
        """Takes *pattern*, the value of ``ROBOTS_SUMMARY_FILE``.

        Creates the folder, and logs at once if no file can be written there.
        """
        self._crawl = crawl
        self._started = crawl.clock.wall()
        spider = crawl.crawler.spider
        self._path = filled_in(pattern, spider.name if spider else "", self._started)
        self._try(lambda: TemporaryFile(dir=self._path.parent).close())

    def write(self, reason: str) -> None:
        """Writes the summary of the crawl, which has ended for *reason*."""

        def work() -> None:
            with whole_file(self._path) as file:
                file.writelines(summary(self._crawl, self._started, reason))

        self._try(work)

    def _try(self, work: Callable[[], None]) -> None:
        """Does *work* in the folder, which is created, even again; logs what fails."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            refuse_odd_file(self._path)
            work()
        except (OSError, ValueError) as error:  # ValueError: not the name of a file
            logger(self._crawl.crawler).error(
                "ROBOTS_SUMMARY_FILE: %(path)s cannot be written (%(why)s)",
                {"path": printable(self._path), "why": printable(error)},
            )
