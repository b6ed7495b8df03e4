"""What goes wrong with the records of a crawl: told and counted, never fatal."""

from __future__ import annotations

import logging
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_robots_plus.crawl.gate.crawl import Crawl

logger = logging.getLogger(__name__)

_P = ParamSpec("_P")


class Problems:
    """Those of one crawl."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawl.crawler
        self._warned: set[str] = set()
        self._has_failed = False

    def warn(self, text: str) -> None:
        """Logs *text*, which begins with the path of the file, at WARNING."""
        logger.warning("%s", printable(text), extra={"spider": self._crawler.spider})

    def warn_once(self, text: str) -> None:
        """The same, the first time only."""
        if text not in self._warned:
            self._warned.add(text)
            self.warn(text)

    def count(self, errors: int = 1) -> None:
        if errors:
            compat.stats_of(self._crawler).inc_value(stats.AUDIT_ERRORS, errors)

    def never_fatal(self, action: Callable[_P, None]) -> Callable[_P, None]:
        """*action*; the crawl survives its exceptions. They are logged, the first at ERROR."""

        @wraps(action)
        def guarded(*args: _P.args, **kwargs: _P.kwargs) -> None:
            try:
                action(*args, **kwargs)
            except Exception:
                level = logging.DEBUG if self._has_failed else logging.ERROR
                self._has_failed = True
                self.count()
                extra = {"spider": self._crawler.spider}
                logger.log(level, "The audit log misses something", exc_info=True, extra=extra)

        return guarded
