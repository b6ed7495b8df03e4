"""Requests of a job that cannot be read: counted and logged, their files kept."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.protocol.counting import counted
from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

KEPT_IN = "unreadable"
"""The folder, next to those of the lanes, that unreadable files are moved to."""


class Losses:
    """Requests that one queue could not read, or could not write to disk."""

    MOST_TOLD = 20
    """Messages that are logged; further losses are only counted."""

    def __init__(self, crawler: Crawler, folder: str) -> None:
        self._crawler = crawler
        self._stats = compat.stats_of(crawler)
        self._folder = folder
        self._lost = 0
        self.told = 0
        """How many losses there were to log."""
        self._is_full = False

    def killed(self, held: int, found: int) -> None:
        """The last run was killed while the job held *held* requests; its files claim *found*.

        The files may claim more than they hold: requests that were handed out before the kill. So
        a missing request counts as lost only if the job still held it.
        """
        self._add(held - found)
        self._log(
            logging.WARNING,
            "The last run of this job was killed while it held %s. Not all of them can be "
            "recovered: %s counts the lost ones, which are sent only if a page links to them again",
            counted(held, "request"),
            stats.QUEUE_LOST,
        )

    def requests(self, name: str, lost: int, error: Exception | None) -> None:
        """*lost* requests of the lane *name* are gone: the data in its file is not a request."""
        self._add(lost)
        self._tell(f"{counted(lost, 'request')} to {name} cannot be read and are lost", error)

    def file(self, name: str, path: Path, lost: int | None, error: Exception | None) -> None:
        """Nothing more can be read from *path*, which should have held *lost* requests.

        None if the number is unknown.
        """
        self._add(lost or 0)
        self._stats.inc_value(stats.QUEUE_UNREADABLE)
        many = "Requests" if lost is None else f"Up to {counted(lost, 'request')}"
        kept = self.set_aside(path)
        self._tell(f"{many} to {name} cannot be read; the file is kept as {kept}", error)

    def missing(self, name: str) -> None:
        """The state of the job names a lane that has no files."""
        self._stats.inc_value(stats.QUEUE_UNREADABLE)
        self._tell(f"Requests to {name} are lost: the job's state lists them, but no file does")

    def unopened(self, hosts: int) -> None:
        """*hosts* lanes of an earlier run were not opened. They stay in the state of the job."""
        self._log(
            logging.WARNING,
            "Requests to %d hosts are left for the job's next run: too many open files (ulimit)",
            hosts,
        )

    def set_aside(self, path: Path) -> Path:
        """Moves *path* to where no lane looks for it; returns its new path."""
        folder = Path(self._folder, KEPT_IN)
        with suppress(OSError):
            folder.mkdir(exist_ok=True)
            from scrapy_robots_plus.job.mending import unused

            return path.rename(unused(folder / ".".join(path.relative_to(self._folder).parts)))
        return path

    def not_on_disk(self, error: Exception) -> None:
        """A request could not be written to disk, and stays in memory."""
        self._stats.inc_value(stats.QUEUE_KEPT_IN_MEMORY)
        if self._is_full:
            return
        self._is_full = True
        self._log(
            logging.ERROR,
            "Requests cannot be written to disk (%s). They stay in memory and are lost if the "
            "crawl is stopped; their number is in %s",
            printable(str(error) or repr(error)),
            stats.QUEUE_KEPT_IN_MEMORY,
        )

    def _add(self, lost: int) -> None:
        self._lost += lost
        if self._lost > 0 or lost < 0:
            self._stats.set_value(stats.QUEUE_LOST, max(0, self._lost))

    def _tell(self, message: str, error: Exception | None = None) -> None:
        self.told += 1
        if self.told <= self.MOST_TOLD:
            why = f" ({error!r})" if error else ""
            self._log(logging.ERROR, "%s%s", printable(message), why)
        if self.told == self.MOST_TOLD:
            self._log(logging.ERROR, "Further losses are only counted")

    def _log(self, level: int, message: str, *arguments: object) -> None:
        logger.log(level, message, *arguments, extra={"spider": self._crawler.spider})
