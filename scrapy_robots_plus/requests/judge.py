"""The decision about what happens to a request because of robots.txt, and how it is reported."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakSet

from scrapy import Request

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import events
from scrapy_robots_plus.crawl import stats as keys
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.events import request_disallowed
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.crawl.requests import (
    PUT_BACK_META_KEY,
    TAP_META_KEY,
    asks_for_sitemaps,
    says_not_to_ask,
)
from scrapy_robots_plus.hosts.given_up import GivenUp
from scrapy_robots_plus.origins.policies import Policies, closing_verdict
from scrapy_robots_plus.origins.policy import Passes, Policy, Refused
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.pages.stamp import PagePreferences, Sent
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.product_token import AgentNames
from scrapy_robots_plus.protocol.sent_forms import asks_for_robots_txt
from scrapy_robots_plus.protocol.verdict import Reason, Verdict
from scrapy_robots_plus.settings.override import Override
from scrapy_robots_plus.settings.robots_settings import RobotsSettings

logger = crawl_log(__name__)

MOST_REASONS = 100
"""The most reasons of overrides that get their own stat: each request may name another one."""

_SHOWN = 100
"""The most characters of a reason in the name of a stat."""


_OF_REASON: dict[Reason, type[events.RobotsIgnored]] = {
    Reason.AI_PREFERENCE: events.RobotsUseDisallowed,
    Reason.GIVEN_UP: events.RobotsGivenUp,
    Reason.WALLED: events.RobotsWalled,
}


def denial_of(verdict: Verdict) -> type[events.RobotsIgnored]:
    """Returns the exception to raise when *verdict* denies a URL."""
    kind = events.RobotsUnreachable if verdict.reason.is_unread else events.RobotsDisallowed
    return _OF_REASON.get(verdict.reason, kind)


class Asked(NamedTuple):
    """A request, and what it is judged by."""

    request: Request
    origin: Origin
    agent: AgentNames
    settings: RobotsSettings
    """The settings of the request."""
    is_compared: bool = False
    """Whether its URL is compared with equal ones that were let through."""

    @classmethod
    def again(cls, request: Request, sent: Sent) -> Asked:
        """Returns *request*, which was judged before, and what it was judged by."""
        return cls(request, sent.policy.origin, sent.agent, sent.policy.settings)


Decision = Passes | Refused | Request | None
"""The decision about a request. A Request goes back to the scheduler, because its robots.txt cannot
be read yet. None means that it may be sent, and no policy decided: it may be for the robots.txt
itself, or the spider closed before there was a policy, and the crawl keeps delays only."""


class Judge:
    """The judge of requests: it finds the policy for each, waits for it if needed, and asks it.

    The tally and the stats of refusals are left to the middleware.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._policies = crawl.get(Policies)
        self._given_up = crawl.get(GivenUp)
        self._kept: WeakSet[Request] = WeakSet()
        """Copies that were returned for the scheduler when the spider had closed. One that comes
        again never reached it: ``engine.download_async()`` sends whatever it gets."""

    def is_exempt(self, request: Request, origin: Origin) -> bool:
        """Returns whether *request* may be for the robots.txt that is being fetched.

        A middleware may have replaced our request with it, and it would wait for itself. It is
        always allowed (RFC 9309 2.2.2).
        """
        if asks_for_sitemaps(request):  # it is never sent
            return False
        is_fetching = self._policies.is_fetching(origin) and self._policies.usable(origin) is None
        return is_fetching and asks_for_robots_txt(request.url)

    async def judge(self, asked: Asked) -> Decision:
        """Returns the decision about the request in *asked*."""
        request, origin, agent, settings, _ = asked
        if PUT_BACK_META_KEY in request.meta:
            request.dont_filter = request.meta.pop(PUT_BACK_META_KEY)
        policy = self._policies.usable_or_refresh(origin, request, settings)
        if policy is None:
            if self.is_exempt(request, origin):
                return None
            self._policies.waiting += 1
            try:
                policy = await self._policies.obtain(origin, request, settings)
            finally:
                self._policies.waiting -= 1
            if policy is None:  # the spider closed before there was one
                if not self._crawl.settings.enforces:
                    return None
                # Without ROBOTSTXT_OBEY nothing is dropped.
                at_closing = Refused(closing_verdict(origin), None) if settings.obey else None
                return self._copy_for_scheduler(request, origin) or at_closing
        url = request.url
        if policy.denies_as_unreachable and asks_for_sitemaps(request):
            url = f"{origin}/"  # 2.2.2 allows a robots.txt, but its sitemaps must have been read
        verdict = policy.judged(url, agent)
        if verdict.allowed:
            return self._given_up_refusal(origin, policy) or Passes(policy, verdict)
        refused = Refused(policy.signed(verdict), policy)
        if policy.denies_as_unreachable and self._queue_holds(origin, policy):
            return self._copy_for_scheduler(request, origin) or refused
        return refused

    def refusal_now(self, asked: Asked, policy: Policy | None) -> Refused | None:
        """Returns why *policy*, or what is known of its host, denies a request that has passed;
        None if it does not.
        """
        given_up = self._given_up_refusal(asked.origin, policy)
        if given_up is not None or policy is None or policy.denies_as_unreachable:
            return given_up  # if unreachable, it passed under an older copy that was good
        verdict = policy.judged(asked.request.url, asked.agent)
        return None if verdict.allowed else Refused(policy.signed(verdict), policy)

    def _given_up_refusal(self, origin: Origin, policy: Policy | None) -> Refused | None:
        """Returns the refusal of *origin* if it is walled or its host is given up; else None."""
        reason = self._given_up.reason(origin)
        if reason is None:
            return None
        url = origin.robots_url if policy is None else policy.record.url
        label = None if policy is None else policy.override_label
        return Refused(Verdict(False, reason, robots_url=url, override=label), policy)

    def _queue_holds(self, origin: Origin, policy: Policy) -> bool:
        """Returns whether the queue holds a request that *policy* denies as unreachable.

        The queue goes by the origin, not by the override of a request.
        """
        if not self._crawl.settings.enforces:
            return False
        if policy.settings is self._crawl.settings.for_origin(origin):
            return True
        known = self._policies.usable(origin)
        return known is not None and known.denies_as_unreachable

    # A request that a middleware returns goes to the scheduler. The duplicate filter has seen it,
    # so the copy has ``dont_filter``; the original value is restored when it comes again.

    def _copy_for_scheduler(self, request: Request, origin: Origin) -> Request | None:
        """Returns a copy of *request* for the queue to keep while its robots.txt cannot be read.

        None if the request is to fail.
        """
        if self._crawl.is_closing:
            # However the fetch ended: the closing crawl itself may have cut it off.
            return self.at_closing(request)
        queue = self._crawl.queue
        if queue is None or not queue.takes_back(request, origin):
            return None  # any other queue would hand it out again at once
        return self._copy(request)

    def at_closing(self, request: Request) -> Request | None:
        """Returns a copy for the scheduler of *request*, which waited when the spider closed.

        None if the scheduler forgets its requests or would not get this one, or if *request* cannot
        be written to disk.
        """
        crawler = self._crawl.crawler
        if request in self._kept:
            return None
        if not (compat.scheduler_persists(crawler) and compat.fits_on_disk(request, crawler)):
            return None
        copy = self._copy(request)
        self._kept.add(copy)
        return copy

    def _copy(self, request: Request) -> Request:
        self._crawl.stats.inc_value(keys.REQUEUED)
        meta = {**request.meta, PUT_BACK_META_KEY: request.dont_filter}
        return request.replace(dont_filter=True, meta=meta)


