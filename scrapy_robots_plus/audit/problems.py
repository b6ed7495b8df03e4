"""What goes wrong with the records of a crawl: told, counted, and never the end of the crawl."""

from __future__ import annotations

import logging
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_robots_plus.crawl.crawl import Crawl

logger = crawl_log(__name__)

_P = ParamSpec("_P")


class Problems:
    """Those of one crawl."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._crawler = crawl.crawler
        self._once = Once()

    def warn(self, text: str) -> None:
        """Logs *text*, which begins with the path of the file, at WARNING."""
        logger(self._crawler).warning("%s", printable(text))

    def warn_once(self, text: str) -> None:
        """The same, the first time only."""
        if self._once.is_first(text):
            self.warn(text)

    def count(self, errors: int = 1) -> None:
        if errors:
            self._crawl.stats.inc_value(stats.AUDIT_ERRORS, errors)

    def never_fatal(self, action: Callable[_P, None]) -> Callable[_P, None]:
        """*action*; the crawl survives its exceptions. They are logged, the first at ERROR."""

        @wraps(action)
        def guarded(*args: _P.args, **kwargs: _P.kwargs) -> None:
            try:
                action(*args, **kwargs)
            except Exception:  # noqa: BLE001 - an audit log is not worth a crawl
                level = logging.ERROR if self._once.is_first() else logging.DEBUG
                self.count()
                logger(self._crawler).log(level, "The audit log misses something", exc_info=True)

        return guarded
