"""Whether the spider is closing, which no signal of Scrapy says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call

from .crawler import engine_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall


def is_closing(crawler: Crawler) -> bool:
    """Whether the engine is waiting for its last requests, or has ended.

    Needed by 2.14 to 2.19: no public name says so. Can go when one does.
    """
    slot = engine_of(crawler)._slot  # noqa: SLF001
    return slot is None or slot.closing is not None


class ClosingWatch:
    """Calls *on_closing* while the spider closes, when the engine waits for pending requests.

    Needed by 2.14 to 2.19: there is no signal before ``spider_closed``, which comes at the very
    end. So this polls from ``start()`` to ``stop()`` or to the end of the crawl. Can go when there
    is a signal.
    """

    SECONDS = 0.1
    """Between two polls."""

    def __init__(self, crawler: Crawler, on_closing: Callable[[], None]) -> None:
        self._crawler = crawler
        self._on_closing = on_closing
        self._loop: AsyncioLoopingCall | LoopingCall | None = None
        crawler.signals.connect(self.stop, signals.spider_closed)

    def start(self) -> None:
        """Starts polling. Does nothing if it already runs."""
        if self._loop is None:
            self._loop = create_looping_call(self._look)
            self._loop.start(self.SECONDS, now=False)

    def stop(self) -> None:
        """Stops polling. Does nothing if it does not run."""
        if self._loop is not None:
            loop, self._loop = self._loop, None
            loop.stop()

    def _look(self) -> None:
        if is_closing(self._crawler):
            self._on_closing()
