"""The objects that the parts of this package share in one crawl."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import ReferenceType, WeakKeyDictionary

from scrapy import signals

from scrapy_robots_plus import compat
from scrapy_robots_plus.hosts.door import Door
from scrapy_robots_plus.hosts.given_up import GivenUp
from scrapy_robots_plus.hosts.shared_pace import shared_pace
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.origins.archive import Archive
from scrapy_robots_plus.origins.fetching.budget import FetchBudget
from scrapy_robots_plus.origins.fetching.fetcher import Fetcher
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.retrieval import Retrieval
from scrapy_robots_plus.origins.sharing.choice import shared_fetches
from scrapy_robots_plus.pages.page_preferences import PagePreferences
from scrapy_robots_plus.pages.sitemap_feed import SitemapFeed
from scrapy_robots_plus.pages.sitemaps import Sitemaps
from scrapy_robots_plus.requests.judge import Judge
from scrapy_robots_plus.requests.requeue import Requeue
from scrapy_robots_plus.requests.tally import Tally
from scrapy_robots_plus.settings.errors import end_crawl
from scrapy_robots_plus.settings.robots_settings import RobotsSettings

from .clock import DEFAULT_CLOCK, Clock
from .own_errors import OwnErrors
from .request_settings import RequestSettings
from .requests import origin_to_ask

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.core.downloader import Downloader
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.pages.page import Page
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.requests.equal_urls import EqualUrls
    from scrapy_robots_plus.requests.judge import Passes, Refused
    from scrapy_robots_plus.requests.requeue import TakesBack

    DecisionListener = Callable[[Request, Origin, AgentNames, Passes | Refused], None]
    ExemptionListener = Callable[[Request], None]
    PageListener = Callable[[Page], None]

_crawls: WeakKeyDictionary[Crawler, ReferenceType[Crawl]] = WeakKeyDictionary()
"""Weak on both sides: a Crawl lives as long as its crawler and a part of the package hold it."""


class Crawl:
    """One per crawler, found by :meth:`of`; the first part that asks creates it.

    Any part may be missing, and several crawlers may run in one process. Scrapy creates the parts
    in this order:

    1. ``RobotsExtension``, before the engine exists.
    2. ``RobotsDownloader``, which creates ``RobotsMiddleware``, which sets ``has_middleware``.
       If the middleware is missing or switched off by the settings, policies and everything that
       depends on them must not be used.
    3. ``RobotsPriorityQueue``, one in memory, and one on disk if there is a job. The first of them
       creates the state they share, and sets ``readiness``.

    Policies, the door and so on are created on first use, by the middleware.
    """

    def __init__(self, crawler: Crawler, clock: Clock = DEFAULT_CLOCK) -> None:
        self.crawler = crawler
        self.errors = errors = OwnErrors.of(crawler)
        self.clock = replace(clock, call_later=errors.timers(clock.call_later))
        self.has_middleware = False
        """Whether the middleware is in use, so that each request is checked."""
        self.decision_listeners: list[DecisionListener] = []
        """Called by the middleware with each request that passes or is refused, its origin and the
        agent it was judged by. A request that was judged again, as another agent, comes again."""
        self.exemption_listeners: list[ExemptionListener] = []
        """Called with each request that passes unjudged because of ``dont_obey_robotstxt``."""
        self.page_listeners: list[PageListener] = []
        """Called with each page whose directives had a consequence, when its callback is done."""
        self.readiness: TakesBack | None = None
        """What the queues share, in which requests wait for robots.txt and delays; None if another
        queue or scheduler is in use."""

    @classmethod
    def of(cls, crawler: Crawler, clock: Clock = DEFAULT_CLOCK) -> Crawl:
        """The Crawl of *crawler*; *clock* counts only for the first caller."""
        reference = _crawls.get(crawler)
        crawl = None if reference is None else reference()
        if crawl is None:
            crawl = cls(crawler, clock)
            _crawls[crawler] = ReferenceType(crawl)
        return crawl

    def check_names(self, downloader: Downloader | None = None) -> None:
        """Raises MissingNamesError, which stops the crawl, if this Scrapy is too new or too old.

        Looks at *downloader*, or else at the engine.
        """
        try:
            if downloader is not None:
                compat.check_downloader(downloader)
            else:
                compat.check_engine(compat.engine_of(self.crawler))
        except compat.MissingNamesError as error:
            end_crawl(self.crawler, error)
            raise

    @property
    def is_on(self) -> bool:
        """Whether the crawl obeys rules or delays of robots.txt."""
        return self.settings.is_on

    @cached_property
    def settings(self) -> RobotsSettings:
        """The checked settings of the crawl. Raises RobotsSettingsError, which stops the crawl."""
        return replace(RobotsSettings.of(self.crawler), now=self.clock.wall)

    @property
    def holds_requests(self) -> bool:
        """Whether requests wait for robots.txt files and delays."""
        return self.has_middleware and self.settings.enforces

    def origin_to_wait_for(self, request: Request) -> Origin | None:
        """The origin whose robots.txt must be known before *request* is sent; None if there is
        none.
        """
        try:
            origin = origin_to_ask(request)
            free = origin is None or self.request_settings.needs_no_file(request, origin)
        except ValueError:  # it will fail in the middleware, which calls its errback
            return None
        return None if free else origin

    # For the middleware, and for other parts if it is in use

    @cached_property
    def agents(self) -> Agents:
        return Agents(self.crawler, self.settings)

    @cached_property
    def request_settings(self) -> RequestSettings:
        return RequestSettings(self.settings)

    @cached_property
    def budget(self) -> FetchBudget:
        most, clock = self.settings.fetch_concurrency, self.clock
        budget = FetchBudget(most, compat.most_sockets(), clock.monotonic, clock.call_later)
        self.crawler.signals.connect(budget.abandon, signals.spider_closed)
        return budget

    @cached_property
    def fetcher(self) -> Fetcher:
        return Fetcher(self.crawler, self.settings, self.clock)

    @cached_property
    def retrieval(self) -> Retrieval:
        crawler, settings, clock = self.crawler, self.settings, self.clock
        archive = Archive(crawler, settings, clock)
        shared = shared_fetches(crawler, settings, self.agents, archive, clock)
        return Retrieval(
            crawler, settings, self.fetcher, self.budget, archive, shared, self.agents, clock
        )

    @cached_property
    def policies(self) -> Policies:
        return Policies(self.crawler, self.settings, self.retrieval, self.agents, self.clock)

    @cached_property
    def sitemaps(self) -> Sitemaps:
        return Sitemaps(self.crawler, self.settings)

    @cached_property
    def sitemap_feed(self) -> SitemapFeed:
        return SitemapFeed(self.crawler, self.settings, self.retrieval, self.sitemaps)

    @cached_property
    def equal_urls(self) -> EqualUrls | None:
        """None without ``ROBOTS_CLEAN_PARAM``."""
        if not self.settings.clean_param:
            return None
        from scrapy_robots_plus.requests.equal_urls import EqualUrls

        return EqualUrls(self.crawler, self.settings)

    @cached_property
    def pacing(self) -> Door:
        pace = shared_pace(self.crawler, self.settings, self.agents)
        door = Door(self.crawler, self.settings, self.clock, self.given_up, pace)
        door.walls.subscribe(lambda origin, site, _: self.tally.note(origin, site.standing))
        return door

    @cached_property
    def given_up(self) -> GivenUp:
        return GivenUp(self.settings.cache_size, self.clock.monotonic)

    @cached_property
    def tally(self) -> Tally:
        return Tally(self.settings.cache_size)

    @cached_property
    def requeue(self) -> Requeue:
        return Requeue(self.crawler, lambda: self.readiness)

    @cached_property
    def page_preferences(self) -> PagePreferences:
        return PagePreferences(self.crawler, compat.stats_of(self.crawler), self.clock)

    @cached_property
    def judge(self) -> Judge:
        stats = compat.stats_of(self.crawler)
        return Judge(self.settings, self.policies, self.requeue, self.given_up, stats)
