"""Writes the summary of a crawl to ``ROBOTS_SUMMARY_FILE``."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.recording.paths import filled_in
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.protocol.printable import printable

from .summary import summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_robots_plus.crawl.crawl import Crawl

logger = crawl_log(__name__)


class SummaryFile:
    """The file of one crawl. That it cannot be written is told in the log, and does not end it."""

    def __init__(self, crawl: Crawl, pattern: str) -> None:
        """*pattern*: the setting."""
        self._crawl = crawl
        self._started = crawl.clock.wall()
        spider = crawl.crawler.spider
        name = spider.name if spider else ""
        self._path = os.path.abspath(filled_in(pattern, name, self._started))

    def prepare(self) -> None:
        """Makes the folder, and tells at once if the file could not be written."""
        with self._failures_told(), TemporaryFile(dir=_target(self._path).parent):
            pass

    def write(self, reason: str) -> None:
        """Writes the summary of the crawl, which has ended for *reason*."""
        with self._failures_told():
            replace_file(_target(self._path), summary(self._crawl, self._started, reason))

    @contextmanager
    def _failures_told(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:  # ValueError: no name of a file
            logger(self._crawl.crawler).error(
                "ROBOTS_SUMMARY_FILE: %(path)s cannot be written (%(why)s)",
                {"path": printable(self._path), "why": printable(error)},
            )


def _target(path: str) -> Path:
    """*path* with links followed, in a folder that exists.

    Raises OSError if it is a folder, a device or the like, and ValueError if it is no path.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise OSError("it is not a regular file")
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def replace_file(path: Path, text: Iterable[str]) -> None:
    """Writes *text* to *path* as a whole: a reader sees the old file or the new one.

    Raises OSError, and leaves the old file.
    """
    temporary = path.with_name(f".{token_hex(8)}.tmp")
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.writelines(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
