"""``ROBOTS_MODE = "audit"``: requests are judged, and sent whatever the verdict is."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from scrapy import signals
from scrapy.exceptions import DontCloseSpider

from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.crawl.exceptions import RobotsOverrideError
from scrapy_robots_plus.crawl.preferences.stamp import remove_stamp
from scrapy_robots_plus.crawl.requests import origin_to_ask
from scrapy_robots_plus.protocol.printable import printable

from .judge import Passes, Refused

if TYPE_CHECKING:
    from scrapy import Request
    from twisted.python.failure import Failure

    from scrapy_robots_plus.crawl.policies.policy import Policy
    from scrapy_robots_plus.crawl.settings import RobotsSettings
    from scrapy_robots_plus.policy.origin import Origin
    from scrapy_robots_plus.protocol.product_token import AgentNames

    from .crawl import Crawl
    from .outcomes import Outcomes

logger = logging.getLogger(__name__)


class AuditMode:
    """Judges each request when its robots.txt is known, and holds up none.

    The spider stays open until the last file has come, if nothing but that is left to do.
    """

    MOST_PENDING = 10_000
    """Requests that were sent before their robots.txt was known, and are remembered until it is.
    Further ones stay undecided."""

    def __init__(self, crawl: Crawl, outcomes: Outcomes) -> None:
        self._crawl = crawl
        self._outcomes = outcomes
        self._agents = crawl.agents
        self._policies = crawl.policies
        self._stats = compat.stats_of(crawl.crawler)
        self._tally = crawl.tally
        self._pending: set[Request] = set()
        self._sent_as: WeakKeyDictionary[Request, AgentNames] = WeakKeyDictionary()
        """The agents that pending requests are sent as, if they are judged by others first."""
        self._denied: WeakSet[Request] = WeakSet()
        connect = crawl.crawler.signals.connect
        connect(self._spider_opened, signals.spider_opened)
        connect(self._spider_idle, signals.spider_idle)
        connect(self._spider_closed, signals.spider_closed)

    def judge(self, request: Request) -> None:
        """Judges *request*, now or when its robots.txt is known."""
        origin = origin_to_ask(request)
        if origin is None:
            self._outcomes.exempt(request)
            return
        remove_stamp(request)
        self._crawl.requeue.welcome(request)
        settings = self._settings_of(request, origin)
        agent = self._agents.judged_by(request, settings)
        policy = self._policies.usable_or_refresh(origin, request, settings)
        if policy is not None:
            self._decide(request, origin, agent, policy)
            return
        self._tally.undecided += 1
        if len(self._pending) < self.MOST_PENDING:
            self._pending.add(request)
            judging = self._judge_when_known(request, origin, agent, settings)
            compat.run_in_background(judging).addErrback(self._log_failure)

    def judge_again(self, request: Request) -> None:
        """Judges *request* as the agent that it is sent as, if that is another one."""
        agent = self._agents.changed(request)
        origin = None if agent is None else origin_to_ask(request)
        if agent is None or origin is None or request in self._denied:
            return
        if request in self._pending:
            self._sent_as[request] = agent
            return
        policy = self._policies.usable(origin, self._settings_of(request, origin))
        if policy is not None:
            self._decide(request, origin, agent, policy, again=True)

    def refuse_page(
        self, request: Request, origin: Origin, agent: AgentNames, refused: Refused
    ) -> None:
        """The page of *request* would not be handed to the spider."""
        if request not in self._denied:
            self._denied.add(request)
            self._outcomes.refused(request, origin, agent, refused, again=True)

    def _settings_of(self, request: Request, origin: Origin) -> RobotsSettings:
        try:
            return self._crawl.request_settings.of(request, origin)
        except RobotsOverrideError as error:
            self._stats.inc_value(stats.OVERRIDE_ERRORS)
            logger.error(
                "%s is judged without it: %s",
                printable(request),
                printable(error),
                extra={"spider": self._crawl.crawler.spider},
            )
            return self._crawl.request_settings.of_origin(origin)

    async def _judge_when_known(
        self, request: Request, origin: Origin, agent: AgentNames, settings: RobotsSettings
    ) -> None:
        try:
            policy = await self._policies.obtain(origin, request, settings)
        finally:
            self._pending.discard(request)
            if not self._pending:
                compat.wake_engine(self._crawl.crawler)
        if policy is None:  # the spider closes
            return
        self._tally.undecided -= 1
        sent_as = self._sent_as.pop(request, None)
        if sent_as is not None and policy.refusal(request.url, agent) is None:
            agent = sent_as
        self._decide(request, origin, agent, policy)

    def _decide(
        self,
        request: Request,
        origin: Origin,
        agent: AgentNames,
        policy: Policy,
        *,
        again: bool = False,
    ) -> None:
        self._policies.mark_used(origin)
        verdict = policy.refusal(request.url, agent)
        if verdict is None:
            policy.paces.of(agent)  # so that the table has what it asks for; nothing keeps it
            self._outcomes.passed(request, origin, agent, Passes(policy), again=again)
        else:
            self._denied.add(request)
            self._outcomes.refused(request, origin, agent, Refused(verdict, policy), again=again)

    def _spider_opened(self) -> None:
        logger.warning(
            'ROBOTS_MODE is "audit": nothing is enforced. Requests that robots.txt forbids are '
            "sent, without delays, and only counted as forbidden.",
            extra={"spider": self._crawl.crawler.spider},
        )

    def _spider_idle(self) -> None:
        if self._pending:
            raise DontCloseSpider

    def _spider_closed(self) -> None:
        if self._tally.undecided:
            self._stats.inc_value(stats.UNDECIDED, self._tally.undecided)

    def _log_failure(self, failure: Failure) -> None:
        if not isinstance(failure.value, compat.CANCELLED):
            logger.error(
                "A request could not be judged: %s",
                printable(repr(failure.value)),
                extra={"spider": self._crawl.crawler.spider},
            )
