"""Checks every request against robots.txt, and drops what it forbids."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured
from typing_extensions import assert_never

from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK, Clock
from scrapy_robots_plus.crawl.exceptions import RobotsIgnored, exception_for
from scrapy_robots_plus.crawl.pacing.backoff import HeldAtClosing
from scrapy_robots_plus.crawl.requests import origin_to_ask
from scrapy_robots_plus.crawl.settings import report_unknown_settings
from scrapy_robots_plus.crawl.signals import request_disallowed
from scrapy_robots_plus.protocol.printable import printable

from .crawl import Crawl
from .judge import Passes, Refused, Requeued, Unasked
from .late_errbacks import LateErrbacks

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_robots_plus.policy.origin import Origin
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.protocol.verdict import Verdict

logger = logging.getLogger(__name__)


class RobotsMiddleware:
    """Downloader middleware that replaces Scrapy's ``RobotsTxtMiddleware``.

    If neither ``ROBOTSTXT_OBEY`` nor ``ROBOTS_CRAWL_DELAY`` is on, it raises
    :exc:`~scrapy.exceptions.NotConfigured`, like Scrapy's own.

    ``policies`` (:class:`~scrapy_robots_plus.crawl.policies.cache.Policies`) answers questions
    about robots.txt from code; ``settings`` are the checked
    :class:`~scrapy_robots_plus.crawl.settings.RobotsSettings`; ``tally`` counts by origin.

    Raises :class:`~scrapy_robots_plus.crawl.settings.errors.RobotsSettingsError` if settings are
    wrong.
    """

    def __init__(self, crawler: Crawler, clock: Clock = DEFAULT_CLOCK) -> None:
        self.crawl = crawl = Crawl.of(crawler, clock)
        if not crawl.is_on:
            raise NotConfigured  # without a message, like Scrapy's own
        report_unknown_settings(crawler.settings)
        crawl.use_middleware()
        self.settings = crawl.settings
        self.policies = crawl.policies
        self.tally = crawl.tally
        self._crawler = crawler
        self._stats = compat.stats_of(crawler)
        self._agents = crawl.agents
        self._judge = crawl.judge
        # It connects to signals after the extensions, so that its floors have the last word.
        self._pacing = crawl.pacing
        self._late_errbacks = LateErrbacks(crawler, crawl.clock)
        crawler.signals.connect(self._request_scheduled, signals.request_scheduled)
        if self._agents.fixed is None or self.settings.keeps_delays or self.settings.retry_after:
            crawler.signals.connect(self._append_last_process_request, signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    # In the order in which they see a request

    def _request_scheduled(self, request: Request) -> None:
        """Drops a request that known rules disallow before it enters the queue.

        Not if it has an errback: Scrapy does not call it for a request dropped here.
        """
        if request.errback is not None:
            return
        origin = origin_to_ask(request)
        if origin is None:
            return
        agent = self._agents.of(request)
        refused = self._judge.known_refusal(request, origin, agent)
        if refused is not None:
            self._late_errbacks.dropped(request)
            raise self._report_refusal(request, origin, agent, refused)

    async def process_request(self, request: Request) -> Request | None:
        """Lets *request* pass, or raises RobotsDisallowed or RobotsUnreachable.

        Returns a request that the scheduler is to keep for later.
        """
        origin = origin_to_ask(request)
        if origin is None:
            self.tally.exempt(request)
            return None
        agent = self._agents.judged_by(request)
        decision = await self._judge.judge(request, origin, agent)
        match decision:
            case Passes(policy):
                self.tally.allow(request, origin, policy)
                policy.paces.enforce(agent)
                self._pacing.assign_slot(request, origin, policy)
                self._tell(request, origin, agent, decision)
                return None
            case Unasked():
                self.tally.exempt(request)
                return None
            case Requeued(copy):
                return copy
            case Refused():
                raise self._report_refusal(request, origin, agent, decision)
            case _:
                assert_never(decision)

    async def _process_request_last(self, request: Request) -> Request | None:
        """Runs after all middlewares, which may have changed the User-Agent or the slot."""
        agent = self._agents.changed(request)
        if agent is None and not self._pacing.assigns_slots:
            return None
        origin = origin_to_ask(request)
        if origin is None:
            return None
        if agent is None:
            if not self._judge.is_exempt(request, origin):
                self._pacing.pin(request, origin)
            return None
        decision = await self._judge.judge(request, origin, agent, again=True)
        match decision:
            case Passes(policy):
                policy.paces.enforce(agent)
                self._pacing.assign_slot(request, origin, policy)
                self._tell(request, origin, agent, decision)
                return None
            case Unasked():
                return None
            case Requeued(copy):
                self.tally.revoke(request, origin)
                return copy
            case Refused():
                self.tally.revoke(request, origin)
                raise self._report_refusal(request, origin, agent, decision)
            case _:
                assert_never(decision)

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        """Keeps requests for the next run that were allowed but not sent before closing."""
        if not isinstance(exception, HeldAtClosing):
            return None
        origin = origin_to_ask(request)
        if origin is not None:
            self.tally.revoke(request, origin)
        return self.crawl.requeue.at_closing(request)

    # What follows

    def _report_refusal(
        self, request: Request, origin: Origin, agent: AgentNames, refused: Refused
    ) -> RobotsIgnored:
        """Counts and reports the refusal; returns the exception to raise."""
        if not self._late_errbacks.was_counted(request):
            self.tally.deny(request, origin, refused.policy)
            self._announce(request, refused.verdict)
            self._tell(request, origin, agent, refused)
        return exception_for(request.url, refused.verdict)

    def _tell(
        self, request: Request, origin: Origin, agent: AgentNames, decision: Passes | Refused
    ) -> None:
        for listener in self.crawl.decision_listeners:
            listener(request, origin, agent, decision)

    def _announce(self, request: Request, verdict: Verdict) -> None:
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

    def _append_last_process_request(self) -> None:
        compat.last_process_request(self._crawler, self._process_request_last)
