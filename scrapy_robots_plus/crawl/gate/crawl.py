"""What the parts of this package share in one crawl."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING
from weakref import ReferenceType, WeakKeyDictionary

from scrapy import signals

from scrapy_robots_plus.crawl import compat
from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK, Clock
from scrapy_robots_plus.crawl.fetching.budget import BudgetedFetcher, FetchBudget
from scrapy_robots_plus.crawl.fetching.fetcher import Fetcher
from scrapy_robots_plus.crawl.pacing.floors import Pacing
from scrapy_robots_plus.crawl.policies.archive import Archive
from scrapy_robots_plus.crawl.policies.cache import Policies
from scrapy_robots_plus.crawl.policies.retrieval import Retrieval
from scrapy_robots_plus.crawl.requests import Agents
from scrapy_robots_plus.crawl.settings import RobotsSettings

from .judge import Judge
from .requeue import Requeue
from .tally import Tally

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from .requeue import HostQueue

_crawls: WeakKeyDictionary[Crawler, ReferenceType[Crawl]] = WeakKeyDictionary()
"""Weak on both sides: a Crawl lives as long as a part of the package holds it, and its crawler."""


class Crawl:
    """One for each crawler, found by :meth:`of`; whichever part asks first makes it.

    Any part may be missing, and several crawlers may run in a process. Scrapy makes the parts of
    each in this order:

    1. ``RobotsExtension``, before there is an engine.
    2. ``RobotsDownloader``, and while it is made ``RobotsMiddleware``, which says so by
       :meth:`use_middleware`. Where it is missing, or switched off by the settings, nobody may ask
       for policies and what goes with them.
    3. ``RobotsPriorityQueue``, one in memory, and one on disk where there is a job. The first of
       them makes what they share, and says so by :meth:`use_queue`.

    Policies, floors and so on are made when they are asked for first: by the middleware.
    """

    def __init__(self, crawler: Crawler, clock: Clock = DEFAULT_CLOCK) -> None:
        self.crawler = crawler
        self.clock = clock
        self.has_middleware = False
        """Whether robots.txt is asked about each request."""
        self.queue: HostQueue | None = None
        """Where requests wait for a robots.txt and for delays; None where another queue or
        scheduler is in use."""

    @classmethod
    def of(cls, crawler: Crawler, clock: Clock = DEFAULT_CLOCK) -> Crawl:
        """The one of *crawler*; *clock* is for whoever asks first."""
        reference = _crawls.get(crawler)
        crawl = None if reference is None else reference()
        if crawl is None:
            crawl = cls(crawler, clock)
            _crawls[crawler] = ReferenceType(crawl)
        return crawl

    def use_middleware(self) -> None:
        """Called by the middleware: it is in use."""
        self.has_middleware = True

    def use_queue(self, queue: HostQueue) -> None:
        """Called by the queue: it is in use."""
        self.queue = queue

    @property
    def is_on(self) -> bool:
        """Whether anything of a robots.txt is to be kept, its rules or its delays."""
        return self.settings.obey or self.settings.keeps_delays

    @cached_property
    def settings(self) -> RobotsSettings:
        """Those of the crawl, checked. Raises RobotsSettingsError, which stops it."""
        return RobotsSettings.of(self.crawler)

    # What the middleware uses, and others where it is in use

    @cached_property
    def agents(self) -> Agents:
        return Agents(self.crawler, self.settings)

    @cached_property
    def budget(self) -> FetchBudget:
        most, clock = self.settings.fetch_concurrency, self.clock
        budget = FetchBudget(most, compat.most_sockets(), clock.monotonic, clock.call_later)
        self.crawler.signals.connect(budget.abandon, signals.spider_closed)
        return budget

    @cached_property
    def policies(self) -> Policies:
        crawler, settings, clock = self.crawler, self.settings, self.clock
        fetcher = BudgetedFetcher(Fetcher(crawler, settings, clock), self.budget)
        archive = Archive(crawler, settings, clock)
        retrieval = Retrieval(crawler, settings, fetcher, archive, self.agents, clock)
        return Policies(crawler, retrieval, self.agents, settings.cache_size)

    @cached_property
    def pacing(self) -> Pacing:
        return Pacing(self.crawler, self.settings, self.clock)

    @cached_property
    def tally(self) -> Tally:
        return Tally(self.settings.cache_size)

    @cached_property
    def requeue(self) -> Requeue:
        return Requeue(self.crawler, lambda: self.queue)

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.settings, self.policies, self.requeue, compat.stats_of(self.crawler))
