"""The job of a crawl: its file, and which of its requests are under way.

A request that was handed out stays in the file until the engine has finished with it: its callback
or errback has ended, its items have left the pipelines, and the requests it led to are in the file.
No signal says when that is. So several times a second, :meth:`Job.look` compares the requests that
were handed out with those that the engine is working on, and writes what has changed.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.crawl.requests import START_META_KEY
from scrapy_robots_plus.protocol.printable import counted, printable
from scrapy_robots_plus.settings.scrapys_own import job_folder

from . import FILE_NAME, JobFile, JobFileError, StoredRequest
from .schema import RequestState
from .written import page_of, read, url_in, written

_T = TypeVar("_T")

logger = crawl_log(__name__)

_RETRY = '"scrapy robots job retry JOBDIR" gives such requests back to the job'

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
        self.spider = compat.spider_of(crawler)
        self._log = logger(crawler)
        self._stats = crawler.stats
        self.file = JobFile(path, spider=self.spider.name)
        self._kept_back = {page_of(row.data) for row in self.file.suspects}
        """The pages of suspects for which no start request of this run has been kept back yet."""
        self.has_failed = False
        """Whether the file can no longer be used: nothing more is written to it."""
        self._under_way: dict[Request, int] = {}
        self._last: Request | None = None
        """The request handed out last, which the engine may not know yet."""
        self._alone: Request | None = None
        """A suspect, which may have got the process killed. No other request runs beside it."""
        self._unsent: dict[str, list[int]] = {}
        """The ids of requests set aside in this run, by the error that made them unsendable."""
        self._of_memory = Once()
        self._is_stopped = False
        self._handed_out = 0
        self.has_begun = False
        self._stop_looking: Callable[[], object] = bool
        self._report_what_was_found()
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

    def attempt(self, work: Callable[[], _T]) -> _T | None:
        """Returns the result of *work*; None once the file has failed, which closes the crawl."""
        try:
            return work()
        except JobFileError as error:  # each time, once the file has failed
            self._fail(error)
            return None

    # For queues

    def add(self, lane: str, rank: int, request: Request) -> None:
        """Adds *request*. Raises ValueError if it cannot be written, JobFileError if none can."""
        self.file.add(lane, rank, written(request, self.spider))
        self._count()

    def keeps_back(self, request: Request) -> bool:
        """Returns whether *request*, which ``start()`` yields in each run, is already there as one
        that may have ended the process: it waits for the end, or is set aside. Once in each run: a
        ``start()`` may go on to ask for a page again and again.
        """
        page = request.url, request.method, request.body
        if not request.meta.get(START_META_KEY) or page not in self._kept_back:
            return False
        self._kept_back.remove(page)
        return True

    def take(self, lane: str, rank: int, *, newest: bool) -> Request | None:
        """Takes the next request that can be read; None if there is none, or :attr:`is_held_up`.

        Raises JobFileError if the file can no longer be used.
        """
        if self.is_held_up:
            return None
        self._count()
        while not self._is_stopped and (taken := self.file.take(lane, rank, newest=newest)):
            request = self._read(taken)
            if request is not None:
                self._hand_out(request, taken)
                return request
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
            return
        self._stats.inc_value(stats.QUEUE_KEPT_IN_MEMORY)
        if self._of_memory.is_first():
            self._log.warning(
                "Requests cannot be written to the job's file, such as %s (%s). They stay in "
                "memory and are lost when the crawl is stopped. Their number is in %s",
                printable(request.url),
                printable(str(error) or repr(error)),
                stats.QUEUE_KEPT_IN_MEMORY,
            )

    def sort(self, name_of: Callable[[Request], str]) -> None:
        """Moves each request of a newly converted job into the lane that *name_of* returns."""
        self.file.sort(lambda data: name_of(read(data, self.spider)))

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
            self._report_failure(error)

    def _begin(self) -> None:
        self.has_begun = True
        self._stop_looking = Crawl.of(self._crawler).errors.repeat(self.SECONDS, self.look)

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
                self._stats.inc_value(stats.QUEUE_SET_ASIDE)
                text = "%s cannot be sent by this spider (%r) and is set aside. %s"
                self._log.error(text, printable(url_in(taken.data)), error, _RETRY)
            else:
                self._stop_for(error, alike)
        return None

    def _stop_for(self, error: Exception, ids: list[int]) -> None:
        """Gives *ids* back and closes the crawl: the spider has changed, and more may fail."""
        self.file.retry(ids)
        self._is_stopped = True
        self._stats.inc_value(stats.QUEUE_SET_ASIDE, 1 - len(ids))  # all but the last were counted
        self._log.error(
            "This spider cannot send %d requests, all for the same reason (%r). The crawl is "
            "closed, and these requests stay in the job: fix the spider and resume it",
            len(ids),
            error,
        )
        compat.close_crawl(self._crawler, "job_requests_cannot_be_sent")

    def _hand_out(self, request: Request, taken: StoredRequest) -> None:
        self._under_way[request] = taken.id
        self._last = request
        # The next run must know which requests ran beside a suspect.
        self._handed_out = 0 if taken.is_suspect else self._handed_out + 1
        if self._handed_out <= self.WRITTEN_AT_ONCE:
            self._settle()
        if taken.is_suspect and not self.file.held:
            under_way = self.file.requests(RequestState.UNDER_WAY)
            self._alone = request if len(under_way) == 1 else None

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
        self._report_failure(error)
        compat.close_crawl(self._crawler, "job_file_failed")

    # What the user is told

    def _report_what_was_found(self) -> None:
        """Reports what was found when the file was opened."""
        file = self.file
        if file.was_killed:
            self._log.warning(
                "The last run of this job was killed. %s that %s under way will be sent again",
                counted(file.recovered, "request"),
                "was" if file.recovered == 1 else "were",
            )
            self._stats.set_value(stats.QUEUE_RECOVERED, file.recovered)
        for aside in file.newly_aside:
            self._log.error(
                "The process was killed %d times while it processed %s, which is set aside. %s",
                aside.hard_ends,
                printable(url_in(aside.data)),
                _RETRY,
            )
        if number := len(file.requests(RequestState.SET_ASIDE)):
            self._log.warning(
                'Set aside and not sent in this job: %s. "scrapy robots job show JOBDIR" names '
                "each one. %s",
                counted(number, "request"),
                _RETRY,
            )
            self._stats.set_value(stats.QUEUE_SET_ASIDE, number)
        for text in file.troubles:
            self._log.error("%s", printable(text))
        if file.lost:
            self._stats.set_value(stats.QUEUE_LOST, file.lost)

    def _report_failure(self, error: JobFileError) -> None:
        """Reports that the file can no longer be used."""
        self._log.error(
            "%s. The crawl is closed: what happened since the last commit, less than a second "
            "ago, will happen again when the job is resumed",
            printable(error),
        )
