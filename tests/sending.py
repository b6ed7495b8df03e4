"""When requests are sent, noted where they are: in the crawl's own process, at its own clock.

A site sees them arrive later or less late, by as much as a busy machine likes: two requests that
were sent a second apart may well arrive 0.95 s apart. Even here a request may be noted a little
after it was sent, for which ``HICCUP`` allows.
"""

from __future__ import annotations

import itertools
import time
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.misc import load_object

from tests.crawling import ProbeSpider

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

    from tests.sites import Host

HICCUP = 0.1
"""Seconds that may go by between the sending of a request and the note of it."""
HANDLER = "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"
_HANDLERS = "scrapy.core.downloader.handlers"
HANDLER_WITHOUT_REACTOR = (
    f"{_HANDLERS}._aiohttp.AiohttpDownloadHandler"
    if find_spec(f"{_HANDLERS}._aiohttp")  # from 2.19
    else f"{_HANDLERS}._httpx.HttpxDownloadHandler"
)


@cache  # crawls with the same handlers may share what they fetch
def noting(handler: Any) -> Any:
    """*handler*, a download handler of Scrapy's, that notes in ``spider.sent`` what it sends."""

    class NotingHandler(handler):
        def __init__(self, crawler: Crawler) -> None:
            super().__init__(crawler)
            self._sent = crawler.spider.sent

        async def download_request(self, request: Request) -> Response:
            self._sent.append((time.monotonic(), request.url))
            response: Response = await super().download_request(request)
            return response

    return NotingHandler


class TimedSpider(ProbeSpider):
    """A probe that knows when each request was sent, robots.txt requests included, and when each
    answer came.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.sent: list[tuple[float, str]] = []
        self.answered: list[tuple[float, str, int]] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler, *arguments: Any, **named: Any) -> Self:
        spider = super().from_crawler(crawler, *arguments, **named)
        # Before anybody else is told, who might hold requests because of it.
        crawler.signals.connect(spider.note_answer, signals.response_downloaded)
        return spider

    def note_answer(self, response: Response) -> None:
        self.answered.append((time.monotonic(), response.url, response.status))

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        reactor = settings.getbool("TWISTED_REACTOR_ENABLED", True)
        handler = noting(load_object(HANDLER if reactor else HANDLER_WITHOUT_REACTOR))
        settings.set("DOWNLOAD_HANDLERS", {"http": handler, "https": handler}, priority="spider")


def gaps(sent: Iterable[tuple[float, str]], host: Host) -> list[float]:
    """Seconds between one page request to *host* and the next, all of which it received."""
    pages = [(at, url) for at, url in sent if is_page_of(host, url)]
    assert sorted(url for _, url in pages) == sorted(host.url(path) for path in host.fetched)
    return [later - earlier for (earlier, _), (later, _) in itertools.pairwise(pages)]


def is_page_of(host: Host, url: str) -> bool:
    return url.startswith(host.url()) and url != host.url("/robots.txt")
