"""The stamp of a request, ``response.meta["robots"]``: plain values, to which its page adds."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.http import Response

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats as keys
from scrapy_robots_plus.crawl.clock import timestamp
from scrapy_robots_plus.crawl.crawl import Crawl
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
from scrapy_robots_plus.protocol.product_token import AgentNames
from scrapy_robots_plus.protocol.verdict import Reason, Verdict

MOST_OF_A_TEXT = 500
"""Characters of a text, such as a line of a robots.txt, that a stamp keeps."""

_NOT_READ = dict.fromkeys(LABELS, NOT_READ)
_UNKNOWN = dict.fromkeys(LABELS, Preference.UNKNOWN.value)

NOT_CHECKED: dict[str, Any] = {
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
"""The values of a stamp before a file or a verdict changes them. It is also the stamp for items of
pages that were not checked, where all items need the same columns."""


def _common(policy: Policy, agent: AgentNames, reads_uses: bool) -> tuple[dict[str, Any], bool]:
    """Returns what the stamps of requests by one agent under one policy have in common.

    Also returns whether no file of the site says anything about the use of any page.
    """
    settings, record, stamp = policy.settings, policy.record, NOT_CHECKED.copy()
    stamp["override"] = settings.override and settings.override.label
    if settings.needs_file:
        stamp["fetched_at"] = timestamp(record.fetched_at)
    if settings.needs_file or settings.robots_txt is not None:
        stamp["robots_url"], stamp["source"] = record.url, policy.source.value
        stamp["sha256"] = record.sha256 or None
        stamp["licenses"] = [each[:MOST_OF_A_TEXT] for each in policy.licenses(agent)]
    if reads_uses:
        stamp["preferences"] = _UNKNOWN
    return stamp, policy.is_silent(agent)


def add_preferences(request: Request, preferences: Preferences) -> None:
    """Adds *preferences* to the stamp of *request*."""
    stamp = request.meta.get(STAMP_META_KEY)
    if not isinstance(stamp, dict) or "preferences" not in stamp:  # a middleware took its place
        return
    before, known = stamp["preferences"], {each.category for each in preferences.statements}
    stamp |= preferences.as_dict()
    # A use that was not read stays so, unless a statement is about it.
    stamp["preferences"] |= {
        use: NOT_READ for use in before if before[use] == NOT_READ and use not in known
    }
    stamp["tdm_policy"] = (preferences.tdm_policy or "")[:MOST_OF_A_TEXT] or None


_HEADERS = frozenset(
    b"Content-Usage Content-Signal X-Robots-Tag Tdm-Reservation Tdm-Policy".split()
)
"""Headers that may say something about the use of a page."""


class Sent(NamedTuple):
    """What was known about a request when it was sent."""

    policy: Policy
    agent: AgentNames
    """The user agent that the request was judged for."""
    preferences: Preferences
    """The preferences that were known before the page came."""
    is_denied: bool = False
    """Whether the request was denied, and sent all the same, in observe mode."""


class PagePreferences:
    """The preferences for the pages of a crawl: stamped, counted, and searched for objections."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawl.crawler
        self._stats = crawl.stats
        self._clock = crawl.clock
        self._said = crawl.get(Policies).said
        self._knows_departures = False
        self._crawler.signals.connect(self._spider_opened, signals.spider_opened)
        self.under: WeakKeyDictionary[Request, Sent] = WeakKeyDictionary()
        """What requests that were checked, and may be sent, are sent under."""
        # For the sites that requests alternate between. Call it with positional arguments only.
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
        """Stamps *request*, judged for *agent* under *policy*, and replaces an earlier stamp.

        Returns the *preferences* for its page; if not given, what files of the site say.
        """
        common = NOT_CHECKED
        if policy is not None:
            common, is_silent = self._common(policy, agent, policy.reads_uses)
            if preferences is None and not is_silent:
                preferences = policy.preferences(request.url, agent)
        rule = verdict.rule
        # Runs for each request: what is common is copied at once, and the lists that may grow.
        request.meta[STAMP_META_KEY] = {
            **common,
            "allowed": verdict.allowed,
            "reason": verdict.reason._value_,  # ``value`` takes ten times as long in Python 3.11
            "rule": rule and rule[:MOST_OF_A_TEXT],
            "line": verdict.line,
            "preferences": common["preferences"].copy(),
            "statements": [],
            "licenses": common["licenses"].copy(),
        }
        if not preferences:
            return NO_PREFERENCES
        add_preferences(request, preferences)
        return preferences

    def sent(self, request: Request, under: Sent) -> None:
        """Remembers that *request* may be sent, and *under* what."""
        self.under[request] = under
        if not self._knows_departures:
            self._departs(request)

    def received(self, request: Request, response: Response) -> tuple[Sent, Refused] | None:
        """Adds what *response* says to the stamp; returns why its page must not be used.

        None if it may be used, or if the request was not checked.
        """
        sent = self.under.pop(request, None)
        if sent is None:
            return None
        policy, agent, preferences, is_denied = sent
        uses = policy.settings.uses
        of_page: tuple[Statement, ...] = ()
        if policy.settings.ai_uses or not _HEADERS.isdisjoint(response.headers):  # in few crawls
            from .x_robots_tag_and_meta_tags import said_in_headers, said_in_metas

            of_page = said_in_headers(response, agent)
            if policy.settings.ai_uses:
                of_page += said_in_metas(response, agent)
        if uses and (of_page or request.url in self._said):
            self._said.put(request.url, tuple(map(_short, of_page)))
        if of_page:
            preferences = combine((*preferences.statements, *of_page))
            add_preferences(request, preferences)
        if not preferences:
            return None
        self._count(preferences)
        statement = preferences.objection(uses)
        if statement is None:
            return None
        if not policy.settings.skipped_uses:
            self._stats.inc_value(keys.OBJECTIONS)
        elif not is_denied:  # otherwise it is counted already
            return sent, Refused(policy.signed(objection_of(statement)), policy, preferences)
        return None

    def _count(self, preferences: Preferences) -> None:
        for use, preference in preferences.by_category().items():
            if preference is not Preference.UNKNOWN:
                self._stats.inc_value(keys.filled(keys.PREFERENCES, f"{use}/{preference}"))
        if preferences.contradictions:
            self._stats.inc_value(keys.CONTRADICTIONS)


def _short(said: Statement) -> Statement:
    """Returns *said*, with its texts cut to what a stamp keeps."""
    policy = said.policy and said.policy[:MOST_OF_A_TEXT]
    return said._replace(text=said.text[:MOST_OF_A_TEXT], policy=policy)
