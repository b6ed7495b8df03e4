"""The stamp of a request, ``response.meta["robots"]``: plain values, to which a page adds more."""

from __future__ import annotations

from copy import deepcopy
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from scrapy import Request, signals

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats as keys
from scrapy_robots_plus.crawl.clock import timestamp
from scrapy_robots_plus.crawl.requests import STAMP_META_KEY
from scrapy_robots_plus.origins.judging import objection_of
from scrapy_robots_plus.origins.policies import NOT_READ, Policies
from scrapy_robots_plus.origins.policy import NO_PREFERENCES, Policy, Refused
from scrapy_robots_plus.protocol.preferences import (
    LABELS,
    VOCABULARY,
    Preference,
    Preferences,
    Statement,
    combine,
)
from scrapy_robots_plus.protocol.printable import rfc3339
from scrapy_robots_plus.protocol.verdict import Reason, Verdict

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol.product_token import AgentNames

MOST_OF_A_TEXT = 500
"""Characters of a line of a robots.txt."""

_NOT_READ = dict.fromkeys(LABELS, NOT_READ)
_UNKNOWN = dict.fromkeys(LABELS, Preference.UNKNOWN.value)

_BLANK: dict[str, Any] = {
    "allowed": True,
    "reason": Reason.NOT_OBEYED.value,
    "rule": None,
    "line": None,
    "requested_at": None,
    "override": None,
    "robots_url": None,
    "source": None,
    "sha256": None,
    "fetched_at": None,
    "vocabulary": VOCABULARY,
    "preferences": _NOT_READ,
    "statements": [],
    "tdm_policy": None,
    "licenses": [],
    "page": None,
}
"""A stamp, as far as no file and no verdict decides."""

NOT_CHECKED = deepcopy(_BLANK)
"""Of an item of a page that was not checked, where each item must have the same columns."""


class Common(NamedTuple):
    """What all stamps have in common of what one agent asks for under one policy."""

    stamp: dict[str, Any]
    is_silent: bool
    """Whether no file says anything of the use of any page."""


_BY_NO_FILE = Common(_BLANK, is_silent=True)


def _common(policy: Policy, agent: AgentNames, reads_uses: bool) -> Common:
    settings, record, stamp = policy.settings, policy.record, _BLANK.copy()
    stamp["override"] = settings.override and settings.override.label
    if settings.needs_file:
        stamp["fetched_at"] = timestamp(record.fetched_at)
    if settings.needs_file or settings.robots_txt is not None:
        stamp["robots_url"], stamp["source"] = record.url, policy.source.value
        stamp["sha256"] = record.sha256 or None
        stamp["licenses"] = [each[:MOST_OF_A_TEXT] for each in policy.licenses(agent)]
    if reads_uses:
        stamp["preferences"] = _UNKNOWN
    return Common(stamp, policy.is_silent(agent))


def add_preferences(request: Request, preferences: Preferences) -> None:
    """Adds what a page says to the stamp of *request*."""
    stamp = request.meta.get(STAMP_META_KEY)
    if not isinstance(stamp, dict):  # a middleware may have removed it
        return
    before, known = stamp["preferences"], {each.category for each in preferences.statements}
    stamp |= preferences.as_dict()
    stamp["preferences"] |= {
        use: NOT_READ for use in before if before[use] == NOT_READ and use not in known
    }
    stamp["tdm_policy"] = (preferences.tdm_policy or "")[:MOST_OF_A_TEXT] or None


def put_page(request: Request, said: dict[str, Any]) -> None:
    """Adds what the page of *request* *said* to a copy of its stamp, which others may share."""
    request.meta[STAMP_META_KEY] = {**request.meta.get(STAMP_META_KEY, {}), "page": said}


_HEADERS = frozenset(
    b"Content-Usage Content-Signal X-Robots-Tag Tdm-Reservation Tdm-Policy".split()
)
"""Those that may say something of the use of a page."""


class Sent(NamedTuple):
    """What a request was sent under."""

    policy: Policy
    agent: AgentNames
    """By which it was judged."""
    preferences: Preferences
    """What was known before its page came."""
    is_denied: bool = False
    """Whether that denies it, and it is sent all the same, in observe mode."""


