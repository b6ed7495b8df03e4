"""The store of a crawl. Whatever goes wrong with it, the crawl goes on from memory."""

from __future__ import annotations

import logging
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import signals

from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.crawl.settings import job_folder
from scrapy_robots_plus.policy.access import access_of, is_refusal
from scrapy_robots_plus.policy.decide import access_at, held_to
from scrapy_robots_plus.policy.freshness import span_of_use
from scrapy_robots_plus.storage import StoreError, open_store
from scrapy_robots_plus.storage.trust import Trust

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.clock import Clock
    from scrapy_robots_plus.crawl.settings import RobotsSettings
    from scrapy_robots_plus.policy.origin import Origin
    from scrapy_robots_plus.policy.record import RobotsRecord
    from scrapy_robots_plus.storage import Store

logger = logging.getLogger(__name__)

FILE_IN_JOBDIR = "robots.sqlite"

PURGED_AT_A_START = 10_000
"""Up to how many dead records one start removes, so that it does not take long."""

_MEMORY = "memory"

_NO_BODY = ("", sha256(b"").hexdigest())
"""What records say of their text where it is right that they have none."""


class Archive:
    """Keeps readable records in ``ROBOTS_STORE``; those that never were readable are not kept,
    so that the next crawl asks anew.

    What it gives back is never older than what it was given, even where the store failed to take
    that (:class:`~scrapy_robots_plus.storage.trust.Trust`).
    """

    def __init__(self, crawler: Crawler, settings: RobotsSettings, clock: Clock) -> None:
        self._crawler = crawler
        self._settings = settings
        self._clock = clock
        self._stats = compat.stats_of(crawler)
        self._warned = False
        self._trust = Trust()
        self._store = self._opened(settings.store or _default_uri(crawler))
        self._losses = self._store.losses
        earliest, latest = span_of_use(clock.wall(), settings.limits)
        self._guarded(lambda: self._store.purge(earliest, latest, PURGED_AT_A_START))
        crawler.signals.connect(self._close, signals.spider_closed)

    def load(self, origin: Origin) -> RobotsRecord | None:
        """The record of *origin*, with its body; None where there is none to be had.

        It holds by the settings of this crawl: one whose status means something else by now is of
        no use, not even to ask whether it has changed.
        """
        try:
            record = self._found(origin)
        except StoreError as error:
            self._warn(error)
            return None
        if self._outlives_the_crawl:
            self._count(record)
        return record

    def save(self, record: RobotsRecord) -> None:
        """Stores *record*. One without its text takes that of the record it renews, and its
        validators.
        """
        if record.readable:
            stored = self._guarded(lambda: self._put(record))
            if stored:
                self._trust.restore(record.origin)
            elif self._is_news(record):
                self._trust.withdraw(record.origin, self._clock.wall())
        elif is_refusal(record.outcome):  # what is stored holds no more
            deleted = self._guarded(lambda: self._delete(record.origin))
            self._trust.withdraw(record.origin, self._clock.wall(), deleted=deleted)

    def _is_news(self, record: RobotsRecord) -> bool:
        """Whether *record* says something else than its last answer, which the store has or not.

        A failure since then does not, until the answer is too old to be obeyed.
        """
        access = access_at(record, self._clock.wall(), self._settings.limits)
        return record.failure is None or access is not record.access

    def _found(self, origin: Origin) -> RobotsRecord | None:
        record = self._store.get(origin)
        if self._store.losses != self._losses:
            self._losses = self._store.losses
            self._trust.withdraw_all(self._clock.wall())
        if record is None or not self._trust.believes(record):
            return None
        if access_of(record.outcome, self._settings.status_policy) is not record.access:
            return None
        return held_to(record, self._settings.limits)

    def _count(self, found: RobotsRecord | None) -> None:
        if found is None:
            self._stats.inc_value(stats.STORE_MISSES)
        else:
            self._stats.inc_value(stats.STORE_HITS)

    def _put(self, record: RobotsRecord) -> bool:
        """Whether the store has *record* now; not where it has one that claims to be newer."""
        if not (record.body or record.sha256 in _NO_BODY):
            stored = self._store.get(record.origin)
            if stored is None or stored.sha256 != record.sha256:
                return False  # without its rules a record is of no use
            record = _completed(record, stored)
        return self._store.put(record)

    def _delete(self, origin: Origin) -> bool:
        self._store.delete(origin)
        return True

    def _opened(self, uri: str) -> Store:
        self._outlives_the_crawl = uri != _MEMORY
        most, longest = self._settings.store_max, self._settings.fetch_max_bytes
        try:
            return open_store(uri, most, longest)
        except StoreError as error:
            self._warn(error)
            return self._opened(_MEMORY)

    def _guarded(self, action: Callable[[], object]) -> bool:
        """Whether *action* could be done and returned something that is true."""
        try:
            return bool(action())
        except StoreError as error:
            self._warn(error)
            return False

    def _warn(self, error: StoreError) -> None:
        self._stats.inc_value(stats.STORE_ERRORS)
        if not self._warned:
            self._warned = True
            logger.warning(
                "ROBOTS_STORE: %s. The crawl continues from memory; further errors are counted "
                "as robotstxt/store/errors.",
                error,
                extra={"spider": self._crawler.spider},
            )

    def _close(self) -> None:
        self._guarded(lambda: self._trust.settle(self._store))
        self._store.close()


def _completed(held: RobotsRecord, stored: RobotsRecord) -> RobotsRecord:
    """What memory holds of a file, with what it leaves to the archive: text and most headers.

    Of the headers it has all that it was read by; that of another charset would be another file.
    """
    kept = {name: value for name, value in stored.headers.items() if name != "content-type"}
    return replace(held, body=stored.body, headers={**kept, **held.headers})


def _default_uri(crawler: Crawler) -> str:
    folder = job_folder(crawler.settings)
    if not folder:
        return _MEMORY
    Path(folder).mkdir(parents=True, exist_ok=True)  # the scheduler makes it later
    return f"sqlite:{Path(folder) / FILE_IN_JOBDIR}"
