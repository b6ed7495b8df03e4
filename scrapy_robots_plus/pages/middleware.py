"""Reads what a page says of itself, and drops or marks what its callback makes of it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.utils.log import logformatter_adapter

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.events import RobotsNoindex, RobotsOverrideError, request_not_followed
from scrapy_robots_plus.crawl.requests import (
    DONT_OBEY_META_KEY,
    NOFOLLOW_META_KEY,
    OVERRIDE_META_KEY,
    REDIRECT_META_KEY,
    origin_to_ask,
)
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.protocol.printable import printable

from .stamp import put_page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from scrapy_robots_plus.protocol.directives import PageDirectives, PageStatement
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings


logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False, repr=False)
class Page:
    """One response, read for one crawler."""

    url: str
    origin: Origin
    agent: AgentNames
    settings: RobotsSettings
    directives: PageDirectives
    read_at: float
    """Seconds since 1970."""
    requests: int = 0
    """Those that were dropped or marked."""
    items: int = 0
    """Those that were dropped or marked."""

    @property
    def nofollow(self) -> PageStatement | None:
        """Why its links are not to be followed; None if they may be, or nobody asks."""
        asks = self.settings.on_nofollow != "ignore"
        return self.directives.against_following() if asks else None

    @property
    def noindex(self) -> PageStatement | None:
        """Why it is not to be used; None if it may be, or nobody asks."""
        asks = self.settings.on_noindex != "ignore"
        return self.directives.against_indexing(self.read_at) if asks else None


class RobotsPagesMiddleware:
    """Spider middleware that reads X-Robots-Tag headers and robots meta tags, and drops or marks
    what a callback makes of the page, as ``ROBOTS_NOFOLLOW`` and ``ROBOTS_NOINDEX`` say.

    Raises :class:`~scrapy_robots_plus.RobotsSettingsError` if settings are wrong.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawl = crawl = Crawl.of(crawler)
        self._crawler = crawler
        self._reads_any = crawl.settings.reads_any_pages
        self._enforces = crawl.settings.enforces
        self._stats = crawl.stats
        self._pages: WeakKeyDictionary[Response, Page | None] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    # Reading

    def process_spider_input(self, response: Response) -> None:
        """Reads the page before its callback, which finds in the stamp what it says."""
        self._page_of(response)

    def _page_of(self, response: Response) -> Page | None:
        """The page, read once; None if what it says does not matter, or could not be read."""
        request = response.request
        if request is None or not (self._reads_any or OVERRIDE_META_KEY in request.meta):
            return None
        if response not in self._pages:
            try:
                self._pages[response] = self._read(response, request)
            except Exception:
                self._pages[response] = None  # a page may hold anything
                self._stats.inc_value(stats.PAGE_ERRORS)
                logger.exception(
                    "The directives of %s could not be read: it counts as a page without any",
                    printable(response),
                    extra={"spider": self._crawler.spider},
                )
        return self._pages[response]

    def _read(self, response: Response, request: Request) -> Page | None:
        origin = origin_to_ask(request)
        settings = None if origin is None else self._settings_of(request, origin)
        if origin is None or settings is None or not settings.reads_pages:
            return None
        from .statements import directives_of  # few crawls need it

        agent = self._crawl.get(Agents).of(request, settings)
        directives = directives_of(response, agent)
        for directive in directives.directives:
            self._stats.inc_value(stats.filled(stats.PAGE_DIRECTIVES, directive))
        put_page(request, directives.as_json())
        now = self._crawl.clock.wall()
        return Page(response.url, origin, agent, settings, directives, now)

    def _settings_of(self, request: Request, origin: Origin) -> RobotsSettings:
        try:
            return self._crawl.request_settings.of(request, origin)
        except RobotsOverrideError:  # reported when the request was sent
            return self._crawl.request_settings.of_origin(origin)

    # What its callback makes of it

    def process_spider_output(self, response: Response, result: Iterable[Any]) -> Iterator[Any]:
        """Called up to Scrapy 2.18 for callbacks that are not asynchronous."""
        page = self._page_of(response)
        try:
            for output in result:
                if page is None or self._passes(output, page, response):
                    yield output
        finally:
            self._is_done(page)

    async def process_spider_output_async(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Called for all other callbacks."""
        page = self._page_of(response)
        try:
            async for output in result:
                if page is None or self._passes(output, page, response):
                    yield output
        finally:
            self._is_done(page)

    def _is_done(self, page: Page | None) -> None:
        if page is not None and (page.requests or page.items):
            for listener in self._crawl.page_listeners:
                listener(page)
            page.requests = page.items = 0

    def _passes(self, output: Any, page: Page, response: Response) -> bool:
        if isinstance(output, Request):
            return self._follows(output, page, response)
        return output is None or self._keeps(output, page, response)

    def _follows(self, request: Request, page: Page, response: Response) -> bool:
        nofollow = page.nofollow
        if nofollow is None and NOFOLLOW_META_KEY not in request.meta:
            return True
        if _is_for_the_same_page(request, response):
            return True
        if nofollow is None or request.meta.get(DONT_OBEY_META_KEY):
            request.meta.pop(NOFOLLOW_META_KEY, None)  # it may have come with the meta of the page
            return True
        page.requests += 1
        if page.settings.on_nofollow == "observe":
            self._stats.inc_value(stats.NOFOLLOW_MARKED)
            request.meta[NOFOLLOW_META_KEY] = True
            return True
        self._stats.inc_value(stats.NOFOLLOW_DROPPED)
        self._crawl.get(Tally).not_followed += 1
        self._say("followed", request, nofollow, response)
        if self._enforces:  # the signal says that a request was dropped
            self._crawler.signals.send_catch_log(
                request_not_followed, request=request, response=response, statement=nofollow
            )
        return not self._enforces

    def _keeps(self, item: Any, page: Page, response: Response) -> bool:
        noindex = page.noindex
        if noindex is None:
            return True
        page.items += 1
        if page.settings.on_noindex == "observe":
            self._stats.inc_value(stats.NOINDEX_MARKED)
            return True
        self._stats.inc_value(stats.NOINDEX_DROPPED)
        self._crawl.get(Tally).not_indexed += 1
        if self._enforces:
            self._tell_of_drop(item, RobotsNoindex(page.url, noindex), response)
        else:
            self._say("kept", item, noindex, response)
        return not self._enforces

    def _tell_of_drop(self, item: Any, exception: RobotsNoindex, response: Response) -> None:
        """As Scrapy tells of an item that a pipeline has dropped."""
        spider = self._crawler.spider
        formatter = self._crawler.logformatter
        line = None if spider is None else formatter.dropped(item, exception, response, spider)
        if line is not None:
            logger.log(*logformatter_adapter(line), extra={"spider": spider, "item": item})
        sending = self._crawler.signals.send_catch_log_async(
            signals.item_dropped, item=item, response=response, spider=spider, exception=exception
        )
        compat.run_in_background(sending)

    def _say(self, done: str, what: object, said: PageStatement, response: Response) -> None:
        logger.debug(
            "%(would)s %(what)s, because %(page)s says %(said)s",
            {
                "would": f"Not {done}:" if self._enforces else f"Would not be {done}:",
                "what": printable(what),
                "page": printable(response),
                "said": said.describe(),
            },
            extra={"spider": self._crawler.spider},
        )


def _is_for_the_same_page(request: Request, response: Response) -> bool:
    """Whether it asks for the page again, as a retry does; that is no link."""
    asked = response.request
    urls = [response.url]
    if asked is not None:
        urls += [asked.url, *asked.meta.get(REDIRECT_META_KEY, ())]
    return _without_fragment(request.url) in map(_without_fragment, urls)


def _without_fragment(url: str) -> str:
    return url.partition("#")[0]
