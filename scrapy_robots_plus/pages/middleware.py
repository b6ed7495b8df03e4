"""Drops or marks what a callback makes of a page that says ``nofollow`` or ``noindex``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.crawl.crawl import Crawl

from .consequences import Consequences
from .reading import PageReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self


class RobotsPagesMiddleware:
    """Spider middleware that reads X-Robots-Tag headers and robots meta tags, and drops or marks
    what a callback makes of the page, as ``ROBOTS_NOFOLLOW`` and ``ROBOTS_NOINDEX`` say.

    Raises :class:`~scrapy_robots_plus.RobotsSettingsError` if settings are wrong.
    """

    def __init__(self, crawler: Crawler) -> None:
        crawl = Crawl.of(crawler)
        self._reader = PageReader(crawl)
        self._consequences = Consequences(crawl)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_spider_input(self, response: Response) -> None:
        """Reads the page before its callback, which finds in the stamp what it says."""
        self._reader.page_of(response)

    def process_spider_output(self, response: Response, result: Iterable[Any]) -> Iterator[Any]:
        """Called up to Scrapy 2.18 for callbacks that are not asynchronous."""
        page = self._reader.page_of(response)
        try:
            for output in result:
                if page is None or self._consequences.passes(output, page, response):
                    yield output
        finally:
            if page is not None:
                self._consequences.finish(page)

    async def process_spider_output_async(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Called for all other callbacks."""
        page = self._reader.page_of(response)
        try:
            async for output in result:
                if page is None or self._consequences.passes(output, page, response):
                    yield output
        finally:
            if page is not None:
                self._consequences.finish(page)
