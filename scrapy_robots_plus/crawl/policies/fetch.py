"""A fetch under way, and who waits for it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl import compat
from scrapy_robots_plus.crawl.own_errors import OwnErrors, is_of_this_package
from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from scrapy_robots_plus.policy.origin import Origin

    from .policy import Policy

logger = logging.getLogger(__name__)

LEAST_PAUSE = 0.1
"""Minimum seconds between two fetches of an unreadable robots.txt, whatever its error TTL."""


class Fetch:
    """A fetch under way. Separate from the cache, so that an eviction leaves no waiter behind."""

    def __init__(self, request: Request | None) -> None:
        self.request = request
        """The request that started it, for Scrapy's ``robots_parsed``."""
        self.waiters: list[Deferred[Policy | None]] = []
        self.running: Deferred[None] | None = None
        self.policy: Policy | None = None
        """Its result, once it has ended."""

    def answer(self, policy: Policy | None) -> None:
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            waiter.callback(policy)

    def cancel(self) -> None:
        if self.running is not None:
            self.running.cancel()


async def announce(
    crawler: Crawler, policy: Policy, previous: Policy | None, request: Request | None
) -> None:
    """Sends Scrapy's signal for newly parsed rules, not for unchanged ones."""
    parsed = policy.file is not None and (previous is None or policy.file is not previous.file)
    if compat.robots_parsed is not None and parsed and request is not None:
        await crawler.signals.send_catch_log_async(
            compat.robots_parsed, robotparser=policy.parser, request=request
        )


def log_failure(failure: Failure, crawler: Crawler, origin: Origin) -> None:
    """Logs that a fetch was interrupted, unless that was our doing. A mistake ends the crawl."""
    error = failure.value
    if error is not None and is_of_this_package(error):
        OwnErrors.of(crawler).tell("the fetch of a robots.txt", error)
        return
    if isinstance(failure.value, compat.CANCELLED) and compat.is_closing(crawler):
        return
    logger.error(
        "Fetching the robots.txt of %s was interrupted: %s",
        printable(origin),
        printable(repr(failure.value)),
        extra={"spider": crawler.spider},
    )
