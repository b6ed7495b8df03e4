"""Counts what happened to each request, stamps it, and tells those who want to know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.events import denial_of, request_disallowed
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.crawl.requests import TAP_META_KEY, says_not_to_ask
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.pages.stamp import PagePreferences, Sent, put_stamp, remove_stamp
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.verdict import Reason, Verdict

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.policy import Passes, Policy, Refused
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.settings.override import Override

    from .judge import Asked


logger = crawl_log(__name__)

MOST_REASONS = 100
"""Reasons of overrides that get a stat of their own: each request may name another one."""

_SHOWN = 100
"""Characters of a reason in the name of a stat."""


class Outcomes:
    """The tally, the stats, the log, the signal and the stamps of a crawl, and what listens to
    decisions.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._crawler = crawl.crawler
        self._tally = crawl.get(Tally)
        self._pages = crawl.get(PagePreferences)
        self._policies = crawl.get(Policies)
        self._stats = compat.stats_of(crawl.crawler)
        self._override_reasons: set[str] = set()

    def exempt(self, request: Request) -> None:
        """*request* passes without a robots.txt check."""
        remove_stamp(request)
        self._tally.exempt(request)
        if says_not_to_ask(request) and TAP_META_KEY not in request.meta:
            self._tally.not_asked += 1
            self._stats.inc_value(stats.NOT_ASKED)
            for listener in self._crawl.exemption_listeners:
                listener(request)

    def passed(self, asked: Asked, decision: Passes) -> None:
        """A request is allowed."""
        policy = decision.policy
        request, origin, agent, _, again, _ = asked
        if not again:
            self._tally.allow(request, origin, self._shown(origin, policy))
            if policy.settings.override is not None:
                self._count_override(policy.settings.override)
        preferences = policy.preferences(request.url, agent)
        put_stamp(request, decision.verdict, policy, agent, preferences)
        self._pages.sent(request, Sent(policy, agent, preferences))
        if self._crawl.decision_listeners:
            self._tell(asked, decision)

    def refused(self, asked: Asked, decision: Refused) -> None:
        """A request is denied, perhaps after it was counted as allowed for another agent."""
        request, origin, agent, _, again, _ = asked
        policy = decision.policy
        if again:
            self._tally.revoke(request, origin)
        elif policy is not None and policy.settings.override is not None:
            self._count_override(policy.settings.override)
        self._count_skipped(decision)
        shown, is_given_up = self._shown(origin, policy), decision.verdict.reason is Reason.GIVEN_UP
        self._tally.deny(request, origin, shown, given_up=is_given_up)
        put_stamp(request, decision.verdict, policy, agent, decision.preferences)
        if policy is not None and not self._crawl.settings.enforces:
            preferences = policy.preferences(request.url, agent)
            self._pages.sent(request, Sent(policy, agent, preferences))
        self._announce(request, decision.verdict)
        self._tell(asked, decision)

    def _count_skipped(self, decision: Refused) -> None:
        if decision.preferences is not None:
            self._tally.skipped_pages += 1
        elif decision.verdict.reason is Reason.AI_PREFERENCE:
            self._tally.skipped_requests += 1

    def _count_override(self, override: Override) -> None:
        self._stats.inc_value(stats.OVERRIDDEN)
        reason = printable(override.label, _SHOWN)
        if reason in self._override_reasons or len(self._override_reasons) < MOST_REASONS:
            self._override_reasons.add(reason)
            self._stats.inc_value(stats.filled(stats.OVERRIDDEN_BY_REASON, reason))

    def _shown(self, origin: Origin, policy: Policy | None) -> Policy | None:
        """What the table shows of *origin*: its own policy, not that of one request."""
        if policy is None or policy.settings.override is None:
            return policy
        if policy.settings is self._crawl.settings.for_origin(origin):
            return policy
        return self._policies.usable(origin)

    def _tell(self, asked: Asked, decision: Passes | Refused) -> None:
        for listener in self._crawl.decision_listeners:
            listener(asked.request, asked.origin, asked.agent, decision)

    def _announce(self, request: Request, verdict: Verdict) -> None:
        spider, enforces = self._crawler.spider, self._crawl.settings.enforces
        is_denied = denial_of(verdict).SAYS
        self._stats.inc_value(stats.FORBIDDEN)
        self._stats.inc_value(stats.filled(stats.FORBIDDEN_BY_REASON, verdict.reason))
        if verdict.form is not None:
            self._stats.inc_value(stats.FORBIDDEN_IN_A_FORM)
        logger(self._crawler).debug(
            "%(is)s: %(request)s (%(why)s)",
            {
                "is": is_denied if enforces else f"Would be {is_denied[:1].lower()}{is_denied[1:]}",
                "request": printable(request),
                "why": verdict.describe(),
            },
        )
        if enforces:  # the signal says that a request was dropped
            self._crawler.signals.send_catch_log(
                request_disallowed, request=request, verdict=verdict, spider=spider
            )
