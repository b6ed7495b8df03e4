"""``ROBOTS_MODE = "observe"``: requests are judged, and sent whatever the verdict is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol.product_token import AgentNames

    from .judge import Asked

    Judging = Callable[[Asked], Coroutine[Any, Any, Request | Response | None]]

logger = crawl_log(__name__)


class AuditMode:
    """Requests that were sent before their robots.txt was known, and are judged when it is.

    The spider stays open until the last file has come, if nothing but that is left to do.
    """

    MOST_PENDING = 10_000
    """How many are remembered. Further ones stay undecided."""

    def __init__(self, crawl: Crawl, judge: Judging) -> None:
        """*judge*: called once with each request: as the agent that it was sent as since, if there
        is one and the request is allowed as the first."""
        self._crawl = crawl
        self._judge = judge
        self._crawler = crawl.crawler
        self._policies = crawl.get(Policies)
        self._tally = crawl.get(Tally)
        self._sent_as: dict[Request, AgentNames | None] = {}
        """The requests that are remembered, and the other agents that some were sent as."""
        connect = crawl.crawler.signals.connect
        connect(self._spider_opened, signals.spider_opened)
        connect(self._spider_idle, signals.spider_idle)
        connect(self._spider_closed, signals.spider_closed)

    async def check(self, asked: Asked) -> Request | Response | None:
        """Has a request judged: now if its policy is known, else as soon as it is."""
        request, origin, agent, settings, again, _ = asked
        if self._policies.usable_or_refresh(origin, request, settings) is not None:
            return await self._judge(asked)
        if not again:
            self._tally.undecided += 1
            if len(self._sent_as) < self.MOST_PENDING:
                self._sent_as[request] = None
                compat.run_in_background(self._judge_later(asked)).addErrback(self._log_failure)
        elif request in self._sent_as:
            self._sent_as[request] = agent
        return None

    async def _judge_later(self, asked: Asked) -> None:
        try:
            policy = await self._policies.obtain(asked.origin, asked.request, asked.settings)
        finally:
            sent_as = self._sent_as.pop(asked.request)
            if not self._sent_as:
                compat.wake_engine(self._crawler)
        if policy is not None:  # else the spider closes
            self._tally.undecided -= 1
            if sent_as is not None and policy.judged(asked.request.url, asked.agent).allowed:
                asked = asked._replace(agent=sent_as)
            await self._judge(asked)

    def _spider_opened(self) -> None:
        logger(self._crawler).warning(
            'ROBOTS_MODE is "observe": nothing is enforced. Requests that robots.txt forbids are '
            "sent, without delays, and only counted as forbidden."
        )

    def _spider_idle(self) -> None:
        if self._sent_as:
            raise DontCloseSpider

    def _spider_closed(self) -> None:
        if self._tally.undecided:
            self._crawl.stats.inc_value(stats.UNDECIDED, self._tally.undecided)

    def _log_failure(self, failure: Failure) -> None:
        if not isinstance(failure.value, compat.CANCELLED):
            logger(self._crawler).error(
                "A request could not be judged: %s", printable(repr(failure.value))
            )
