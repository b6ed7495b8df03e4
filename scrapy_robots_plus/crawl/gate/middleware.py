"""The gate that every request passes: robots.txt is asked, and what it forbids is dropped."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK, Clock
from scrapy_robots_plus.crawl.exceptions import RobotsIgnored, refusal
from scrapy_robots_plus.crawl.fetching.budget import BudgetedFetcher, FetchBudget
from scrapy_robots_plus.crawl.fetching.fetcher import Fetcher
from scrapy_robots_plus.crawl.pacing.backoff import HeldAtClosing
from scrapy_robots_plus.crawl.pacing.floors import Pacing
from scrapy_robots_plus.crawl.policies.archive import Archive
from scrapy_robots_plus.crawl.policies.cache import Policies, closing_verdict
from scrapy_robots_plus.crawl.policies.policy import Policy
from scrapy_robots_plus.crawl.policies.retrieval import Retrieval
from scrapy_robots_plus.crawl.requests import START_META_KEY, Agents, origin_to_ask
from scrapy_robots_plus.crawl.settings import RobotsSettings, report_unknown_settings
from scrapy_robots_plus.crawl.signals import request_disallowed
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.wire import asks_for_robots_txt

from .late_errbacks import LateErrbacks
from .requeue import PutBack
from .tally import Tally

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_robots_plus.policy.origin import Origin
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.protocol.verdict import Verdict

logger = logging.getLogger(__name__)


class RobotsMiddleware:
    """Downloader middleware that takes the place of Scrapy's ``RobotsTxtMiddleware``.

    ``policies`` (:class:`~scrapy_robots_plus.crawl.policies.cache.Policies`) answers questions
    about robots.txt from code; ``settings`` are the checked
    :class:`~scrapy_robots_plus.crawl.settings.RobotsSettings`; ``tally`` counts by origin.

    Raises :class:`~scrapy_robots_plus.crawl.settings.errors.RobotsSettingsError` where settings are
    wrong.
    """

    def __init__(self, crawler: Crawler, clock: Clock = DEFAULT_CLOCK) -> None:
        self.settings = RobotsSettings.of(crawler)
        if not (self.settings.obey or self.settings.keeps_delays):
            raise NotConfigured  # without a word, as Scrapy's own
        report_unknown_settings(crawler.settings)
        self._crawler = crawler
        self._stats = compat.stats_of(crawler)
        self.agents = Agents(crawler, self.settings)
        places = self.settings.fetch_concurrency
        self.budget = FetchBudget(places, compat.most_sockets(), clock.monotonic, clock.call_later)
        self.policies = self._make_policies(crawler, clock)
        self.tally = Tally(self.settings.cache_size)
        self.pacing = Pacing(crawler, self.settings, clock)
        self.put_back = PutBack(crawler)
        self._late_errbacks = LateErrbacks(crawler, clock)
        self.waiting = 0
        """How many requests wait here for a robots.txt."""
        self.start_requests_allowed = 0
        self.start_requests_denied = 0
        crawler.signals.connect(self._request_scheduled, signals.request_scheduled)
        crawler.signals.connect(self.budget.abandon, signals.spider_closed)
        settings = self.settings
        if self.agents.fixed is None or settings.keeps_delays or settings.retry_after:
            crawler.signals.connect(self._come_last_too, signals.spider_opened)

    def _make_policies(self, crawler: Crawler, clock: Clock) -> Policies:
        settings, agents = self.settings, self.agents
        fetcher = BudgetedFetcher(Fetcher(crawler, settings, clock), self.budget)
        archive = Archive(crawler, settings, clock)
        retrieval = Retrieval(crawler, settings, fetcher, archive, agents, clock)
        return Policies(crawler, retrieval, agents, settings.cache_size)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    @property
    def denied_from_the_start(self) -> bool:
        """Whether all start requests were denied, and nothing else was let through since."""
        denied = self.start_requests_denied > 0 and self.start_requests_allowed == 0
        return denied and self.tally.allowed == 0

    async def process_request(self, request: Request) -> Request | None:
        """Lets *request* pass, or raises RobotsDisallowed or RobotsUnreachable.

        A request that the scheduler is to keep for later is returned.
        """
        origin = origin_to_ask(request)
        if origin is None or self._may_be_what_is_waited_for(request, origin):
            self._count_start(request, allowed=True)
            return None
        agent = self.agents.judged_by(request)
        policy = await self._pass(request, origin, agent)
        if not isinstance(policy, Policy):
            return policy
        policy.paces.keep(agent)
        self.tally.row(origin, policy).allowed += 1
        self._count_start(request, allowed=True)
        self.pacing.hold(request, origin, policy)
        return None

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        """Keeps what was let through and not sent before the spider closed, for the next run."""
        if not isinstance(exception, HeldAtClosing):
            return None
        origin = origin_to_ask(request)
        if origin is not None:
            self._take_back(request, origin)
        return self.put_back.at_closing(request)

    async def _process_request_last(self, request: Request) -> Request | None:
        """Runs after all middlewares, which may have put in another User-Agent or another slot."""
        agent = self.agents.changed(request)
        if agent is None and not self.pacing.holds:
            return None
        origin = origin_to_ask(request)
        if origin is None or self._may_be_what_is_waited_for(request, origin):
            return None
        if agent is None:
            self.pacing.pin(request, origin)
            return None
        try:
            policy = await self._pass(request, origin, agent, again=True)
        except RobotsIgnored:
            self._take_back(request, origin)
            raise
        if not isinstance(policy, Policy):
            if policy is not None:  # it will come again
                self._take_back(request, origin)
            return policy
        policy.paces.keep(agent)
        self.pacing.hold(request, origin, policy)
        return None

    def _take_back(self, request: Request, origin: Origin) -> None:
        """A request that was counted as allowed is not sent."""
        row = self.tally.row(origin)
        if not row.allowed:  # it was among the others meanwhile
            row = self.tally.others
        row.allowed = max(0, row.allowed - 1)
        if request.meta.get(START_META_KEY):
            self.start_requests_allowed = max(0, self.start_requests_allowed - 1)

    async def _pass(
        self, request: Request, origin: Origin, agent: AgentNames, *, again: bool = False
    ) -> Policy | Request | None:
        """The policy that lets *request* through, or what the scheduler is to keep.

        *again*: it was judged before, as another agent.

        None where it passes without: the spider closes, and ``ROBOTSTXT_OBEY`` is off.
        Raises RobotsIgnored where it is refused.
        """
        comes_again = self.put_back.welcome(request)
        policy = self.policies.known(origin, request)
        if policy is None:
            policy = await self._wait(request, origin)
        elif self.policies.was_used(origin) and not again:
            self._stats.inc_value(stats.CACHE_HITS)
        self.policies.go_by(origin)
        verdict = policy.refusal(request.url, agent) if policy else closing_verdict(origin)
        if verdict is None:
            return policy
        kept = self._kept(request, origin, policy, comes_again=comes_again)
        if kept is not None:
            return kept
        if policy is None and not self.settings.obey:
            return None  # delays alone drop nothing
        raise self._refused(request, origin, policy, verdict)

    def _kept(
        self, request: Request, origin: Origin, policy: Policy | None, *, comes_again: bool
    ) -> Request | None:
        """What the scheduler is to keep until the robots.txt can be read; None for nothing."""
        if policy is not None and not policy.refuses_all:
            return None
        if comes_again or not compat.is_closing(self._crawler):
            return self.put_back.deferred(request, origin)
        # Whatever the fetch ended in: the closing crawl may have cut it off itself.
        return self.put_back.at_closing(request)

    def _may_be_what_is_waited_for(self, request: Request, origin: Origin) -> bool:
        """Whether it is for a robots.txt that is being fetched.

        A middleware may have put it in the place of ours, and it would wait for itself. It is
        allowed in any case (2.2.2).
        """
        is_fetching = self.policies.is_fetching(origin) and self.policies.usable(origin) is None
        return is_fetching and asks_for_robots_txt(request.url)

    async def _wait(self, request: Request, origin: Origin) -> Policy | None:
        """The policy, when it is known; None if the spider closes first."""
        self.waiting += 1
        try:
            return await self.policies.obtain(origin, request)
        finally:
            self.waiting -= 1

    def _request_scheduled(self, request: Request) -> None:
        """Drops what rules are known to disallow before it enters the queue.

        Not where there is an errback: Scrapy does not call it for a request dropped here. Nor where
        the robots.txt cannot be read: by the turn of the request it may be.
        """
        if request.errback is not None:
            return
        origin = origin_to_ask(request)
        if origin is None:
            return
        policy = self.policies.known(origin, request)
        if policy is None or policy.refuses_all:
            return
        verdict = policy.refusal(request.url, self.agents.of(request))
        if verdict is not None:
            self._late_errbacks.dropped(request)
            raise self._refused(request, origin, policy, verdict)

    def _refused(
        self, request: Request, origin: Origin, policy: Policy | None, verdict: Verdict
    ) -> RobotsIgnored:
        """The exception to raise, after the refusal is counted and told."""
        if not self._late_errbacks.was_counted(request):
            self.tally.row(origin, policy).denied += 1
            self._count_start(request, allowed=False)
            self._tell(request, verdict)
        return refusal(request.url, verdict)

    def _tell(self, request: Request, verdict: Verdict) -> None:
        spider = self._crawler.spider
        self._stats.inc_value(stats.FORBIDDEN)
        self._stats.inc_value(stats.filled(stats.FORBIDDEN_BY_REASON, verdict.reason))
        if verdict.form is not None:
            self._stats.inc_value(stats.FORBIDDEN_IN_A_FORM)
        logger.debug(
            "Forbidden by robots.txt: %(request)s (%(why)s)",
            {"request": printable(request), "why": verdict.describe()},
            extra={"spider": spider},
        )
        self._crawler.signals.send_catch_log(
            request_disallowed, request=request, verdict=verdict, spider=spider
        )

    def _count_start(self, request: Request, *, allowed: bool) -> None:
        if request.meta.get(START_META_KEY):
            if allowed:
                self.start_requests_allowed += 1
            else:
                self.start_requests_denied += 1

    def _come_last_too(self) -> None:
        compat.last_process_request(self._crawler, self._process_request_last)
