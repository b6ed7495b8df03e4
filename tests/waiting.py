"""Waiting for what happens, not for as long as it usually takes.

A busy machine makes such a wait longer; it cannot make a test fail.
"""

from __future__ import annotations

import time
from functools import wraps
from typing import TYPE_CHECKING, Any

import pytest_twisted
from scrapy import signals
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from scrapy.crawler import Crawler

LONGEST = 30.0
"""Seconds after which what is waited for does not come any more."""


async def pause(seconds: float) -> None:
    """For spiders and their like, in each reactor mode."""
    waiting: Deferred[None] = Deferred()
    call_later(seconds, waiting.callback, None)
    await maybe_deferred_to_future(waiting)


async def until(condition: Callable[[], object]) -> None:
    """Ends when *condition* holds; an error if it never does."""
    give_up_at = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < give_up_at, "what is waited for does not come"
        await pause(0.01)


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., Any]:
    """Runs a *test* as spiders and their like run: it can wait for whatever they can."""

    @pytest_twisted.ensureDeferred
    @wraps(test)
    async def run(*arguments: Any, **named: Any) -> None:
        await deferred_from_coro(test(*arguments, **named))

    return run


def close_when(condition: Callable[[], object], crawler: Crawler, reason: str = "stopped") -> None:
    """Closes a crawl, which is yet to be run, when *condition* holds.

    It is looked at with each response, too: a crawl may fetch many pages between two looks.
    """

    async def watch() -> None:
        await until(lambda: condition() or not crawler.crawling)
        await close()

    async def close() -> None:
        crawler.signals.disconnect(look, signals.response_received)
        if crawler.crawling:
            await crawler.engine.close_spider_async(reason=reason)

    def begin() -> None:
        deferred_from_coro(watch())

    def look() -> None:
        if condition():
            deferred_from_coro(close())

    crawler.signals.connect(begin, signals.spider_opened, weak=False)
    crawler.signals.connect(look, signals.response_received, weak=False)
