"""Lines of the log that name the spider of their crawl; warnings that come once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from scrapy.crawler import Crawler

    Log = logging.LoggerAdapter[logging.Logger]


def crawl_log(name: str) -> Callable[[Crawler], Log]:
    """Returns what finds the log of a module for a crawl.

    ``logger = crawl_log(__name__)``, and then ``logger(crawler).warning("...")``.
    """
    logger = logging.getLogger(name)
    return lambda crawler: logging.LoggerAdapter(logger, {"spider": crawler.spider})


class Once:
    """Tells what happens for the first time; what happens again is for the stats alone."""

    def __init__(self, most: int = 100) -> None:
        """*most*: of that many keys at most."""
        self._most = most
        self._seen: set[Hashable] = set()

    def is_first(self, key: Hashable = None) -> bool:
        """True the first time that it is asked about *key*."""
        if key in self._seen or len(self._seen) >= self._most:
            return False
        self._seen.add(key)
        return True
