"""The middleware that checks every request against robots.txt, and drops what that forbids."""

from __future__ import annotations

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from typing_extensions import Self, assert_never

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK, Clock
from scrapy_robots_plus.crawl.crawl import Crawl, is_of_this_package
from scrapy_robots_plus.crawl.events import RobotsIgnored, RobotsOverrideError
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.crawl.requests import (
    OVERRIDE_META_KEY,
    SCHEDULED_META_KEY,
    STAMP_META_KEY,
    asks_for_sitemaps,
    origin_to_ask,
)
from scrapy_robots_plus.hosts.door import Door, HeldAtClosing, HeldAtDenial
from scrapy_robots_plus.hosts.refusals import Refusals
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.policy import Passes, Policy, Refused
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.pages.sitemaps import Sitemaps
from scrapy_robots_plus.pages.stamp import PagePreferences
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.product_token import AgentNames
from scrapy_robots_plus.settings.robots_settings import (
    RobotsSettings,
    report_settings_without_effect,
    report_unknown_settings,
)
from scrapy_robots_plus.settings.scrapys_own import is_replaced

from .judge import Asked, Judge, Outcomes, denial_of

logger = crawl_log(__name__)


class RobotsMiddleware:
    """Downloader middleware that replaces Scrapy's ``RobotsTxtMiddleware``.

    If the crawl obeys no rules, keeps no delays of any host and declares no uses, it raises
    :exc:`~scrapy.exceptions.NotConfigured`, like Scrapy's own.

    ``policies`` (:class:`~scrapy_robots_plus.origins.policies.Policies`) answers questions
    about robots.txt from code; ``settings`` are the checked settings
    (:class:`~scrapy_robots_plus.settings.robots_settings.RobotsSettings`); ``tally`` counts by
    origin.

    Raises :class:`~scrapy_robots_plus.RobotsSettingsError` if settings are wrong.
    """

    def __init__(self, crawler: Crawler, clock: Clock = DEFAULT_CLOCK) -> None:
        if is_replaced(type(self), crawler.settings, "DOWNLOADER_MIDDLEWARES"):
            raise NotConfigured
        self.crawl = crawl = Crawl.of(crawler, clock)
        report_settings_without_effect(crawl.settings)
        if not crawl.settings.is_on:
            raise NotConfigured  # without a message, like Scrapy's own
        report_unknown_settings(crawler.settings)
        crawl.has_middleware = True
        self.settings = crawl.settings
        self.policies = crawl.get(Policies)
        self.tally = crawl.get(Tally)
        self._crawler = crawler
        self._agents = crawl.get(Agents)
        self._judge = crawl.get(Judge)
        self._outcomes = Outcomes(crawl)
        self._pages = crawl.get(PagePreferences)
        enforces = self.settings.enforces
        self._equal_urls: EqualUrls | None = None
        if enforces and self.settings.clean_param:
            from .equal_urls import EqualUrls

            self._equal_urls = EqualUrls(crawler, self.settings)
        self._pacing = crawl.get(Door) if enforces else None
        self.policies.listeners.append(self._rules_came)
        self._refusals = crawl.get(Refusals) if enforces else None
        self._sitemaps = crawl.get(Sitemaps)
        crawler.signals.connect(self._spider_opened, signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    # In the order in which they see a request

    async def process_request(self, request: Request) -> Request | Response | None:
        """Waits for the robots.txt of *request* if needed. Raises RobotsIgnored if it is denied.

        Returns a request that the scheduler is to keep for later, or the response to a request for
        the sitemaps that a robots.txt names.
        """
        meta = request.meta
        was_scheduled = meta.pop(SCHEDULED_META_KEY, False)
        meta.pop(STAMP_META_KEY, None)  # it came with the meta of another request
        origin = origin_to_ask(request)
        if origin is None:
            self._outcomes.exempt(request)
            return None
        if OVERRIDE_META_KEY in meta:
            settings = self._checked_settings(request, origin)
        else:
            settings = self.settings.for_origin(origin)
        agent = self._agents.of(request, settings)
        return await self._judged(Asked(request, origin, agent, settings, was_scheduled))

    async def _process_request_last(self, request: Request) -> Request | Response | None:
        """Judges *request* again, after all middlewares, if one has changed its User-Agent."""
        sent = self._pages.under.get(request)
        if sent is None or sent.is_denied or sent.policy.settings.user_agent is not None:
            return None
        agent = self._agents.changed(request, sent.agent)
        if agent is None:
            return None
        asked = Asked.again(request, sent)
        stood_for_others = self._revoke(asked, sent.policy)
        request.meta.pop(STAMP_META_KEY, None)
        return await self._judged(asked._replace(agent=agent, is_compared=stood_for_others))

    async def _judged(self, asked: Asked) -> Request | Response | None:
        decision, request = await self._judge.judge(asked), asked.request
        match decision:
            case Passes():
                if asks_for_sitemaps(request):
                    answer = await self._sitemaps.response(request, decision.policy)
                    if answer is not None:
                        self._outcomes.exempt(request)
                        return answer
                self._let_through(asked, decision.policy)
                self._outcomes.passed(asked, decision)
            case None:
                self._outcomes.exempt(request)
            case Request():
                return decision
            case Refused():
                self._refuse(asked, decision)
            case _:
                assert_never(decision)
        return None

    def _let_through(self, asked: Asked, policy: Policy) -> None:
        """Puts the pace of *policy* in force; in observe mode, only shows it in the table."""
        if self._pacing is None:
            policy.pace_of(asked.agent)
            return
        if self._equal_urls is not None and asked.is_compared:
            self._equal_urls.let_through(asked.request, policy)
        policy.enforce(asked.agent)
        self._pacing.expect(asked.request, asked.origin, policy)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """Returns *response*; raises RobotsUseDisallowed if its page objects to a use of the crawl.

        After an error of this package, returns *request* for the next run.
        """
        try:
            objection = self._pages.received(request, response)
        except Exception as error:
            kept = self.process_exception(request, error) if is_of_this_package(error) else None
            if kept is None:
                raise
            return kept
        if objection is not None:
            sent, refused = objection
            asked = Asked.again(request, sent)
            self._outcomes.revoke(asked)
            self._refuse(asked, refused)
        return response

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        """Returns a copy of *request* for the next run if it was allowed but not sent at closing.

        Also returns one if an error of this package kept it from being sent. Raises RobotsIgnored
        if its host was given up, its site was walled or new rules denied it while it waited.
        """
        if isinstance(exception, RobotsIgnored):
            return None  # a denial, already counted
        if is_of_this_package(exception):
            self.crawl.errors.tell("the handling of a request", exception)
            return self._judge.at_closing(request)
        if not isinstance(exception, (HeldAtClosing, HeldAtDenial)):
            if self._refusals is not None:
                self._refusals.failed(request, exception)
            return None
        sent = self._pages.under.get(request)
        if sent is not None and not sent.is_denied:
            asked = Asked.again(request, sent)
            self._revoke(asked, sent.policy)
            if isinstance(exception, HeldAtDenial):
                refused = self._judge.refusal_now(asked, self._policy_now(asked))
                if refused is not None:
                    self._refuse(asked, refused, exception)
        return self._judge.at_closing(request)

    # What follows

    def _rules_came(self, origin: Origin, policy: Policy | None) -> None:
        """Applies *policy* to requests that passed under an older robots.txt, and still wait."""

        pacing = self._pacing
        if pacing is None:
            return

        def keep_pace(of: Policy, agent: AgentNames) -> None:
            if not of.denies_as_unreachable:
                of.enforce(agent)
                pacing.keep(origin, of.delay or 0.0, of.paces.visits)

        def keep_or_deny(request: Request) -> bool:
            """Keeps the pace that its own settings give *request*. Returns whether it is denied."""
            sent = self._pages.under.get(request)
            if sent is None:
                return False
            asked = Asked.again(request, sent)
            own = self._policy_now(asked)
            if own is not None:
                keep_pace(own, asked.agent)
            return self._judge.refusal_now(asked, own) is not None

        if policy is not None:
            keep_pace(policy, self._agents.default_under(policy.settings))
        pacing.recheck(origin, keep_or_deny)

    def _policy_now(self, asked: Asked) -> Policy | None:
        """Returns the policy that a request, which has passed, is under now; None if unknown."""
        request, origin, _, settings, _ = asked
        if self.settings.has_ended(settings, origin):
            settings = self._checked_settings(request, origin)
        return self.policies.usable(origin, settings)

    def _checked_settings(self, request: Request, origin: Origin) -> RobotsSettings:
        """Returns the settings of *request*.

        Raises RobotsOverrideError if its own override is wrong; observe mode goes on without it.
        """
        try:
            return self.crawl.settings_of(request, origin)
        except RobotsOverrideError as error:
            self._crawler.stats.inc_value(stats.OVERRIDE_ERRORS)
            enforces = self.settings.enforces
            does = "not sent" if enforces else "judged without it"
            logger(self._crawler).error("%s is %s: %s", printable(request), does, printable(error))
            if enforces:
                raise
            return self.crawl.settings.for_origin(origin)

    def _revoke(self, asked: Asked, policy: Policy) -> bool:
        """Takes back that a request has passed under *policy*: it has not been sent.

        Returns whether it stood for other URLs, too.
        """
        self._outcomes.revoke(asked)
        return self._equal_urls is not None and self._equal_urls.take_back(asked.request, policy)

    def _refuse(self, asked: Asked, refused: Refused, because: Exception | None = None) -> None:
        """Counts and reports a refusal. Raises RobotsIgnored, except in observe mode."""
        self._outcomes.refused(asked, refused)
        if self.settings.enforces:
            raise denial_of(refused.verdict)(asked.request.url, refused.verdict) from because

    def _spider_opened(self) -> None:
        if not self.settings.enforces:
            logger(self._crawler).warning(
                'ROBOTS_MODE is "observe": nothing is enforced. Requests that robots.txt forbids '
                "are sent, without delays, and only counted as forbidden."
            )
        self._agents.spider_opened()
        if self.settings.user_agent is None:  # else the headers of requests do not matter
            compat.last_process_request(self._crawler, self, self._process_request_last)
