"""A fetch under way, and who waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request
    from twisted.internet.defer import Deferred

    from .policy import Policy


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
