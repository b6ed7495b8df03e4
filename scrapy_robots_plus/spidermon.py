"""Monitors for Spidermon: ``pip install scrapy-robots-plus[spidermon]``.

Their limits are settings, named and given as those of Spidermon's own monitors.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from spidermon import MonitorSuite, monitors
from spidermon.contrib.scrapy.monitors import BaseScrapyMonitor
from spidermon.exceptions import NotConfigured

from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.report.table import sites_of

__all__ = [
    "RobotsDeniedMonitor",
    "RobotsMonitorSuite",
    "RobotsUnreadableMonitor",
]

_MOST_NAMED = 5


class _RobotsMonitor(BaseScrapyMonitor):
    """What the monitors share."""

    def setUp(self) -> None:
        crawl = Crawl.of(self.crawler)
        if not (crawl.has_middleware and crawl.settings.is_on):
            self.skipTest("robots.txt is not checked in this crawl")

    @property
    def tally(self) -> Tally:
        return Crawl.of(self.crawler).get(Tally)

    def check(self, name: str, default: str, count: int, of: int, message: str) -> None:
        """Fails with *message* if *count* is more than the setting *name* allows.

        Raises NotConfigured if the setting is no number, nor a share.
        """
        limit = str(self.crawler.settings.get(name, default))
        try:
            most = float(limit.removesuffix("%"))
        except ValueError:
            what = "expected a number, or a share such as '10%'"
            raise NotConfigured(f"{name} = {limit!r}: {what}") from None
        if count > (most * of / 100 if limit.endswith("%") else most):
            self.fail(f"{message}; {name} is {limit}")


@monitors.name("Requests denied by robots.txt")
class RobotsDeniedMonitor(_RobotsMonitor):
    """Fails if robots.txt denies too many requests.

    ``SPIDERMON_ROBOTS_MAX_DENIED``: how many, ``100``, or what share of all requests that were
    checked, ``"10%"``. Default: ``"50%"``.
    """

    @monitors.name("Should not be too many")
    def test_denied(self) -> None:
        denied, checked = self.tally.denied, self.tally.denied + self.tally.allowed
        sites = Counter({str(site.origin): site.denied for site in sites_of(self.tally)})
        message = f"{denied:,} of {checked:,} requests are denied: {_most(sites)}"
        self.check("SPIDERMON_ROBOTS_MAX_DENIED", "50%", denied, checked, message)


@monitors.name("Hosts whose robots.txt cannot be read")
class RobotsUnreadableMonitor(_RobotsMonitor):
    """Fails if the robots.txt of too many hosts cannot be read when the crawl ends.

    ``SPIDERMON_ROBOTS_MAX_UNREADABLE``: how many, ``3``, or what share of all hosts, ``"5%"``.
    Default: ``"10%"``. Of more hosts than ``ROBOTS_CACHE_SIZE``, the last count.
    """

    @monitors.name("Should not be too many")
    def test_unreadable(self) -> None:
        sites = sites_of(self.tally)
        causes = Counter(site.in_words for site in sites if site.is_unreadable)
        unreadable = causes.total()
        files = f"The robots.txt of {unreadable:,} of {len(sites):,} hosts"
        message = f"{files} cannot be read: {_most(causes)}"
        name = "SPIDERMON_ROBOTS_MAX_UNREADABLE"
        self.check(name, "10%", unreadable, len(sites), message)


class RobotsMonitorSuite(MonitorSuite):
    """All monitors of this module, for Spidermon's settings ``SPIDERMON_SPIDER_CLOSE_MONITORS`` or,
    during the crawl, ``SPIDERMON_PERIODIC_MONITORS``.
    """

    monitors: ClassVar[list[type]] = [
        RobotsDeniedMonitor,
        RobotsUnreadableMonitor,
    ]


def _most(counts: Counter[str]) -> str:
    """``7 x http://a.example, 2 x http://b.example``: the first of those that are counted."""
    most = (+counts).most_common(_MOST_NAMED)
    return ", ".join(f"{count:,} x {printable(name, 100)}" for name, count in most)
