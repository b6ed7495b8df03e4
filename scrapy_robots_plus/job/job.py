"""The job of a crawl: its file, and which of its requests are under way.

A request that is handed out stays in the file until the engine has dealt with it: its callback or
errback has ended, its items have left the pipelines, what it led to is in the file. Nothing tells
when that is, so :meth:`Job.look` compares what was handed out with what the engine is at work on,
several times a second, and writes what has changed.
"""

from __future__ import annotations

import atexit
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from scrapy import Request, Spider, signals
from scrapy.exceptions import DontCloseSpider

from scrapy_robots_plus import compat
from scrapy_robots_plus.settings.scrapys_own import job_folder

from . import FILE_NAME, JobFile, JobFileError, StoredRequest
from .reports import JobReports
from .written import read, written

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

_T = TypeVar("_T")

_jobs: WeakKeyDictionary[Crawler, Job] = WeakKeyDictionary()
"""Until the spider is closed."""


class Job:
    """One per crawler, found by :meth:`of`; the first part that asks opens the file."""

    SECONDS = 0.2
    """Between two commits, while anything happens."""
    STEPS = 200
    """After so many, a commit does not wait for its time. What is dealt with is freed before the
    garbage collector looks at it.
    """
    MOST_ALIKE = 5
    """Requests that the spider cannot send for the same reason, until the crawl is closed."""
    WRITTEN_AT_ONCE = 100
    """So many requests of a run are written as under way before they are sent. Otherwise a page
    that ends the process within a fifth of a second would end it each time."""

    def __init__(self, crawler: Crawler, path: Path) -> None:
        """Raises JobFileError if the file cannot be used."""
        self._crawler = crawler
        self._reports = JobReports(crawler)
        self.file = JobFile(path, spider=self.spider.name)
        self.has_failed = False
        """Whether the file cannot be used any longer: it holds nothing more."""
        self._under_way: dict[Request, int] = {}
        self._last: Request | None = None
        """The last one handed out: the engine may not know it yet."""
        self._alone: Request | None = None
        """One that may be why the process was killed. No other is handed out beside it."""
        self._unsent: dict[str, list[int]] = {}
        """Requests set aside in this run, by why they cannot be sent."""
        self._is_stopped = False
        self._handed_out = 0
        self.has_begun = False
        self._stop_looking: Callable[[], object] = bool
        self._reports.opened(self.file)
        crawler.signals.connect(self._begin, signals.spider_opened)
        crawler.signals.connect(self._recall_suspects, signals.spider_idle)
        crawler.signals.connect(self.close, signals.spider_closed)
        self._process = os.getpid()
        """A fork of it that a callback made leaves the file alone."""
        # If the crawl fails before it begins, and after a second Ctrl-C: no page is to blame then.
        atexit.register(self._close_file)

    @classmethod
    def of(cls, crawler: Crawler) -> Job:
        """The job of *crawler*. Raises ValueError if JOBDIR is not set.

        If its file cannot be used, raises JobFileError, which stops the crawl.
        """
        job = _jobs.get(crawler)
        if job is None:
            folder = job_folder(crawler.settings)
            if folder is None:
                raise ValueError("A job's file needs a folder: JOBDIR is not set.")
            for held_by, other in list(_jobs.items()):
                if not (held_by.crawling or other.has_begun):  # its start has failed
                    other.close()
            try:
                job = _jobs[crawler] = cls(crawler, Path(folder, FILE_NAME))
            except JobFileError as error:
                compat.end_crawl(crawler, error)
                raise
        return job

    @property
    def spider(self) -> Spider:
        return compat.spider_of(self._crawler)

    def attempt(self, work: Callable[[], _T]) -> _T | None:
        """Does *work* with the file; None once that has failed, which closes the crawl."""
        if not self.has_failed:
            try:
                return work()
            except JobFileError as error:
                self._fail(error)
        return None

    # For queues

    def add(self, lane: str, rank: int, request: Request) -> None:
        """Raises ValueError if the request cannot be written, JobFileError if none can."""
        self.file.add(lane, rank, written(request, self.spider))
        self._count()

    def take(self, lane: str, rank: int, *, newest: bool) -> Request | None:
        """The next request that can be read; None if there is none, or one must stay alone.

        Raises JobFileError if the file cannot be used any longer.
        """
        if self.is_held_up:
            return None
        if self._handed_out < self.WRITTEN_AT_ONCE:
            self._settle()
        self._count()
        while (taken := self.file.take(lane, rank, newest=newest)) is not None:
            request = self._read(taken)
            if request is not None:
                self._hand_out(request, taken)
                return request
            if self._is_stopped:
                return None
        return None

    @property
    def is_held_up(self) -> bool:
        """Whether nothing may be handed out: a request is alone, or the file has failed."""
        if self._alone is not None and not compat.dealt_with((self._alone,), self._crawler):
            return True
        self._alone = None
        return self.has_failed or self._is_stopped

    def stays_in_memory(self, request: Request, error: Exception) -> None:
        """*request* could not be written."""
        if isinstance(error, JobFileError):  # what has led to it will happen again in the next run
            self._fail(error)
        else:
            self._reports.stays_in_memory(request, error)

    def sort(self, name_of: Callable[[Request], str]) -> None:
        """After a conversion, moves each request into the lane *name_of* it."""

        def name(data: bytes) -> str | None:
            try:
                return name_of(read(data, self.spider))
            except Exception:  # noqa: BLE001 - it is set aside when its turn comes
                return None

        self.file.sort(name)

    # What is under way

    def look(self) -> None:
        """Writes what has happened since the last time."""
        self._last = None
        if self.has_begun and compat.is_closing(self._crawler):
            self.attempt(self.file.stop)
        self.attempt(self._settle)

    def close(self) -> None:
        """The crawl has ended."""
        if _jobs.pop(self._crawler, None) is None:
            return
        self._stop_looking()
        self.look()
        self._close_file()

    def _close_file(self) -> None:
        """What is under way stays so: what the engine dropped in the end is not dealt with."""
        atexit.unregister(self._close_file)
        if os.getpid() != self._process:
            return
        try:
            self.file.close()
        except JobFileError as error:
            self._reports.failed(error)

    def _begin(self) -> None:
        self.has_begun = True
        self._stop_looking = compat.repeat(self.SECONDS, self.look)

    def _count(self) -> None:
        if len(self.file.done) >= self.STEPS:
            self._settle()

    def _settle(self) -> None:
        """Ends what the engine has dealt with, and commits."""
        if self._under_way:
            for request in compat.dealt_with(self._under_way, self._crawler):
                if request is not self._last:
                    self.file.end(self._under_way.pop(request))
        self.file.commit()

    def _read(self, taken: StoredRequest) -> Request | None:
        """None if the spider cannot send it any more; then it is set aside."""
        try:
            return read(taken.data, self.spider)
        except Exception as error:  # noqa: BLE001 - anything: its class or its callback is gone
            self.file.set_aside(taken.id)
            alike = self._unsent.setdefault(repr(error), [])
            alike.append(taken.id)
            if len(alike) < self.MOST_ALIKE:
                self._reports.cannot_be_sent(taken.data, error)
            else:
                self._stop_for(error, alike)
        return None

    def _stop_for(self, error: Exception, ids: list[int]) -> None:
        """All the others may be like these: the spider has changed."""
        self.file.retry(ids)
        self._is_stopped = True
        self._reports.stopped_for(error, len(ids))
        compat.close_crawl(self._crawler, "job_requests_cannot_be_sent")

    def _hand_out(self, request: Request, taken: StoredRequest) -> None:
        self._under_way[request] = taken.id
        self._last = request
        self._handed_out += 1
        if taken.is_suspect:
            self._handed_out = 0  # the next run must know which were under way beside it
            if self.file.under_way == 1 and not self.file.held:
                self._alone = request
        if self._handed_out <= self.WRITTEN_AT_ONCE:
            self.file.commit()

    def _recall_suspects(self) -> None:
        """All others are dealt with: those that may be why the process was killed have their
        turn.
        """
        self.look()
        if not self.is_held_up and self.attempt(self.file.recall):
            compat.wake_engine(self._crawler)
            raise DontCloseSpider

    def _fail(self, error: JobFileError) -> None:
        """The file cannot be used any longer."""
        if self.has_failed:
            return
        self.has_failed = True
        self._reports.failed(error)
        compat.close_crawl(self._crawler, "job_file_failed")
