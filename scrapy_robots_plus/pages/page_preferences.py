"""What is preferred for each page, from when its request is sent until its response is there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from scrapy import Request, signals

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats as keys
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.crawl.requests import STAMP_META_KEY
from scrapy_robots_plus.origins.judging import objection_of
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.policy import Policy, Refused
from scrapy_robots_plus.protocol.preferences import Preference, Preferences, Statement, combine
from scrapy_robots_plus.protocol.printable import printable, rfc3339

from .stamp import MOST_OF_A_TEXT, add_preferences

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import Response

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.protocol.product_token import AgentNames

logger = crawl_log(__name__)

_HEADERS = frozenset(
    b"Content-Usage Content-Signal X-Robots-Tag Tdm-Reservation Tdm-Policy Link".split()
)
"""Those that may say something of the use of a page."""

MOST_ORIGINS = 10_000
"""Origins whose contradictions are told in the log. Those of others are only counted."""


class Sent(NamedTuple):
    """What a request was sent under."""

    policy: Policy
    agent: AgentNames
    """By which it was judged."""
    preferences: Preferences
    """What was known before its page came."""


class PagePreferences:
    """The preferences for the pages of a crawl: adds what pages say, counts them, and finds
    objections.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawl.crawler
        self._stats = crawl.stats
        self._clock = crawl.clock
        self._said = crawl.get(Policies).said
        self.listeners: list[Callable[[Request, Sent, tuple[Statement, ...]], None]] = []
        """Called with each page that says something of its use, and what that is."""
        self._knows_departures = False
        self._crawler.signals.connect(self._spider_opened, signals.spider_opened)
        self._sent: WeakKeyDictionary[Request, Sent] = WeakKeyDictionary()
        self._once = Once(MOST_ORIGINS)

    def _spider_opened(self) -> None:
        self._knows_departures = compat.watch_handovers(self._crawler, self._departs)

    def _departs(self, request: Request) -> None:
        stamp = request.meta.get(STAMP_META_KEY)
        if isinstance(stamp, dict):  # a middleware may have removed it
            stamp["requested_at"] = rfc3339(self._clock.wall())

    def sent(self, request: Request, under: Sent) -> None:
        """*request* may be sent."""
        self._sent[request] = under
        if not self._knows_departures:
            self._departs(request)

    def received(self, request: Request, response: Response) -> tuple[Sent, Refused] | None:
        """Why the page must not be used; None if it may be, or the request was not checked."""
        sent = self._sent.get(request)
        if sent is None:
            return None
        policy, agent, preferences = sent
        uses = policy.settings.uses
        of_page: tuple[Statement, ...] = ()
        licenses: list[str] = []
        if policy.settings.ai_uses or not _HEADERS.isdisjoint(response.headers):  # in few crawls
            from .statements import said_in

            of_page, licenses = said_in(response, agent, in_page=bool(policy.settings.ai_uses))
        if uses and (of_page or request.url in self._said):
            self._said.put(request.url, tuple(map(_short, of_page)))
        if of_page or licenses:
            preferences = combine((*preferences.statements, *of_page))
            add_preferences(request, preferences, [_joined(response, each) for each in licenses])
            for listener in self.listeners:
                listener(request, sent, of_page)
        if not preferences:
            return None
        self._count(policy.origin, preferences)
        statement = preferences.objection(uses)
        if statement is not None and policy.skipped_uses:
            verdict = policy.signed(objection_of(statement))
            return sent, Refused(verdict, policy, preferences)
        if statement is not None:
            self._stats.inc_value(keys.OBJECTIONS)
        return None

    def _count(self, origin: Origin, preferences: Preferences) -> None:
        for use, preference in preferences.by_category().items():
            if preference is not Preference.UNKNOWN:
                self._stats.inc_value(keys.filled(keys.PREFERENCES, f"{use}/{preference}"))
        contradictions = preferences.contradictions
        if contradictions:
            self._stats.inc_value(keys.CONTRADICTIONS)
            if self._once.is_first(origin):
                logger(self._crawler).info(
                    "%s contradicts itself, so that the use is disallowed: %s. Further pages of it "
                    "are counted as %s.",
                    printable(origin),
                    "; ".join(each.describe() for each in contradictions),
                    keys.CONTRADICTIONS,
                )


def _short(said: Statement) -> Statement:
    """*said* with no more of its words than a stamp has."""
    policy = said.policy and said.policy[:MOST_OF_A_TEXT]
    return replace(said, text=said.text[:MOST_OF_A_TEXT], policy=policy)


def _joined(response: Response, address: str) -> str:
    """*address* as the page means it; unchanged if it is not a URL."""
    try:
        return response.urljoin(address.strip())
    except ValueError:
        return address
