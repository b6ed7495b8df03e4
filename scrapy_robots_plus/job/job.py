"""The job of a crawl: its file, and which of its requests are under way.

A request that was handed out stays in the file until the engine has finished with it: its callback
or errback has ended, its items have left the pipelines, and the requests it led to are in the file.
No signal says when that is. So several times a second, :meth:`Job.look` compares the requests that
were handed out with those that the engine is working on, and writes what has changed.
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
"""The job of each crawler, until its spider is closed."""


class Job:
    """The job of one crawler, found by :meth:`of`, whose first call opens the file."""

    SECONDS = 0.2
    """The seconds between two commits, while anything happens."""
    STEPS = 200
    """How many steps cause a commit at once. Finished requests are then freed before the garbage
    collector looks at them.
    """
    MOST_ALIKE = 5
    """How many requests that cannot be sent for the same reason close the crawl."""
    WRITTEN_AT_ONCE = 100
    """How many requests, at the start of a run and after a suspect, are written as under way before
    they are sent. Otherwise a page that ends the process within a fifth of a second would do so in
    each run."""

    def __init__(self, crawler: Crawler, path: Path) -> None:
        """Raises JobFileError if the file cannot be used."""
        self._crawler = crawler
        self._reports = JobReports(crawler)
        self.file = JobFile(path, spider=self.spider.name)
        self.has_failed = False
        """Whether the file can no longer be used: nothing more is written to it."""
        self._under_way: dict[Request, int] = {}
        self._last: Request | None = None
        """The request handed out last, which the engine may not know yet."""
        self._alone: Request | None = None
        """A suspect, which may have got the process killed. No other request runs beside it."""
        self._unsent: dict[str, list[int]] = {}
        """The ids of requests set aside in this run, by the error that made them unsendable."""
        self._is_stopped = False
        self._handed_out = 0
        self.has_begun = False
        self._stop_looking: Callable[[], object] = bool
        self._reports.opened(self.file)
        crawler.signals.connect(self._begin, signals.spider_opened)
        crawler.signals.connect(self._recall_suspects, signals.spider_idle)
        crawler.signals.connect(self.close, signals.spider_closed)
        self._process = os.getpid()
        """The process that opened the file. A fork that a callback made leaves the file alone."""
        # For a crawl that fails before it begins, and a second Ctrl-C: no page is to blame then.
        atexit.register(self._close_file)

    @classmethod
    def of(cls, crawler: Crawler) -> Job:
        """Returns the job of *crawler*. Raises ValueError if JOBDIR is not set.

        Raises JobFileError, which stops the crawl, if the file of the job cannot be used.
        """
        job = _jobs.get(crawler)
        if job is None:
            folder = job_folder(crawler.settings)
            if folder is None:
                raise ValueError("A job's file needs a folder: JOBDIR is not set.")
            for held_by, other in list(_jobs.items()):
                if not (held_by.crawling or other.has_begun):  # its start failed: free its file
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
        """Returns the result of *work*; None once the file has failed, which closes the crawl."""
        if not self.has_failed:
            try:
                return work()
            except JobFileError as error:
                self._fail(error)
        return None

    # For queues

    def add(self, lane: str, rank: int, request: Request) -> None:
        """Adds *request*. Raises ValueError if it cannot be written, JobFileError if none can."""
        self.file.add(lane, rank, written(request, self.spider))
        self._count()

    def take(self, lane: str, rank: int, *, newest: bool) -> Request | None:
        """Takes the next request that can be read; None if there is none, or :attr:`is_held_up`.

        Raises JobFileError if the file can no longer be used.
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
        """Whether nothing may be handed out: a suspect runs alone, or a failure ends the crawl."""
        if self._alone is not None and not compat.finished((self._alone,), self._crawler):
            return True
        self._alone = None
        return self.has_failed or self._is_stopped

    def stays_in_memory(self, request: Request, error: Exception) -> None:
        """Reports that *request* could not be written; closes the crawl if the file has failed."""
        if isinstance(error, JobFileError):  # the next run repeats what led to the request
            self._fail(error)
        else:
            self._reports.stays_in_memory(request, error)

    def sort(self, name_of: Callable[[Request], str]) -> None:
        """Moves each request of a newly converted job into the lane that *name_of* returns."""

        def name(data: bytes) -> str | None:
            try:
                return name_of(read(data, self.spider))
            except Exception:  # noqa: BLE001 - it is set aside when its turn comes
                return None

        self.file.sort(name)

    # What is under way

    def look(self) -> None:
        """Writes what has happened since the last call."""
        self._last = None
        if self.has_begun and compat.is_closing(self._crawler):
            self.attempt(self.file.stop)
        self.attempt(self._settle)

    def close(self) -> None:
        """Writes what has happened since the last :meth:`look` and closes the file."""
        if _jobs.pop(self._crawler, None) is None:
            return
        self._stop_looking()
        self.look()
        self._close_file()

    def _close_file(self) -> None:
        """Closes the file, but ends no requests: those that the engine dropped are not finished."""
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
        """Ends the requests that the engine has finished with, and commits."""
        if self._under_way:
            for request in compat.finished(self._under_way, self._crawler):
                if request is not self._last:
                    self.file.end(self._under_way.pop(request))
        self.file.commit()

    def _read(self, taken: StoredRequest) -> Request | None:
        """Returns the request in *taken*; None if it had to be set aside, as it cannot be sent."""
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
        """Gives *ids* back and closes the crawl: the spider has changed, and more may fail."""
        self.file.retry(ids)
        self._is_stopped = True
        self._reports.stopped_for(error, len(ids))
        compat.close_crawl(self._crawler, "job_requests_cannot_be_sent")

    def _hand_out(self, request: Request, taken: StoredRequest) -> None:
        self._under_way[request] = taken.id
        self._last = request
        self._handed_out += 1
        if taken.is_suspect:
            self._handed_out = 0  # the next run must know which requests ran beside it
            if self.file.under_way == 1 and not self.file.held:
                self._alone = request
        if self._handed_out <= self.WRITTEN_AT_ONCE:
            self.file.commit()

    def _recall_suspects(self) -> None:
        """Handles ``spider_idle``: all other requests are finished, so suspects have their turn."""
        self.look()
        if not self.is_held_up and self.attempt(self.file.recall):
            compat.wake_engine(self._crawler)
            raise DontCloseSpider

    def _fail(self, error: JobFileError) -> None:
        """Reports, once, that the file can no longer be used, and closes the crawl."""
        if self.has_failed:
            return
        self.has_failed = True
        self._reports.failed(error)
        compat.close_crawl(self._crawler, "job_file_failed")
