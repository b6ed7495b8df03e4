"""Brings the policy of an origin up to date: from the store, else from the site."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from scrapy.utils.misc import load_object

from scrapy_robots_plus.policy.access import Access, Failure
from scrapy_robots_plus.policy.decide import Lookup, receive
from scrapy_robots_plus.policy.record import FetchResult

from . import compat
from .changes import change_between, suspicion
from .policy import Policy
from .signals import robots_changed

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser

    from scrapy_robots_plus.policy.origin import Origin
    from scrapy_robots_plus.policy.record import RobotsRecord

    from .agent import Agents
    from .archive import Archive
    from .clock import Clock
    from .settings import RobotsSettings

logger = logging.getLogger(__name__)


class FetchesRobots(Protocol):
    """What :class:`~scrapy_robots_plus.crawl.fetcher.Fetcher` does."""

    async def fetch(self, origin: Origin, known: RobotsRecord | None) -> FetchResult: ...


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
        self._parsers: type[RobotParser] = load_object(crawler.settings["ROBOTSTXT_PARSER"])
        # A parser that lacks a dependency raises now rather than in the middle of the crawl.
        self._parsers.from_crawler(crawler, b"")

    async def retrieve(self, origin: Origin, held: Policy | None) -> Policy:
        """The policy of *origin*, of which *held* is in memory."""
        before = held
        if before is None:
            before = self._stored(origin)
            if before is not None and before.lookup in (Lookup.USE, Lookup.USE_AND_REFRESH):
                return before
        result = await self._fetcher.fetch(origin, before.record if before else None)
        return self._received(origin, result, before)

    def failed(self, origin: Origin, held: Policy | None) -> Policy:
        """The policy after a retrieval that was interrupted."""
        return self._received(origin, FetchResult(Failure.ERROR, origin.robots_url), held)

    def _stored(self, origin: Origin) -> Policy | None:
        record = self._archive.load(origin)
        if record is None:
            return None
        policy = self._policy(record)
        # A file that the parser in use fails on is worth no more than none.
        return None if record.access is Access.RULES and policy.parser is None else policy

    def _received(self, origin: Origin, result: FetchResult, before: Policy | None) -> Policy:
        record = self._record(origin, result, before)
        if before is not None and record.sha256 and record.sha256 == before.record.sha256:
            policy = self._policy(record, before.parser)
        else:
            policy = self._policy(record)
            if record.access is Access.RULES and policy.parser is None:
                result = FetchResult(Failure.ERROR, result.url)
                return self._received(origin, result, before)
        self._archive.save(record)
        if isinstance(result.outcome, Failure):
            self._stats.inc_value(f"robotstxt/failure_count/{result.outcome}")
        if before is not None:
            self._compare(before, policy, record)
        return policy

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

    def _record(self, origin: Origin, result: FetchResult, before: Policy | None) -> RobotsRecord:
        return receive(
            origin,
            result,
            before.record if before else None,
            self._clock.wall(),
            self._settings.rulebook,
            self._clock.jitter(),
        )

    def _policy(self, record: RobotsRecord, parser: RobotParser | None = None) -> Policy:
        """Memory holds the parsed rules; their text goes to the archive alone."""
        if parser is None and record.access is Access.RULES:
            parser = self._parse(record)
        return Policy(replace(record, body=b""), parser, self._settings, self._clock, self._stats)

    def _parse(self, record: RobotsRecord) -> RobotParser | None:
        charset = record.headers.get("content-type", "")
        try:
            return compat.make_parser(self._parsers, self._crawler, record.body, charset)
        except Exception:
            logger.exception("The robots.txt parser failed on %s", record.url)
            return None
