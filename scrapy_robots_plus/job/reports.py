"""Reports to the user about a job whose requests are in one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.protocol.printable import counted, printable

from .written import url_in

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from . import JobFile, JobFileError

logger = crawl_log(__name__)

_RETRY = '"scrapy robots job retry JOBDIR" gives such requests back to the job'


class JobReports:
    """The log lines and stats of a job."""

    def __init__(self, crawler: Crawler) -> None:
        self._log = logger(crawler)
        self._stats = compat.stats_of(crawler)
        self._of_memory = Once()

    def opened(self, file: JobFile) -> None:
        """Reports what was found when the file was opened."""
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
        if file.aside:
            self._log.warning(
                'Set aside and not sent in this job: %s. "scrapy robots job show JOBDIR" names '
                "each one. %s",
                counted(file.aside, "request"),
                _RETRY,
            )
            self._stats.set_value(stats.QUEUE_SET_ASIDE, file.aside)
        for text in file.troubles:
            self._log.error("%s", printable(text))
        if file.lost:
            self._stats.set_value(stats.QUEUE_LOST, file.lost)

    def cannot_be_sent(self, data: bytes, error: Exception) -> None:
        """Reports that a request is set aside, as the spider can no longer send it."""
        self._stats.inc_value(stats.QUEUE_SET_ASIDE)
        text = "%s cannot be sent by this spider (%r) and is set aside. %s"
        self._log.error(text, printable(url_in(data)), error, _RETRY)

    def stopped_for(self, error: Exception, number: int) -> None:
        """Reports that *number* requests cannot be sent for one reason, and the crawl is closed."""
        # They are given back: all but the last were counted.
        self._stats.inc_value(stats.QUEUE_SET_ASIDE, 1 - number)
        self._log.error(
            "This spider cannot send %d requests, all for the same reason (%r). The crawl is "
            "closed, and these requests stay in the job: fix the spider and resume it",
            number,
            error,
        )

    def stays_in_memory(self, request: Request, error: Exception) -> None:
        self._stats.inc_value(stats.QUEUE_KEPT_IN_MEMORY)
        if self._of_memory.is_first():
            self._log.warning(
                "Requests cannot be written to the job's file, such as %s (%s). They stay in "
                "memory and are lost when the crawl is stopped. Their number is in %s",
                printable(request.url),
                printable(str(error) or repr(error)),
                stats.QUEUE_KEPT_IN_MEMORY,
            )

    def failed(self, error: JobFileError) -> None:
        """Reports that the file can no longer be used."""
        self._log.error(
            "%s. The crawl is closed: what happened since the last commit, less than a second "
            "ago, will happen again when the job is resumed",
            printable(error),
        )
