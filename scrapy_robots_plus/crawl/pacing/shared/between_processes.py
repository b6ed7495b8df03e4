"""The pace that crawls in several processes keep together, in a file or on a Redis server."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl import compat, stats

from .shared_pace import GO_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from scrapy_robots_plus.cluster.pace.keeper import PaceKeeper

    from .shared_pace import Ask

logger = logging.getLogger(__name__)

CLOSING_SECONDS = 2.0
"""How long the end of a crawl waits until all is told."""


class PaceBetweenProcesses:
    """See :class:`.SharedPace`. The keeper is asked in a thread, one call after another.

    While it cannot be asked, each crawl keeps the delays on its own, as if *workers* crawls took
    turns: so many times as long.
    """

    def __init__(self, crawler: Crawler, keeper: PaceKeeper, workers: int) -> None:
        self._crawler = crawler
        self._keeper = keeper
        self._workers = workers
        self._stats = compat.stats_of(crawler)
        self._courier = compat.Courier("robots-pace")
        self._warned = False

    def ask(self, asked: Ask, answer: Callable[[float], None]) -> None:
        # It may leave some time after the keeper has allowed it.
        patience = None if asked.request is None else asked.patience + GO_SECONDS

        def ask() -> float:
            return self._keeper.ask(asked.host, asked.ticket, asked.delay, patience)

        def failed(failure: Failure) -> None:
            self._failed(failure)
            answer(asked.wait_alone(self._workers))

        self._courier.send(ask).addCallbacks(answer, failed)

    def left(self, host: str, ticket: str, ago: float, delay: float) -> None:
        self._tell(lambda: self._keeper.left(host, ticket, ago, delay))

    def unused(self, host: str, ticket: str, ago: float) -> None:
        self._tell(lambda: self._keeper.unused(host, ticket, ago))

    def leave_alone(self, host: str, seconds: float) -> None:
        self._tell(lambda: self._keeper.leave_alone(host, seconds))

    def close(self) -> Deferred[bool]:
        self._tell(self._keeper.close)
        return self._courier.close(CLOSING_SECONDS)

    def _tell(self, call: Callable[[], None]) -> None:
        self._courier.send(call).addErrback(self._failed)

    def _failed(self, failure: Failure) -> None:
        self._stats.inc_value(stats.SHARED_PACE_ERRORS)
        if not self._warned:
            self._warned = True
            logger.warning(
                "ROBOTS_SHARED_PACE: %(error)s. Until it can be asked again, the crawl keeps "
                "delays on its own, times ROBOTS_WORKERS, which is %(workers)d; further errors are "
                "counted as %(stat)s.",
                {
                    "error": failure.value,
                    "workers": self._workers,
                    "stat": stats.SHARED_PACE_ERRORS,
                },
                extra={"spider": self._crawler.spider},
            )
