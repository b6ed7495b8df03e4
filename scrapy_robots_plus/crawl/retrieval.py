"""Brings the policy of an origin up to date: from the store, else from the site."""

from __future__ import annotations

import logging
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from scrapy_robots_plus.policy.access import Access, Failure
from scrapy_robots_plus.policy.decide import Lookup, lookup, receive
from scrapy_robots_plus.policy.record import FetchResult

from . import any_parser, compat
from .changes import change_between, suspicion
from .policy import Policy
from .settings import parser_class
from .signals import robots_changed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser

    from scrapy_robots_plus.policy.origin import Origin
    from scrapy_robots_plus.policy.record import RobotsRecord

    from .agent import Agents
    from .archive import Archive
    from .clock import Clock
    from .settings import RobotsSettings

logger = logging.getLogger(__name__)


_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class FetchesRobots(Protocol):
    """What :class:`~scrapy_robots_plus.crawl.fetcher.Fetcher` does."""

    async def fetch(
        self, origin: Origin, known: RobotsRecord | None, *, behind: bool = False
    ) -> FetchResult: ...


class Retrieval:
    """Looks in the archive, fetches what is not there or has expired, and keeps what came."""

    def __init__(
        self,
        crawler: Crawler,
        settings: RobotsSettings,
        fetcher: FetchesRobots,
        archive: Archive,
        agents: Agents,
        clock: Clock,
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._fetcher = fetcher
        self._archive = archive
        self._agents = agents
        self._clock = clock
        self._stats = compat.stats_of(crawler)
        self._parsers = parser_class(crawler.settings)
        # A parser that lacks a dependency raises now rather than in the middle of the crawl.
        self._parsers.from_crawler(crawler, b"")

    async def retrieve(self, origin: Origin, held: Policy | None) -> Policy:
        """The policy of *origin*, of which *held* is in memory."""
        stored = self._archive.load(origin)
        if stored is not None and self._may_answer(stored, held):
            policy = self._policy(stored, held)
            # A file that the parser in use fails on is worth no more than none.
            if policy.access is not Access.RULES or policy.parser is not None:
                return self._compared(held, policy, stored)
        known = _newer(stored, held.record if held else None)
        behind = held is not None and held.lookup is Lookup.USE_AND_REFRESH
        result = await self._fetcher.fetch(origin, known, behind=behind)
        return self._received(origin, result, known, held)

    def failed(self, origin: Origin, held: Policy | None) -> Policy:
        """The policy after a retrieval that was interrupted."""
        result = FetchResult(Failure.ERROR, origin.robots_url, interrupted=True)
        return self._received(origin, result, held.record if held else None, held)

    def _may_answer(self, stored: RobotsRecord, held: Policy | None) -> bool:
        todo = lookup(stored, self._clock.wall(), self._settings.limits)
        # With a policy in memory that has expired, only what another process has fetched since
        # will do.
        return todo is Lookup.USE or (todo is Lookup.USE_AND_REFRESH and held is None)

    def _received(
        self,
        origin: Origin,
        result: FetchResult,
        known: RobotsRecord | None,
        held: Policy | None,
    ) -> Policy:
        clock = self._clock
        rulebook = self._settings.rulebook
        record = receive(origin, result, known, clock.wall(), rulebook, clock.jitter())
        policy = self._policy(record, held)
        if record.access is Access.RULES and policy.parser is None:
            return self._received(origin, FetchResult(Failure.ERROR, result.url), None, held)
        if result.interrupted:  # of use while this crawl lasts, and of none to the next
            return policy
        self._archive.save(record)
        if isinstance(result.outcome, Failure):
            self._stats.inc_value(f"robotstxt/failure_count/{result.outcome}")
        return self._compared(held, policy, record)

    def _compared(self, before: Policy | None, after: Policy, record: RobotsRecord) -> Policy:
        if before is not None:
            self._compare(before, after, record)
        return after

    def _compare(self, before: Policy, after: Policy, record: RobotsRecord) -> None:
        change = change_between(before, after, self._agents.default)
        if change is None:
            return
        self._stats.inc_value("robotstxt/changed")
        why = suspicion(before, after, record)
        if why is not None:
            self._stats.inc_value("robotstxt/changed/suspicious")
            logger.warning(
                "The robots.txt of %s changed in a way that looks like a mistake: %s",
                record.origin,
                why,
                extra={"spider": self._crawler.spider},
            )
        self._crawler.signals.send_catch_log(
            robots_changed,
            origin=record.origin,
            before=before,
            after=after,
            change=change,
            spider=self._crawler.spider,
        )

    def _policy(self, record: RobotsRecord, held: Policy | None) -> Policy:
        """Memory holds the parsed rules; their text and headers are for the archive alone."""
        parser = None
        if record.access is Access.RULES:
            same = held is not None and held.record.sha256 == record.sha256
            parser = held.parser if held is not None and same else self._parse(record)
        slim = replace(record, body=b"", headers=_NO_HEADERS)
        return Policy(slim, parser, self._settings, self._clock, self._stats)

    def _parse(self, record: RobotsRecord) -> RobotParser | None:
        charset = record.headers.get("content-type", "")
        try:
            return any_parser.make_parser(self._parsers, self._crawler, record.body, charset)
        except Exception:
            logger.exception("The robots.txt parser failed on %s", record.url)
            return None


def _newer(stored: RobotsRecord | None, held: RobotsRecord | None) -> RobotsRecord | None:
    """What is known of an origin; of two that are as new the stored one, which is complete."""
    if stored is None or held is None:
        return stored or held
    return stored if stored.fetched_at >= held.fetched_at else held
