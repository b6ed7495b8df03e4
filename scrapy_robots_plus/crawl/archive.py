"""The store of a crawl. Whatever goes wrong with it, the crawl goes on from memory."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import signals

from scrapy_robots_plus.policy.access import Access, access_of
from scrapy_robots_plus.policy.decide import is_refusal
from scrapy_robots_plus.policy.freshness import CLOCK_SKEW
from scrapy_robots_plus.storage import StoreError, open_store

from . import compat
from .settings import job_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from scrapy.crawler import Crawler

    from scrapy_robots_plus.policy.origin import Origin
    from scrapy_robots_plus.policy.record import RobotsRecord
    from scrapy_robots_plus.storage import Store

    from .settings import RobotsSettings

    _T = TypeVar("_T")

logger = logging.getLogger(__name__)

FILE_IN_JOBDIR = "robots.sqlite"

PURGED_AT_A_START = 10_000
"""Dead records that one start removes at the most, so that it does not take long."""


class Archive:
    """Keeps readable records in ``ROBOTS_STORE``; those that never were readable are not kept,
    so that the next crawl asks anew.
    """

    def __init__(self, crawler: Crawler, settings: RobotsSettings, now: float) -> None:
        self._crawler = crawler
        self._stats = compat.stats_of(crawler)
        self._warned = False
        self._max = settings.store_max
        self._ttl_max = settings.ttl_max
        self._statuses = settings.status_policy
        self._store = self._opened(settings.store or _default_uri(crawler))
        # What outlived ROBOTS_STALE_MAX can answer no more, nor can what claims to come from the
        # future: a clock that ran ahead wrote it.
        dead = now - settings.stale_max - settings.ttl_max
        unborn = now + CLOCK_SKEW
        self._guarded(lambda: self._store.purge(dead, unborn, PURGED_AT_A_START), 0)
        crawler.signals.connect(self._close, signals.spider_closed)

    def load(self, origin: Origin) -> RobotsRecord | None:
        """The record of *origin*, with its body; None where there is none to be had.

        It holds by the settings of this crawl: one whose status means something else by now is of
        no use, not even to ask whether it has changed.
        """
        record = self._guarded(lambda: self._store.get(origin), None)
        if record is None or access_of(record.outcome, self._statuses) is not record.access:
            self._stats.inc_value("robotstxt/store/misses")
            return None
        self._stats.inc_value("robotstxt/store/hits")
        return replace(record, lifetime=min(record.lifetime, self._ttl_max))

    def save(self, record: RobotsRecord) -> None:
        """Stores *record*. One without its body takes that of the record it renews."""
        if not record.readable:
            if is_refusal(record.outcome):  # what is stored holds no more
                self._guarded(lambda: self._store.delete(record.origin), None)
            return
        if record.access is Access.RULES and not record.body:
            stored = self._guarded(lambda: self._store.get(record.origin), None)
            if stored is None or stored.sha256 != record.sha256:
                return  # without its rules a record is of no use
            record = replace(record, body=stored.body)
        self._guarded(lambda: self._store.put(record), None)

    def _opened(self, uri: str) -> Store:
        try:
            return open_store(uri, self._max)
        except StoreError as error:
            self._warn(error)
            return open_store("memory", self._max)

    def _guarded(self, action: Callable[[], _T], otherwise: _T) -> _T:
        try:
            return action()
        except StoreError as error:
            self._warn(error)
            return otherwise

    def _warn(self, error: StoreError) -> None:
        self._stats.inc_value("robotstxt/store/errors")
        if not self._warned:
            self._warned = True
            logger.warning(
                "ROBOTS_STORE: %s. The crawl goes on with what it has in memory; further errors "
                "are counted as robotstxt/store/errors.",
                error,
                extra={"spider": self._crawler.spider},
            )

    def _close(self) -> None:
        self._guarded(self._store.close, None)


def _default_uri(crawler: Crawler) -> str:
    folder = job_folder(crawler.settings)
    if not folder:
        return "memory"
    Path(folder).mkdir(parents=True, exist_ok=True)  # the scheduler makes it later
    return f"sqlite:{Path(folder) / FILE_IN_JOBDIR}"
