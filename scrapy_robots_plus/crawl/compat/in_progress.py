"""Which requests the engine has dealt with, and how to end its crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro

from .crawler import engine_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler


def dealt_with(requests: Iterable[Request], crawler: Crawler) -> list[Request]:
    """Those of *requests*, all handed out by the scheduler, that the engine is done with.

    A request is in progress until its callback or errback has ended and its items have left the
    pipelines; what it led to was given to the scheduler before. The scraper is asked as well: a
    callback that passes its own request to ``engine.download_async()`` takes it out of the engine's
    list. Needed by 2.14 to 2.19: no signal tells it. Can go when one does.
    """
    engine = engine_of(crawler)
    slot, scraper = engine._slot, engine.scraper.slot  # noqa: SLF001
    if slot is None:
        return []
    listed, scraped = slot.inprogress, scraper.active if scraper is not None else ()
    return [each for each in requests if each not in listed and each not in scraped]


def close_crawl(crawler: Crawler, reason: str) -> None:
    """Ends the crawl in the next turn of the loop, unless it is ending already."""
    call_later(0, lambda: _close(crawler, reason))


def _close(crawler: Crawler, reason: str) -> None:
    engine = engine_of(crawler)
    if engine.spider is not None and engine._slot is not None:  # noqa: SLF001
        deferred_from_coro(engine.close_spider_async(reason=reason))
