"""The store of a crawl, which continues from memory if the store fails.

``ROBOTS_STORE`` names it; otherwise it is a file in ``JOBDIR``, or memory if that is unset. It
keeps records of robots.txt files. The policies made of them are in memory, in ``policies.py``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.crawler import Crawler

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.protocol.access import says_unavailable
from scrapy_robots_plus.protocol.http_caching import span_of_use, varies_by_agent
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.settings.scrapys_own import job_folder
from scrapy_robots_plus.storage import Store, StoreError, open_store
from scrapy_robots_plus.storage.record import RobotsRecord
from scrapy_robots_plus.storage.trust import Trust

from .agents import Agents
from .freshness import access_at, as_meant_under, is_complete, within_limits
from .network_away import NetworkAway

if TYPE_CHECKING:
    from scrapy_robots_plus.storage.redis_server import Server

logger = crawl_log(__name__)

FILE_IN_JOBDIR = "robots.sqlite"

PURGED_AT_A_START = 10_000
"""The most outdated records that one start removes, so that it stays fast."""

SECONDS_TO_CLOSE = 5.0
"""Seconds that a closing crawl waits for a store on a server to save, and to be closed."""

_MEMORY = "memory"
_MADE_FOR = "user-agent"
"""The header of a record that names the crawler whose answer it is, if others may get another."""


class CrawlStore:
    """The crawl's view of ``ROBOTS_STORE``, which keeps readable records for later crawls.

    A record that was never readable is kept for the workers that run at the same time; the next
    crawl fetches the file again. A record older than the last one saved is never returned, even if
    the store failed to save that (:class:`~scrapy_robots_plus.storage.trust.Trust`). Calls are made
    in order: at once, or, to a store on a server, by a thread that the crawl does not wait for.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._settings = settings = crawl.settings
        self._network = crawl.get(NetworkAway)
        self._agents = crawl.get(Agents)
        self._once = Once()
        self._trust = Trust()
        self._store = self._opened(settings.store or _default_uri(crawl.crawler))
        self._losses = self._store.losses
        self.server: Server | None = getattr(self._store, "server", None)
        """The server that keeps the records, for other crawls too; None if none does."""
        self.calls = compat.Courier("ROBOTS_STORE") if self._store.remote else compat.InPlace()
        if not self._store.remote:
            earliest, latest = span_of_use(crawl.clock.wall(), settings.limits)
            self._do(lambda: self._store.purge(earliest, latest, PURGED_AT_A_START))
        crawl.crawler.signals.connect(self._close, signals.spider_closed)

    async def load(self, origin: Origin, *, again: bool = False) -> RobotsRecord | None:
        """Returns the record of *origin*, with its body; None if there is none that can be used.

        The settings of this crawl apply: a record whose status means something else under them is
        useless, even for a conditional request. *again*: this look is left out of the stats.
        """
        try:
            record = await self.calls.ask(partial(self._store.get, origin))
        except (StoreError, compat.CourierLateError) as error:
            self.failed(error)
            return None
        except compat.CourierClosedError:
            return None
        found = self._believed(record)
        if not again and self._outlives_the_crawl:
            if found is None:
                self._crawl.stats.inc_value(stats.STORE_MISSES)
            else:
                self._crawl.stats.inc_value(stats.STORE_HITS)
        return found

    def save(self, record: RobotsRecord) -> None:
        """Stores *record*. Later calls see it.

        A failure that may be this crawl's own fault is not stored for workers on other machines.
        """
        if varies_by_agent(record.headers):
            record = record._replace(headers={**record.headers, _MADE_FOR: self._agents.sent})
        self._trust.saw(record)
        failure = record.failure
        if self._store.remote and failure is not None and self._network.may_be_why(failure):
            return
        done = partial(self._was_saved, record)
        if record.readable:
            # Without its rules, a record would be useless.
            self._do(lambda: is_complete(record) and self._store.put(record), done)
            return
        if says_unavailable(record.outcome):  # the stored rules no longer apply
            self._do(partial(self._store.delete, record.origin), done)
        if self._store.keeps_failures:
            self._do(partial(self._store.put, record))

    def _was_saved(self, record: RobotsRecord, outcome: object) -> None:
        """Restores or withdraws the trust in what is stored.

        *outcome*: True if *record* was put, False if it lacks its rules or the stored one seems
        newer, either if it is not readable and the stored one was deleted, or a StoreError.
        """
        if outcome is True and record.readable:
            self._trust.restore(record.origin)
        elif not record.readable or self._is_news(record):
            self._trust.withdraw(record.origin, self._crawl.clock.wall())

    def _is_news(self, record: RobotsRecord) -> bool:
        """Returns whether *record* says more than its last answer, which may be stored already.

        A failure since then adds nothing until that answer is too old to be obeyed.
        """
        limits = self._settings.for_fetching(record.origin).limits
        access = access_at(record, self._crawl.clock.wall(), limits)
        return record.failure is None or access is not record.access

    def _believed(self, record: RobotsRecord | None) -> RobotsRecord | None:
        if self._store.losses != self._losses:
            self._losses = self._store.losses
            self._trust.withdraw_all(self._crawl.clock.wall())
        if record is None or not self._trust.believes(record):
            return None
        if record.headers.get(_MADE_FOR, self._agents.sent) != self._agents.sent:
            return None
        settings = self._settings.for_fetching(record.origin)
        meant = as_meant_under(record, settings.status_policy)
        return meant and within_limits(meant, settings.limits)

    def _opened(self, uri: str) -> Store:
        self._outlives_the_crawl = uri != _MEMORY
        settings = self._settings
        use = -span_of_use(0.0, settings.limits)[0]
        try:
            return open_store(uri, settings.store_max, settings.fetch_max_bytes, use)
        except StoreError as error:
            self.failed(error)
            return self._opened(_MEMORY)

    def _do(
        self, action: Callable[[], object], then: Callable[[object], object] = lambda _: None
    ) -> None:
        """Calls *then* with what *action* has returned, or with the StoreError that it raised."""

        def done(result: object) -> None:
            if isinstance(result, StoreError):
                self.failed(result)
            then(result)

        self.calls.tell(partial(_outcome, action), done)

    def failed(self, error: Exception) -> None:
        """Counts *error*, of the store or the leases on its server; warns about the first one."""
        self._crawl.stats.inc_value(stats.STORE_ERRORS)
        if self._once.is_first():
            logger(self._crawl.crawler).warning(
                "ROBOTS_STORE: %s. The crawl continues from memory; further errors are counted "
                "as %s.",
                error,
                stats.STORE_ERRORS,
            )

    async def _close(self) -> None:
        until = self._crawl.clock.monotonic() + SECONDS_TO_CLOSE
        in_time = await compat.wait_for(self.calls.flush(SECONDS_TO_CLOSE))
        self._do(lambda: self._trust.settle(self._store))
        self._do(self._store.close)
        left = max(0.0, until - self._crawl.clock.monotonic())
        in_time &= await compat.wait_for(self.calls.close(left))
        if not in_time:
            why = f"the store did not answer within {SECONDS_TO_CLOSE:g} s at closing"
            self.failed(StoreError(f"some records may not be saved: {why}"))


def _outcome(action: Callable[[], object]) -> object:
    """Returns what *action* returns, or the StoreError that it raises."""
    try:
        return action()
    except StoreError as error:
        return error


def uri_in_job(folder: str) -> str:
    """Returns the URI of the store of the job in *folder* whose project chose none."""
    return f"sqlite:{os.path.realpath(Path(folder) / FILE_IN_JOBDIR)}"  # //tmp/job is /tmp/job


def _default_uri(crawler: Crawler) -> str:
    folder = job_folder(crawler.settings)
    if not folder:
        return _MEMORY
    Path(folder).mkdir(parents=True, exist_ok=True)  # the scheduler creates it later
    return uri_in_job(folder)
