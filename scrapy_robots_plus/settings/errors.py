"""How a crawl with wrong settings ends: all of them are named at once, without a traceback."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from scrapy_robots_plus import compat

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler

    from .checks import SettingProblem


class RobotsSettingsError(UsageError, ValueError):
    """Settings have values that cannot be used.

    The message names each with its value and what is expected. Scrapy's commands print a
    ``UsageError`` without a traceback.
    """

    def __init__(self, problems: Iterable[SettingProblem]) -> None:
        self.problems = tuple(problems)
        """Each wrong setting, a
        :class:`~scrapy_robots_plus.settings.checks.SettingProblem`."""
        lines = [str(problem) for problem in self.problems]
        if len(lines) > 1:
            lines = [f"{len(lines)} settings are wrong:", *lines]
        super().__init__("\n  ".join(lines), print_help=False)


_clear: set[type[Exception]] = set()
"""Errors whose message says enough."""


def end_crawl(crawler: Crawler, error: Exception) -> None:
    """Call this when *error*, whose message says enough, is about to stop *crawler* before it
    starts.
    """
    _clear.add(type(error))
    compat.mark_as_failed(crawler)
    compat.log_failed_crawls_once()
    for name in compat.LOGGERS_OF_FAILED_CRAWLS:
        logging.getLogger(name).addFilter(_without_traceback)  # the same one once only


def _without_traceback(record: logging.LogRecord) -> bool:
    """A filter for the loggers that report why a crawl failed."""
    error = record.exc_info[1] if record.exc_info else None
    if type(error) in _clear:
        record.msg, record.args, record.exc_info = str(error), (), None
    return True
