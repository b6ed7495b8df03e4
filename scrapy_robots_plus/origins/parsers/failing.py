"""Reports a ``ROBOTSTXT_PARSER`` that raises."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING, TypeVar

from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

_FURTHER = f" Further failures are counted as {stats.PARSER_ERRORS} and logged at DEBUG."


def _failed(error: Exception, subject: object, collector: StatsCollector) -> str:
    """Counts *error* and logs it, the first of a crawl at ERROR; returns it in words.

    *subject*: the URL or origin that the parser failed on.
    """
    collector.inc_value(stats.PARSER_ERRORS)
    is_first = collector.get_value(stats.PARSER_ERRORS, 1) == 1
    lines = "".join(traceback.format_exception(error)).split("\n")
    logger.log(
        logging.ERROR if is_first else logging.DEBUG,
        "ROBOTSTXT_PARSER failed on %s.%s\n%s",
        printable(subject),
        _FURTHER if is_first else "",
        "\n".join(map(printable, lines)),
    )
    return f"ROBOTSTXT_PARSER failed: {type(error).__name__}: {error}"


def guarded(
    ask: Callable[[], _T],
    otherwise: Callable[[str], _T],
    subject: object,
    collector: StatsCollector,
) -> _T:
    """What *ask* returns. If it raises, since any parser may be in use, counts and logs that, and
    returns *otherwise* of the error in words.

    *subject*: the URL or origin that *ask* is about.
    """
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - any parser may be in use
        return otherwise(_failed(error, subject, collector))
