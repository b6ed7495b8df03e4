"""Checks every request against robots.txt, and drops what it forbids."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured
from typing_extensions import assert_never

from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK, Clock
from scrapy_robots_plus.crawl.exceptions import (
    RobotsIgnored,
    RobotsOverrideError,
    exception_for,
)
from scrapy_robots_plus.crawl.own_errors import is_of_this_package
from scrapy_robots_plus.crawl.pacing.backoff import HeldAtClosing, HeldAtGivingUp
from scrapy_robots_plus.crawl.preferences.stamp import remove_stamp
from scrapy_robots_plus.crawl.requests import asks_for_sitemaps, origin_to_ask
from scrapy_robots_plus.crawl.settings import (
    report_settings_without_effect,
    report_unknown_settings,
)
from scrapy_robots_plus.policy.judging import objection_of
from scrapy_robots_plus.protocol.printable import printable

from .audit_mode import AuditMode
from .crawl import Crawl
from .judge import Passes, Refused, Requeued, Unasked, given_up_refusal
from .late_errbacks import LateErrbacks
from .outcomes import Outcomes

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from scrapy_robots_plus.crawl.settings import RobotsSettings
    from scrapy_robots_plus.policy.origin import Origin
    from scrapy_robots_plus.protocol.product_token import AgentNames

logger = logging.getLogger(__name__)


class RobotsMiddleware:
    """Downloader middleware that replaces Scrapy's ``RobotsTxtMiddleware``.

    If the crawl neither obeys rules nor keeps delays of any host, it raises
    :exc:`~scrapy.exceptions.NotConfigured`, like Scrapy's own.

    ``policies`` (:class:`~scrapy_robots_plus.crawl.policies.cache.Policies`) answers questions
    about robots.txt from code; ``settings`` are the checked
    :class:`~scrapy_robots_plus.crawl.settings.RobotsSettings`; ``tally`` counts by origin.

    Raises :class:`~scrapy_robots_plus.RobotsSettingsError` if settings are wrong.
    """

    def __init__(self, crawler: Crawler, clock: Clock = DEFAULT_CLOCK) -> None:
        self.crawl = crawl = Crawl.of(crawler, clock)
        report_settings_without_effect(crawler.settings, crawl.settings)
        if not crawl.is_on:
            raise NotConfigured  # without a message, like Scrapy's own
        report_unknown_settings(crawler.settings)
        crawl.use_middleware()
        self.settings = crawl.settings
        self.policies = crawl.policies
        self.tally = crawl.tally
        self._sitemap_feed = crawl.sitemap_feed  # made now, so that it hears of every file
        self._equal_urls = crawl.equal_urls
        self._crawler = crawler
        self._agents = crawl.agents
        self._settings_of = crawl.request_settings.of
        self._judge = crawl.judge
        self._outcomes = Outcomes(crawl)
        self._pages = crawl.page_preferences
        if not self.settings.enforces:
            self._audit_mode: AuditMode | None = AuditMode(crawl, self._outcomes)
            crawler.signals.connect(self._append_last_process_request, signals.spider_opened)
            return
        self._audit_mode = None
        self._pacing = crawl.pacing
        self._late_errbacks = LateErrbacks(crawler, crawl.clock)
        crawler.signals.connect(self._request_scheduled, signals.request_scheduled)
        if self._agents.fixed is None:
            crawler.signals.connect(self._append_last_process_request, signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    # In the order in which they see a request

    def _request_scheduled(self, request: Request) -> None:
        """Drops a request that known rules disallow before it enters the queue, and the stamp that
        it brings from another.

        Not if it has an errback: Scrapy does not call it for a request dropped here.
        """
        remove_stamp(request)
        if self._equal_urls is not None:
            self._equal_urls.scheduled(request)
        if request.errback is not None:
            return
        origin = origin_to_ask(request)
        if origin is None:
            return
        try:
            settings = self._settings_of(request, origin)
        except RobotsOverrideError:  # it will fail in process_request()
            return
        agent = self._agents.of(request, settings)
        refused = self._judge.known_refusal(request, origin, agent, settings)
        if refused is not None:
            self._late_errbacks.dropped(request)
            raise self._report_refusal(request, origin, agent, refused)
        policy = self.policies.usable(origin, settings) if self._equal_urls else None
        if policy is not None and self._equal_urls is not None:
            self._equal_urls.refuse_known(request, policy)

    async def process_request(self, request: Request) -> Request | Response | None:
        """Lets *request* pass, or raises RobotsDisallowed, RobotsUnreachable, RobotsDuplicate or
        RobotsOverrideError.

        Returns a request that the scheduler is to keep for later, or the answer to one for the
        sitemaps that a robots.txt names.
        """
        if self._audit_mode is not None:
            self._audit_mode.judge(request)
            return None
        if self._equal_urls is not None:
            self._equal_urls.arrived(request)
        origin = origin_to_ask(request)
        if origin is None:
            self._outcomes.exempt(request)
            return None
        settings = self._checked_settings(request, origin)
        agent = self._agents.judged_by(request, settings)
        decision = await self._judge.judge(request, origin, agent, settings)
        match decision:
            case Passes(policy):
                if asks_for_sitemaps(request):
                    answer = await self.crawl.sitemaps.response(request, policy)
                    if answer is not None:
                        self._outcomes.exempt(request)
                        return answer
                if self._equal_urls is not None:
                    self._equal_urls.let_through(request, policy)
                policy.paces.enforce(agent)
                self._pacing.expect(request, origin, policy)
                self._outcomes.passed(request, origin, agent, decision)
                return None
            case Unasked():
                self._outcomes.exempt(request)
                return None
            case Requeued(copy):
                return copy
            case Refused():
                raise self._report_refusal(request, origin, agent, decision)
            case _:
                assert_never(decision)

    async def _process_request_last(self, request: Request) -> Request | None:
        """Runs after all middlewares, which may have changed the User-Agent."""
        if self._audit_mode is not None:
            self._audit_mode.judge_again(request)
            return None
        agent = self._agents.changed(request)
        origin = None if agent is None else origin_to_ask(request)
        if agent is None or origin is None:
            return None
        settings = self._checked_settings(request, origin)
        decision = await self._judge.judge(request, origin, agent, settings, again=True)
        match decision:
            case Passes(policy):
                policy.paces.enforce(agent)
                self._pacing.expect(request, origin, policy)
                self._outcomes.passed(request, origin, agent, decision, again=True)
                return None
            case Unasked():
                remove_stamp(request)
                return None
            case Requeued(copy):
                self.tally.revoke(request, origin)
                return copy
            case Refused():
                self._outcomes.refused(request, origin, agent, decision, again=True)
                raise exception_for(request.url, decision.verdict)
            case _:
                assert_never(decision)

    def process_response(self, request: Request, response: Response) -> Response:
        """Hands *response* on, or raises RobotsUseDisallowed for what its headers say."""
        objection = self._pages.received(request, response)
        if objection is None:
            return response
        policy, agent = objection.sent
        verdict = policy.signed(objection_of(objection.statement))
        refused = Refused(verdict, policy, objection.preferences)
        origin = policy.origin
        if self._audit_mode is not None:
            self._audit_mode.refuse_page(request, origin, agent, refused)
            return response
        self._outcomes.refused(request, origin, agent, refused, again=True)
        raise exception_for(request.url, verdict)

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        """Keeps requests for the next run that were allowed but not sent before closing.

        Likewise those that an error of this package kept from being sent. Raises RobotsGivenUp for
        those that were allowed but not sent before giving up their host.
        """
        if is_of_this_package(exception):
            self.crawl.errors.tell("what a request meets on its way", exception)
            return self.crawl.requeue.at_closing(request)
        if not isinstance(exception, (HeldAtClosing, HeldAtGivingUp)):
            return None
        origin = origin_to_ask(request)
        if origin is not None and isinstance(exception, HeldAtGivingUp):
            raise self._give_up(request, origin) from exception
        if origin is not None:
            self.tally.revoke(request, origin)
        return self.crawl.requeue.at_closing(request)

    # What follows

    def _checked_settings(self, request: Request, origin: Origin) -> RobotsSettings:
        """The settings of *request*. Raises RobotsOverrideError if its own override is wrong."""
        try:
            return self._settings_of(request, origin)
        except RobotsOverrideError as error:
            compat.stats_of(self._crawler).inc_value(stats.OVERRIDE_ERRORS)
            logger.error(
                "%s is not sent: %s",
                printable(request),
                printable(error),
                extra={"spider": self._crawler.spider},
            )
            raise

    def _report_refusal(
        self, request: Request, origin: Origin, agent: AgentNames, refused: Refused
    ) -> RobotsIgnored:
        """Counts and reports the refusal; returns the exception to raise."""
        if not self._late_errbacks.was_counted(request):
            self._outcomes.refused(request, origin, agent, refused)
        return exception_for(request.url, refused.verdict)

    def _give_up(self, request: Request, origin: Origin) -> RobotsIgnored:
        """Counts and reports it; returns the exception to raise."""
        settings = self._checked_settings(request, origin)
        refused = given_up_refusal(origin, self.policies.usable(origin, settings))
        agent = self._agents.judged_by(request, settings)
        self._outcomes.refused(request, origin, agent, refused, again=True)
        return exception_for(request.url, refused.verdict)

    def _append_last_process_request(self) -> None:
        compat.last_process_request(self._crawler, self._process_request_last)
