"""Log lines that name the spider of their crawl, and warnings that come once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


def crawl_log(name: str) -> Callable[[Crawler], logging.LoggerAdapter[logging.Logger]]:
    """Returns a function that returns the log of the module *name* for a crawler.

    Usage: ``logger = crawl_log(__name__)``, then ``logger(crawler).warning("...")``.
    """
    logger = logging.getLogger(name)
    return lambda crawler: logging.LoggerAdapter(logger, {"spider": crawler.spider})


class Printed:
    """An object for a log line, printed only if the line is written: a large item takes time.

    Whether it will be, no logger knows in advance: Scrapy's handlers decide.
    """

    def __init__(self, what: object) -> None:
        self._what = what

    def __str__(self) -> str:
        return printable(self._what)


class Once:
    """A memory of what was logged, for lines that come once; the stats alone count repetitions."""

    def __init__(self, most: int = 100) -> None:
        """Takes *most*, the number of keys after which none is the first any more."""
        self._most = most
        self._seen: set[Hashable] = set()

    def is_first(self, key: Hashable = None) -> bool:
        """Returns True the first time that it is called with *key*."""
        if key in self._seen or len(self._seen) >= self._most:
            return False
        self._seen.add(key)
        return True
