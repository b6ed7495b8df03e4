"""The retrieval of an origin's policy: from the store, else from the site."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.events import robots_changed
from scrapy_robots_plus.protocol.access import Access, Failure
from scrapy_robots_plus.protocol.http_caching import http_date
from scrapy_robots_plus.protocol.origin import ROBOTS_TXT, Origin
from scrapy_robots_plus.protocol.printable import cut
from scrapy_robots_plus.protocol.verdict import Reason
from scrapy_robots_plus.storage.record import RobotsRecord

from .agents import Agents
from .crawl_store import CrawlStore
from .fetch_budget import FetchBudget
from .fetch_lease import SPARE_SECONDS, Leases, Turn
from .fetch_results import NETWORK_FAILURES
from .fetcher import Fetcher, Wanted
from .freshness import FetchResult, Source, as_meant_under, fresh_for, may_answer, receive
from .parsers import ParsedFile, Parsers, charset_of
from .policy import Policy

_MOST_OF_A_DETAIL = 500
"""How many characters of an error in words are remembered: it may quote a header of the site."""


class Found(NamedTuple):
    """The record of a file, and where it was found."""

    record: RobotsRecord
    """The record, with the text of the rules unless a policy in memory has them."""
    source: Source = Source.STORE
    detail: str = ""
    """What happened, in words, if the status does not say it."""
    is_temporary: bool = False
    """Whether the record is of use to this crawl only, not to the next: the site was not asked."""


class Retrieved(NamedTuple):
    """The result of a retrieval."""

    previous: Policy | None
    """The policy that was in memory before."""
    policy: Policy
    record: RobotsRecord
    """The record, with the text of the rules unless it is that of ``previous``."""


class Retrieval:
    """The component that gets policies from the store or the site, and stores what it fetches."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawl.crawler
        self._settings = settings = crawl.settings
        self._agents = crawl.get(Agents)
        self._fetcher = crawl.get(Fetcher)
        self._budget = crawl.get(FetchBudget)
        self._clock = crawl.clock
        self._store = CrawlStore(crawl)
        server, seconds = self._store.server, settings.fetch_timeout + SPARE_SECONDS
        self._leases = Leases(server, seconds) if server else None
        self._stats = crawl.stats
        self.parsers = Parsers(crawl.crawler)
        """The parsers of the crawl."""
        self.listeners: list[Callable[[Retrieved], None]] = []
        """Functions called with the result of each retrieval."""
        self._unannounced: dict[Origin, tuple[Policy, Found, Policy | None]] = {}
        """What was read of a site whose ``tdmrep.json`` is being fetched."""

    async def retrieve(self, origin: Origin, previous: Policy | None) -> Policy:
        """Returns the policy of *origin*, up to date; *previous* is the one in memory."""
        known = previous.record if previous else None
        wanted = Wanted(origin, known, previous is not None and previous.may_answer)
        policy, found = self._read(await self._find(wanted), previous)
        self._unannounced[origin] = policy, found, previous
        try:
            if self._asks_of_uses(origin.tdmrep, policy):
                tdmrep = await self._find(Wanted(origin.tdmrep, is_refresh=True))
                policy.apply_tdmrep(tdmrep.record, previous)
        except compat.CANCELLED:
            if not compat.is_closing(self._crawler):  # else no waiter is left
                raise
        finally:
            self.announce(origin)
        return policy

    def announce(self, origin: Origin) -> None:
        """Announces the robots.txt of *origin* that was read, if that is still to be done.

        It waits for the site's ``tdmrep.json``, but not when the crawl ends: without asyncio, that
        has ended before the fetch has.
        """
        if (read := self._unannounced.pop(origin, None)) is not None:
            self._announce(*read)

    def failed(self, origin: Origin, previous: Policy | None) -> Policy:
        """Returns the policy of *origin* after a retrieval that was interrupted."""
        result = FetchResult(Failure.ERROR, origin.robots_url, interrupted=True)
        known = previous.record if previous else None
        policy, found = self._read(self._found(origin, result, known), previous)
        return self._announce(policy, found, previous)

    # A file: a robots.txt, or a ``tdmrep.json``

    async def _find(self, wanted: Wanted) -> Found:
        """Returns the record of the *wanted* file in the store, else what the site says.

        The site is asked once a fetch has a place and no other worker is fetching the file.
        """
        file = wanted.origin
        turn = self._turn_for(file)
        try:
            stored = await self._store.load(file, again=file.path != ROBOTS_TXT)
            while stored is None or not self._may_answer(stored, wanted):
                await self._budget.wait(file)
                begins = await turn.begin()
                if not begins:
                    self._budget.give_back(file)  # to a file that no other crawl is fetching
                    await turn.wait()
                if not turn.fetches_anyway:
                    stored = await self._store.load(file, again=True)
                    if stored and self._may_answer(stored, wanted):
                        self._stats.inc_value(stats.SHARED)
                        break
                if begins:
                    return await self._fetch(wanted, stored)
            return Found(stored)
        finally:
            turn.release()
            self._budget.give_back(file)

    def _turn_for(self, file: Origin) -> Turn:
        """Returns the turn of this crawl among the workers that need *file*."""
        return Turn(file, self._leases, self._store.calls, self._store.failed, self._clock)

    def _may_answer(self, stored: RobotsRecord, wanted: Wanted) -> bool:
        known = wanted.known
        now, limits = self._clock.wall(), self._settings.for_fetching(stored.origin).limits
        if known is None and not wanted.is_refresh:
            return may_answer(stored, now, limits)
        # What is in memory has expired, so only what another process has fetched since will do.
        # Anything older would bring back rules that are known to be outdated.
        return fresh_for(stored, now) > 0 and (not known or stored.fetched_at >= known.fetched_at)

    async def _fetch(self, wanted: Wanted, stored: RobotsRecord | None) -> Found:
        file, records = wanted.origin, filter(None, (stored, wanted.known))
        # If both are equally new, the stored one, which is complete.
        known = max(records, key=lambda each: each.fetched_at, default=None)
        result = await self._fetcher.fetch(wanted._replace(known=known))
        if isinstance(result.outcome, int):
            self._budget.answered(file)
        if known is None and result.outcome in NETWORK_FAILURES and not result.interrupted:
            known = await self._recalled(file)
        return self._found(file, result, known)

    async def _recalled(self, file: Origin) -> RobotsRecord | None:
        """Returns a record from the project's HTTP cache, to use during an outage; else None."""
        result = await self._fetcher.recall(file)
        if result is None or (stored_at := http_date(result.headers.get("date", ""))) is None:
            return None
        record = self._recorded(file, result, None, stored_at)
        return record if record.readable else None

    def _found(self, file: Origin, result: FetchResult, known: RobotsRecord | None) -> Found:
        """Returns the record after *result*, given the *known* one. Counts and stores it."""
        record = self._recorded(file, result, known, self._clock.wall())
        is_temporary = result.interrupted or result.replayed
        if not is_temporary:
            self._store.save(record)
        if file.path != ROBOTS_TXT:
            self._stats.inc_value(stats.filled(stats.TDMREP, result.outcome))
        elif isinstance(result.outcome, Failure) and not is_temporary:
            self._stats.inc_value(stats.filled(stats.FAILURES, result.outcome))
        source = Source.CACHE if result.replayed else Source.NETWORK
        return Found(record, source, result.detail, is_temporary)

    def _recorded(
        self, file: Origin, result: FetchResult, known: RobotsRecord | None, now: float
    ) -> RobotsRecord:
        settings = self._settings.for_fetching(file)
        # What is in memory may be from before an override ended.
        known = known and as_meant_under(known, settings.status_policy)
        return receive(file, result, known, now, settings, self._clock.jitter())

    # A policy

    def _asks_of_uses(self, file: Origin, policy: Policy) -> bool:
        """Returns whether to look for *file*, the ``tdmrep.json`` of the origin of *policy*.

        A use must be declared, now or once an override has ended, and the rules must allow *file*:
        only a robots.txt itself is always allowed (RFC 9309 2.2.2). It does not matter if the
        robots.txt objects to a use of *file*.
        """
        settings, override = policy.settings, policy.settings.override
        ends = override is not None and override.until is not None
        if not (settings.ai_uses or (ends and self._settings.ai_uses)):
            return False
        agent = self._agents.default_under(settings)
        verdict = policy.judged(file.robots_url, agent)
        return verdict.allowed or verdict.reason is Reason.AI_PREFERENCE

    def _read(self, found: Found, previous: Policy | None) -> tuple[Policy, Found]:
        """Returns the policy of *found*, and *found*, or the failure to parse it.

        Memory does without the text of the rules and most headers: only the store keeps them.
        """
        record, detail = found.record, found.detail
        settings = self._settings.for_fetching(record.origin)
        charset = charset_of(record.headers)
        slim = record._replace(body=b"", headers=charset_alone(charset))
        file: ParsedFile | None = None
        if record.access is Access.RULES:
            of_text = slim.sha256, slim.headers
            if previous and (previous.record.sha256, previous.record.headers) == of_text:
                file = previous.file and previous.file.read_as(settings.dialect)
            else:
                file, failed = self.parsers.file_of(
                    record.body, charset, settings.dialect, record.url
                )
                detail = failed or detail
            if file is None:  # one that the parser in use fails on counts as no file
                is_cached = found.source is Source.CACHE
                failure = FetchResult(Failure.ERROR, record.url, replayed=is_cached, detail=detail)
                last = previous.record if previous and not previous.record.readable else None
                return self._read(self._found(record.origin, failure, last), previous)
        detail = cut(detail, _MOST_OF_A_DETAIL)
        policy = Policy(slim, file, settings, self._clock, self._stats, detail, source=found.source)
        return policy, found

    def _announce(self, policy: Policy, found: Found, previous: Policy | None) -> Policy:
        """Counts a change, sends its signal, and tells the listeners of *policy*; returns it."""
        is_news = previous and (previous.file, previous.access) != (policy.file, policy.access)
        if is_news and not found.is_temporary:
            self._stats.inc_value(stats.CHANGED)
            self._crawler.signals.send_catch_log(
                robots_changed,
                origin=policy.origin,
                before=previous,
                after=policy,
                spider=self._crawler.spider,
            )
        return self.tell(Retrieved(previous, policy, found.record))

    def tell(self, retrieved: Retrieved) -> Policy:
        """Tells the listeners of *retrieved*; returns its policy."""
        for listener in self.listeners:
            listener(retrieved)
        return retrieved.policy


@cache
def charset_alone(charset: str | None) -> Mapping[str, str]:
    """Returns the one header that memory keeps, shared by all origins with this *charset*."""
    return MappingProxyType({"content-type": f"text/plain; charset={charset}"} if charset else {})
