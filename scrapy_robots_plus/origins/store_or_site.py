"""Brings the policy of an origin up to date: from the store, else from the site."""

from __future__ import annotations

from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.events import robots_changed
from scrapy_robots_plus.protocol.access import Access, Failure
from scrapy_robots_plus.protocol.http_caching import http_date
from scrapy_robots_plus.protocol.printable import cut
from scrapy_robots_plus.protocol.verdict import Reason

from .agents import Agents
from .crawl_store import CrawlStore
from .fetch_budget import FetchBudget
from .fetch_lease import SPARE_SECONDS, Leases, Turn
from .fetch_results import NETWORK_FAILURES
from .fetcher import Fetcher
from .freshness import FetchResult, Source, as_meant_under, fresh_for, may_answer, receive
from .parsers import ParsedFile, Parsers, charset_of
from .policy import Policy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.storage.record import RobotsRecord

    _T = TypeVar("_T")


_MOST_OF_A_DETAIL = 500
"""Characters of what went wrong that are remembered: it may quote a header of the site."""


class Retrieved(NamedTuple):
    """What a retrieval has brought."""

    previous: Policy | None
    """The policy that was in memory before."""
    policy: Policy
    record: RobotsRecord
    """With the text of the rules, unless it is that of *previous*."""


class Retrieval:
    """Looks in the store of the crawl, fetches what is missing or expired, and keeps the result."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawl.crawler
        self._settings = settings = crawl.settings
        self._agents = crawl.get(Agents)
        self._fetcher = crawl.get(Fetcher)
        self._budget = crawl.get(FetchBudget)
        self._clock = crawl.clock
        self._store = CrawlStore(crawl)
        self._longest_fetch = settings.fetch_timeout + SPARE_SECONDS
        server = self._store.server
        self._leases = Leases(server, self._longest_fetch) if server else None
        self._stats = crawl.stats
        self.parsers = Parsers(crawl.crawler)
        """Those of the crawl."""
        self.listeners: list[Callable[[Retrieved], None]] = []
        """Called with what each retrieval has brought."""

    async def stored(self, origin: Origin) -> RobotsRecord | None:
        """The record in the store, with its text, which policies do without; None if there is none
        that can be used.
        """
        return await self._store.load(origin)

    async def retrieve(self, origin: Origin, previous: Policy | None) -> Policy:
        """The policy of *origin*; *previous* is the one in memory."""
        use, fetch = partial(self._use, previous), partial(self._fetch, origin, previous)
        try:
            policy = await self._once(origin, origin, use, fetch)
            file = origin.tdmrep
            if self._asks_of_uses(file, policy):
                ask = partial(self._ask_for, file)
                policy.reserve(await self._once(origin, file, self._if_fresh, ask), previous)
            return policy
        finally:
            self._budget.give_back(origin)

    async def _once(
        self,
        origin: Origin,
        file: Origin,
        use: Callable[[RobotsRecord], _T | None],
        fetch: Callable[[RobotsRecord | None], Awaitable[_T]],
    ) -> _T:
        """What *use* makes of the record of *file* in the store; else, once a fetch of *origin* has
        a place and no other worker fetches *file*, what *fetch* makes of it."""
        stored = await self._store.load(file, again=file != origin)
        found = None if stored is None else use(stored)
        turn = self._turn_for(file)
        try:
            while found is None:
                await self._budget.wait(origin)
                begins = await turn.begin()
                if not begins:
                    self._budget.give_back(origin)  # to those who need not wait for another crawl
                    await turn.wait()
                if not turn.fetches_anyway:
                    stored = await self._store.load(file, again=True)
                    found = None if stored is None else use(stored)
                    if found is not None:
                        self._stats.inc_value(stats.SHARED)
                if found is None and begins:
                    found = await fetch(stored)
            return found
        finally:
            turn.release()

    def _turn_for(self, file: Origin) -> Turn:
        """The place of this crawl among the workers that need *file*."""
        calls, failed = self._store.calls, self._store.failed
        return Turn(file, self._leases, calls, failed, self._longest_fetch, self._clock)

    def _asks_of_uses(self, file: Origin, policy: Policy) -> bool:
        """Whether a use is declared, now or when an override has ended, and the rules allow *file*:
        only a robots.txt itself is always allowed (RFC 9309 2.2.2).

        That robots.txt objects to a use of it is no matter.
        """
        settings, override = policy.settings, policy.settings.override
        ends = override is not None and override.until is not None
        if not (settings.ai_uses or (ends and self._settings.ai_uses)):
            return False
        agent = self._agents.default_under(settings)
        verdict = policy.judged(file.robots_url, agent)
        return verdict.allowed or verdict.reason is Reason.AI_PREFERENCE

    def _if_fresh(self, stored: RobotsRecord) -> RobotsRecord | None:
        return stored if fresh_for(stored, self._clock.wall()) > 0 else None

    async def _ask_for(self, file: Origin, stored: RobotsRecord | None) -> RobotsRecord:
        """The record of a ``tdmrep.json``, asked for once."""
        result = await self._fetcher.fetch(file, stored, is_refresh=True)
        record = self._recorded(file, result, stored, self._clock.wall())
        self._stats.inc_value(stats.filled(stats.TDMREP, result.outcome))
        if not (result.interrupted or result.replayed):
            self._store.save(record)
        return record

    async def _fetch(
        self, origin: Origin, previous: Policy | None, stored: RobotsRecord | None
    ) -> Policy:
        records = stored, previous.record if previous else None
        # The stored one, which is complete, if both are equally new.
        known = max(filter(None, records), key=lambda each: each.fetched_at, default=None)
        is_refresh = previous is not None and previous.may_answer
        result = await self._fetcher.fetch(origin, known, is_refresh=is_refresh)
        if isinstance(result.outcome, int):
            self._budget.answered(origin)
        if known is None and result.outcome in NETWORK_FAILURES and not result.interrupted:
            known = await self._recalled(origin)
        return self._received(origin, result, known, previous)

    def _use(self, previous: Policy | None, stored: RobotsRecord) -> Policy | None:
        """The policy that *stored* makes; None if the site must be asked."""
        if not self._may_answer(stored, previous):
            return None
        policy = self._policy(stored, previous, Source.STORE)
        if policy.access is Access.RULES and policy.file is None:
            return None  # a file that the parser in use fails on counts as no file
        return self._compared(Retrieved(previous, policy, stored))

    def failed(self, origin: Origin, previous: Policy | None) -> Policy:
        """The policy after a retrieval that was interrupted."""
        result = FetchResult(Failure.ERROR, origin.robots_url, interrupted=True)
        return self._received(origin, result, previous.record if previous else None, previous)

    async def _recalled(self, origin: Origin) -> RobotsRecord | None:
        """A record from the project's HTTP cache, to use during an outage."""
        result = await self._fetcher.recall(origin)
        if result is None or (stored_at := http_date(result.headers.get("date", ""))) is None:
            return None
        record = self._recorded(origin, result, None, stored_at)
        return record if record.readable else None

    def _recorded(
        self, file: Origin, result: FetchResult, known: RobotsRecord | None, now: float
    ) -> RobotsRecord:
        settings = self._settings.for_fetching(file)
        # What is in memory may be from before an override has ended.
        known = known and as_meant_under(known, settings.status_policy)
        return receive(file, result, known, now, settings, self._clock.jitter())

    def _may_answer(self, stored: RobotsRecord, previous: Policy | None) -> bool:
        now, limits = self._clock.wall(), self._settings.for_fetching(stored.origin).limits
        if previous is None:
            return may_answer(stored, now, limits)
        # The policy in memory has expired, so only what another process has fetched since will do:
        # nothing that would bring back rules that are known to be outdated.
        return fresh_for(stored, now) > 0 and stored.fetched_at >= previous.record.fetched_at

    def _received(
        self,
        origin: Origin,
        result: FetchResult,
        known: RobotsRecord | None,
        previous: Policy | None,
    ) -> Policy:
        record = self._recorded(origin, result, known, self._clock.wall())
        source = Source.CACHE if result.replayed else Source.NETWORK
        policy = self._policy(record, previous, source, result.detail)
        # Useful to this crawl only, not to the next.
        passing = result.interrupted or result.replayed
        if not passing:
            self._store.save(record)
        if record.access is Access.RULES and policy.file is None:
            detail, replayed = policy.detail, result.replayed
            failed = FetchResult(Failure.ERROR, result.url, replayed=replayed, detail=detail)
            last = previous.record if previous and not previous.record.readable else None
            return self._received(origin, failed, last, previous)
        retrieved = Retrieved(previous, policy, record)
        if passing:
            return self.tell(retrieved)
        if isinstance(result.outcome, Failure):
            self._stats.inc_value(stats.filled(stats.FAILURES, result.outcome))
        return self._compared(retrieved)

    def _compared(self, retrieved: Retrieved) -> Policy:
        """Counts a change, sends its signal, and tells the listeners."""
        before, after, _ = retrieved
        if before and (before.file is not after.file or before.access is not after.access):
            self._stats.inc_value(stats.CHANGED)
            self._crawler.signals.send_catch_log(
                robots_changed,
                origin=after.origin,
                before=before,
                after=after,
                spider=self._crawler.spider,
            )
        return self.tell(retrieved)

    def tell(self, retrieved: Retrieved) -> Policy:
        """Tells the listeners; returns the policy."""
        for listener in self.listeners:
            listener(retrieved)
        return retrieved.policy

    def _policy(
        self, record: RobotsRecord, previous: Policy | None, source: Source, detail: str = ""
    ) -> Policy:
        """Memory holds the parsed rules; only the store keeps their text and most headers."""
        settings = self._settings.for_fetching(record.origin)
        file: ParsedFile | None = None
        charset = charset_of(record.headers)
        slim = record._replace(body=b"", headers=_charset_alone(charset))
        if record.access is Access.RULES:
            of_text = slim.sha256, slim.headers
            if previous and (previous.record.sha256, previous.record.headers) == of_text:
                file = previous.file and previous.file.read_as(settings.dialect)
            else:
                file, failed = self.parsers.file_of(
                    record.body, charset, settings.dialect, record.url
                )
                detail = failed or detail
        detail = cut(detail, _MOST_OF_A_DETAIL)
        return Policy(slim, file, settings, self._clock, self._stats, detail, source=source)


@cache
def _charset_alone(charset: str | None) -> Mapping[str, str]:
    """The one header that memory keeps, shared by all origins with this charset."""
    return MappingProxyType({"content-type": f"text/plain; charset={charset}"} if charset else {})
