"""Requests of a job that cannot be read: counted, told, and their files kept."""

from __future__ import annotations

import logging
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

KEPT_IN = "unreadable"
"""The folder, beside those of the lanes, that files are moved to."""


class Losses:
    """What one queue could not read, or not put on disk."""

    MOST_TOLD = 20
    """After as many messages the rest is counted only."""

    def __init__(self, crawler: Crawler, folder: str) -> None:
        self._crawler = crawler
        self._stats = compat.stats_of(crawler)
        self._folder = folder
        self._lost = 0
        self.told = 0
        """How many messages there were to tell."""
        self._is_full = False

    def killed(self, held: int, found: int) -> None:
        """The last run was killed when the job held so many requests; its files claim *found*.

        They may claim more than they hold, of what was handed out before the kill. So what turns
        out to be missing there is lost only as far as the job held it.
        """
        self._add(held - found)
        self._log(
            logging.WARNING,
            "The last run of this job was killed when it held %s. They cannot all be read again: "
            "%s counts those that are lost, unless a page leads to them anew",
            _requests(held),
            stats.QUEUE_LOST,
        )

    def requests(self, name: str, lost: int, error: Exception | None) -> None:
        """*lost* requests of the lane *name* are gone: what was read from its file is none."""
        self._add(lost)
        self._tell(f"{_requests(lost)} to {name} cannot be read, lost for good", error)

    def file(self, name: str, path: Path, lost: int | None, error: Exception | None) -> None:
        """Nothing more can be read from *path*, which should have held *lost* requests.

        None where nobody knows how many.
        """
        self._add(lost or 0)
        self._stats.inc_value(stats.QUEUE_UNREADABLE)
        many = "Requests" if lost is None else f"Up to {_requests(lost)}"
        self._tell(f"{many} to {name} cannot be read; the file is kept as {self.keep(path)}", error)

    def missing(self, name: str) -> None:
        """The state of the job names a lane, and there is nothing of it."""
        self._stats.inc_value(stats.QUEUE_UNREADABLE)
        self._tell(f"Requests to {name} are lost: the state of the job names them, no file does")

    def unopened(self, hosts: int) -> None:
        """So many lanes of a former crawl were not opened, and stay in the state of the job."""
        self._log(
            logging.WARNING,
            "Requests to %d hosts stay in the job for its next run: too many open files (ulimit)",
            hosts,
        )

    def keep(self, path: Path) -> Path:
        """Moves *path* to where no lane will look for it; returns where it is."""
        folder = Path(self._folder, KEPT_IN)
        with suppress(OSError):
            folder.mkdir(exist_ok=True)
            return path.rename(_unused(folder / ".".join(path.relative_to(self._folder).parts)))
        return path

    def not_on_disk(self, error: Exception) -> None:
        """A request could not be put on disk, and stays in memory."""
        self._stats.inc_value(stats.QUEUE_KEPT_IN_MEMORY)
        if self._is_full:
            return
        self._is_full = True
        self._log(
            logging.ERROR,
            "Requests cannot be put on disk (%s). They stay in memory, and are lost if the crawl "
            "is stopped; how many: %s",
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
            self._log(logging.ERROR, "More that cannot be read is only counted from here on")

    def _log(self, level: int, message: str, *arguments: object) -> None:
        logger.log(level, message, *arguments, extra={"spider": self._crawler.spider})


def _requests(number: int) -> str:
    return "1 request" if number == 1 else f"{number:,} requests"


def _unused(path: Path) -> Path:
    """*path*, or one with a number if there is such a file."""
    numbered = (Path(f"{path}-{number}") for number in count(2))
    return path if not path.exists() else next(other for other in numbered if not other.exists())