class Outcomes:
    """The tally, stats, log, signal and stamps of a crawl, and the listeners to its decisions."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._crawler = crawl.crawler
        self._tally = crawl.get(Tally)
        self._pages = crawl.get(PagePreferences)
        self._policies = crawl.get(Policies)
        self._stats = crawl.crawler.stats
        self._override_reasons: set[str] = set()

    def exempt(self, request: Request) -> None:
        """Records that *request* passes without a robots.txt check."""
        self._tally.exempt(request)
        self._pages.under.pop(request, None)  # it may have been judged before
        if says_not_to_ask(request) and TAP_META_KEY not in request.meta:
            self._tally.not_asked += 1
            self._stats.inc_value(keys.NOT_ASKED)
            for listener in self._crawl.exemption_listeners:
                listener(request)

    def passed(self, asked: Asked, decision: Passes) -> None:
        """Records that a request is allowed."""
        request, origin, agent, _, _ = asked
        policy = decision.policy
        shown: Policy | None = policy
        if policy.settings.override is not None:
            shown = self._shown(origin, policy)
            self._count_override(policy.settings.override)
        self._tally.allow(request, origin, shown)
        preferences = self._pages.stamp(request, decision.verdict, policy, agent)
        self._pages.sent(request, Sent(policy, agent, preferences))
        if self._crawl.decision_listeners:
            self._tell(asked, decision)

    def refused(self, asked: Asked, decision: Refused) -> None:
        """Records and announces that a request is denied."""
        request, origin, agent, *_ = asked
        policy = decision.policy
        if policy is not None:
            self._count_override(policy.settings.override)
        if decision.preferences is not None:
            self._tally.skipped_pages += 1
        elif decision.verdict.reason is Reason.AI_PREFERENCE:
            self._tally.skipped_requests += 1
        shown, is_given_up = self._shown(origin, policy), decision.verdict.reason is Reason.GIVEN_UP
        self._tally.deny(request, origin, shown, given_up=is_given_up)
        self._pages.stamp(request, decision.verdict, policy, agent, decision.preferences)
        if policy is not None and not self._crawl.settings.enforces:
            preferences = policy.preferences(request.url, agent)
            self._pages.sent(request, Sent(policy, agent, preferences, is_denied=True))
        self._announce(request, decision.verdict)
        self._tell(asked, decision)

    def revoke(self, asked: Asked) -> None:
        """Takes an allowed request out of the counts: it is judged again, or not sent after all."""
        self._tally.revoke(asked.request, asked.origin)
        self._count_override(asked.settings.override, -1)

    def _count_override(self, override: Override | None, requests: int = 1) -> None:
        if override is None:
            return
        self._stats.inc_value(keys.OVERRIDDEN, requests)
        reason = printable(override.label, _SHOWN)
        if reason in self._override_reasons or len(self._override_reasons) < MOST_REASONS:
            self._override_reasons.add(reason)
            self._stats.inc_value(keys.filled(keys.OVERRIDDEN_BY_REASON, reason), requests)

    def _shown(self, origin: Origin, policy: Policy | None) -> Policy | None:
        """Returns the policy that the table shows for *origin*: its own, not one request's."""
        if policy is None or policy.settings.override is None:
            return policy
        if policy.settings is self._crawl.settings.for_origin(origin):
            return policy
        return self._policies.usable(origin)

    def _tell(self, asked: Asked, decision: Passes | Refused) -> None:
        for listener in self._crawl.decision_listeners:
            listener(asked.request, asked.origin, asked.agent, decision)

    def _announce(self, request: Request, verdict: Verdict) -> None:
        says, enforces = denial_of(verdict).SAYS, self._crawl.settings.enforces
        if not enforces:
            says = f"Would be {says[:1].lower()}{says[1:]}"
        self._stats.inc_value(keys.FORBIDDEN)
        self._stats.inc_value(keys.filled(keys.FORBIDDEN_BY_REASON, verdict.reason))
        logger(self._crawler).debug("%s: %s (%s)", says, printable(request), verdict.describe())
        if enforces:  # the signal says that a request was dropped
            self._crawler.signals.send_catch_log(
                request_disallowed, request=request, verdict=verdict, spider=self._crawler.spider
            )