class PagePreferences:
    """The preferences for the pages of a crawl: adds what pages say, counts them, and finds
    objections.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawl.crawler
        self._stats = crawl.stats
        self._clock = crawl.clock
        self._said = crawl.get(Policies).said
        self._knows_departures = False
        self._crawler.signals.connect(self._spider_opened, signals.spider_opened)
        self._sent: WeakKeyDictionary[Request, Sent] = WeakKeyDictionary()
        # Of the sites that requests come to in turns; all its arguments are by position.
        self._common = lru_cache(min(64, crawl.settings.cache_size))(_common)

    def _spider_opened(self) -> None:
        self._knows_departures = compat.watch_handovers(self._crawler, self._departs)

    def _departs(self, request: Request) -> None:
        stamp = request.meta.get(STAMP_META_KEY)
        if isinstance(stamp, dict):  # a middleware may have removed it
            stamp["requested_at"] = rfc3339(self._clock.wall())

    def stamp(
        self,
        request: Request,
        verdict: Verdict,
        policy: Policy | None,
        agent: AgentNames,
        preferences: Preferences | None = None,
    ) -> Preferences:
        """Stamps *request*, judged for *agent* under *policy*, in the place of an earlier stamp.

        Returns what is preferred for its page: *preferences*, or else what files of the site say.
        """
        common = _BY_NO_FILE
        if policy is not None:
            common = self._common(policy, agent, policy.reads_uses)
            if preferences is None and not common.is_silent:
                preferences = policy.preferences(request.url, agent)
        # For each request: what stays the same is copied at once, and what may grow by itself.
        stamp = request.meta[STAMP_META_KEY] = common.stamp.copy()
        rule = verdict.rule
        stamp["allowed"] = verdict.allowed
        stamp["reason"] = verdict.reason._value_  # ``value`` takes ten times as long in Python 3.11
        stamp["rule"] = rule if rule is None else rule[:MOST_OF_A_TEXT]
        stamp["line"] = verdict.line
        stamp["preferences"] = stamp["preferences"].copy()
        stamp["statements"] = []
        stamp["licenses"] = stamp["licenses"].copy()
        if preferences:
            add_preferences(request, preferences)
        return preferences or NO_PREFERENCES

    def sent(self, request: Request, under: Sent) -> None:
        """*request* may be sent."""
        self._sent[request] = under
        if not self._knows_departures:
            self._departs(request)

    def exempt(self, request: Request) -> None:
        """*request* may be sent, and is not checked: no more, if it comes once more."""
        self._sent.pop(request, None)

    def under(self, request: Request) -> Sent | None:
        """What *request* is sent under; None if it was not checked."""
        return self._sent.get(request)

    def received(self, request: Request, response: Response) -> tuple[Sent, Refused] | None:
        """Why the page must not be used; None if it may be, or the request was not checked."""
        sent = self._sent.pop(request, None)
        if sent is None:
            return None
        policy, agent, preferences, is_denied = sent
        uses = policy.settings.uses
        of_page: tuple[Statement, ...] = ()
        if policy.settings.ai_uses or not _HEADERS.isdisjoint(response.headers):  # in few crawls
            from .headers_and_meta_tags import said_in

            of_page = said_in(response, agent, in_page=bool(policy.settings.ai_uses))
        if uses and (of_page or request.url in self._said):
            self._said.put(request.url, tuple(map(_short, of_page)))
        if of_page:
            preferences = combine((*preferences.statements, *of_page))
            add_preferences(request, preferences)
        if not preferences:
            return None
        self._count(preferences)
        statement = preferences.objection(uses)
        if statement is not None and policy.skipped_uses:
            if is_denied:
                return None  # it is counted already
            verdict = policy.signed(objection_of(statement))
            return sent, Refused(verdict, policy, preferences)
        if statement is not None:
            self._stats.inc_value(keys.OBJECTIONS)
        return None

    def _count(self, preferences: Preferences) -> None:
        for use, preference in preferences.by_category().items():
            if preference is not Preference.UNKNOWN:
                self._stats.inc_value(keys.filled(keys.PREFERENCES, f"{use}/{preference}"))
        if preferences.contradictions:
            self._stats.inc_value(keys.CONTRADICTIONS)


def _short(said: Statement) -> Statement:
    """*said* with no more of its words than a stamp has."""
    policy = said.policy and said.policy[:MOST_OF_A_TEXT]
    return said._replace(text=said.text[:MOST_OF_A_TEXT], policy=policy)
