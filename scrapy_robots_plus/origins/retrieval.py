"""Brings the policy of an origin up to date: from the store, else from the site."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.protocol.access import Access, Failure
from scrapy_robots_plus.protocol.http_caching import http_date
from scrapy_robots_plus.protocol.verdict import Reason
from scrapy_robots_plus.storage.base import FetchResult, RobotsRecord

from .agents import Agents
from .changes import report_change
from .crawl_store import CrawlStore
from .decide import Lookup, Source, fresh_for, lookup, receive
from .fetch_budget import FetchBudget
from .fetch_results import NETWORK_FAILURES
from .fetcher import Fetcher
from .parsers import ParsedFile, Parsers, charset_of
from .policy import Policy
from .sharing import Member

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol.origin import Origin


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
        self._agents = agents = crawl.get(Agents)
        self._fetcher = crawl.get(Fetcher)
        self._budget = crawl.get(FetchBudget)
        self._clock = clock = crawl.clock
        self._store = store = CrawlStore(crawl.crawler, settings, clock)
        self._turn_for = Member(crawl.crawler, settings, agents, store, clock).turn
        self._stats = crawl.stats
        self.parsers = Parsers(crawl.crawler)
        """Those of the crawl."""
        self._listeners: list[Callable[[Retrieved], None]] = []

    def subscribe(self, listener: Callable[[Retrieved], None]) -> None:
        """Calls *listener* with what each retrieval has brought."""
        self._listeners.append(listener)

    async def stored(self, origin: Origin) -> RobotsRecord | None:
        """The record in the store, with its text, which policies do without; None if there is none
        that can be used.
        """
        return await self._store.load(origin)

    async def retrieve(self, origin: Origin, previous: Policy | None) -> Policy:
        """The policy of *origin*; *previous* is the one in memory."""
        try:
            policy = await self._retrieved(origin, previous)
            if self._asks_of_uses(origin.tdmrep, policy):
                policy.reserve(await self._tdmrep(origin.tdmrep))
            return policy
        finally:
            self._budget.give_back(origin)

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

    async def _tdmrep(self, file: Origin) -> RobotsRecord:
        """The record of a ``tdmrep.json``: as stored, if that is fresh or another crawl has just
        fetched it, else as asked for once. It is never waited for again."""
        turn, begins = self._turn_for(file), False
        try:
            while True:
                stored = await self._store.load(file, again=True)
                if stored is not None and fresh_for(stored, self._clock.wall()) > 0:
                    return stored
                if begins:
                    break
                begins = await turn.begin()
                if not begins:
                    await turn.wait()
                elif not turn.is_late:
                    break
            result = await self._fetcher.fetch(file, stored, is_refresh=True)
            record = self._recorded(file, result, stored, self._clock.wall())
            self._stats.inc_value(stats.filled(stats.TDMREP, result.outcome))
            if not (result.interrupted or result.replayed):
                self._store.save(record)
            return record
        finally:
            turn.release()

    async def _retrieved(self, origin: Origin, previous: Policy | None) -> Policy:
        stored, policy = await self._look(origin, previous)
        if policy is not None:
            return policy
        turn = self._turn_for(origin)
        try:
            while True:
                await self._budget.wait(origin)
                begins = await turn.begin()
                if not begins:
                    self._budget.give_back(origin)  # to those who need not wait for another crawl
                    await turn.wait()
                if turn.is_late or not begins:
                    stored, policy = await self._look(origin, previous, again=True)
                    if policy is not None:
                        self._stats.inc_value(stats.SHARED)
                        return policy
                if begins:
                    return await self._fetched(origin, stored, previous)
        finally:
            turn.release()

    async def _fetched(
        self, origin: Origin, stored: RobotsRecord | None, previous: Policy | None
    ) -> Policy:
        known = _newer(stored, previous.record if previous else None)
        is_refresh = previous is not None and previous.is_old
        result = await self._fetcher.fetch(origin, known, is_refresh=is_refresh)
        if isinstance(result.outcome, int):
            self._budget.answered(origin)
        if known is None and result.outcome in NETWORK_FAILURES and not result.interrupted:
            known = await self._recalled(origin)
        return self._received(origin, result, known, previous)

    async def _look(
        self, origin: Origin, previous: Policy | None, *, again: bool = False
    ) -> tuple[RobotsRecord | None, Policy | None]:
        """What is known of *origin* without asking its site: the record in the store, and the
        policy that it makes; None if the site must be asked."""
        stored = await self._store.load(origin, again=again)
        if stored is None or not self._may_answer(stored, previous):
            return stored, None
        policy = self._policy(stored, previous, Source.STORE)
        if policy.access is Access.RULES and policy.file is None:
            return stored, None  # a file that the parser in use fails on counts as no file
        return stored, self._compared(Retrieved(previous, policy, stored))

    def failed(self, origin: Origin, previous: Policy | None) -> Policy:
        """The policy after a retrieval that was interrupted."""
        result = FetchResult(Failure.ERROR, origin.robots_url, interrupted=True)
        return self._received(origin, result, previous.record if previous else None, previous)

    async def _recalled(self, origin: Origin) -> RobotsRecord | None:
        """A record from the project's HTTP cache, to use during an outage."""
        result = await self._fetcher.recall(origin)
        stored_at = http_date(result.headers.get("date", ""))
        if stored_at is None:
            return None
        record = self._recorded(origin, result, None, stored_at)
        return record if record.readable else None

    def _recorded(
        self, file: Origin, result: FetchResult, known: RobotsRecord | None, now: float
    ) -> RobotsRecord:
        rulebook = self._settings.for_fetching(file).rulebook
        return receive(file, result, known, now, rulebook, self._clock.jitter())

    def _may_answer(self, stored: RobotsRecord, previous: Policy | None) -> bool:
        limits = self._settings.for_fetching(stored.origin).limits
        todo = lookup(stored, self._clock.wall(), limits)
        if previous is not None and stored.fetched_at < previous.record.fetched_at:
            return False  # it would bring back rules that are known to be outdated
        # If the policy in memory has expired, only a record that another process has fetched
        # since will do.
        return todo is Lookup.USE or (todo is Lookup.USE_AND_REFRESH and previous is None)

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
            return self._received(origin, failed, None, previous)
        retrieved = Retrieved(previous, policy, record)
        if passing:
            return self.tell(retrieved)
        if isinstance(result.outcome, Failure):
            self._stats.inc_value(stats.filled(stats.FAILURES, result.outcome))
        return self._compared(retrieved)

    def _compared(self, retrieved: Retrieved) -> Policy:
        previous, policy, record = retrieved
        if previous is not None:
            agent = self._agents.default_under(policy.settings)
            report_change(self._crawler, agent, previous, policy, record)
        return self.tell(retrieved)

    def tell(self, retrieved: Retrieved) -> Policy:
        """Tells the listeners; returns the policy."""
        for listener in self._listeners:
            listener(retrieved)
        return retrieved.policy

    def _policy(
        self, record: RobotsRecord, previous: Policy | None, source: Source, detail: str = ""
    ) -> Policy:
        """Memory holds the parsed rules; only the store keeps their text and most headers."""
        settings = self._settings.for_fetching(record.origin)
        file: ParsedFile | None = None
        charset = charset_of(record.headers)
        slim = replace(record, body=b"", headers=_charset_alone(charset))
        if record.access is Access.RULES:
            of_text = slim.sha256, slim.headers
            if previous and (previous.record.sha256, previous.record.headers) == of_text:
                file = previous.file
            else:
                file, failed = self.parsers.file_of(
                    record.body, charset, settings.dialect, record.url
                )
                detail = failed or detail
        return Policy(slim, file, settings, self._clock, self._stats, detail, source=source)


@cache
def _charset_alone(charset: str | None) -> Mapping[str, str]:
    """The one header that memory keeps, shared by all origins with this charset."""
    return MappingProxyType({"content-type": f"text/plain; charset={charset}"} if charset else {})


def _newer(stored: RobotsRecord | None, previous: RobotsRecord | None) -> RobotsRecord | None:
    """The newer record; the stored one, which is complete, if both are equally new."""
    if stored is None or previous is None:
        return stored or previous
    return stored if stored.fetched_at >= previous.fetched_at else previous
