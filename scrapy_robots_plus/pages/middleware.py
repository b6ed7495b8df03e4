"""The spider middleware that drops or marks requests and items of pages that ask for it."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.exceptions import NotConfigured
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.events import RobotsNoindex, RobotsOverrideError, request_not_followed
from scrapy_robots_plus.crawl.log import Printed, crawl_log
from scrapy_robots_plus.crawl.requests import (
    DONT_OBEY_META_KEY,
    NOFOLLOW_META_KEY,
    REDIRECT_META_KEY,
    STAMP_META_KEY,
    origin_to_ask,
)
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.settings.scrapys_own import is_replaced

from .stamp import NOT_CHECKED

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_robots_plus.protocol.directives import PageStatement
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings


logger = crawl_log(__name__)


class Page(NamedTuple):
    """What one response asks of the crawler."""

    settings: RobotsSettings
    nofollow: PageStatement | None
    """Why its links must not be followed; None if they may be, or if the settings ignore it."""
    noindex: PageStatement | None
    """Why the page must not be used; None if it may be, or if the settings ignore it."""


class RobotsPagesMiddleware(BaseSpiderMiddleware):
    """Spider middleware that reads X-Robots-Tag headers and robots meta tags.

    Drops or marks what a callback makes of the page, as ``ROBOTS_NOFOLLOW`` and ``ROBOTS_NOINDEX``
    say. If these ignore the pages of all hosts, raises :exc:`~scrapy.exceptions.NotConfigured`, so
    that the output of callbacks need not pass through it.

    Raises :class:`~scrapy_robots_plus.RobotsSettingsError` if settings are wrong.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._crawl = crawl = Crawl.of(crawler)
        is_off = is_replaced(type(self), crawler.settings, "SPIDER_MIDDLEWARES")
        if is_off or not crawl.settings.reads_any_pages:
            raise NotConfigured
        self._pages: WeakKeyDictionary[Response, Page | None] = WeakKeyDictionary()

    # Reading

    def process_spider_input(self, response: Response) -> None:
        """Reads the page before its callback, which finds what it says in the stamp."""
        self._page_of(response)

    def _page_of(self, response: Response | None) -> Page | None:
        """Returns the page, read once; None if what it says is not asked for or cannot be read."""
        if response is None or response.request is None:
            return None
        if response not in self._pages:
            try:
                self._pages[response] = self._read(response, response.request)
            except Exception:  # noqa: BLE001 - a page may hold anything
                self._pages[response] = None
                self._crawl.stats.inc_value(stats.PAGE_ERRORS)
                logger(self.crawler).exception(
                    "The directives of %s could not be read: it counts as a page without any",
                    printable(response),
                )
        return self._pages[response]

    def _read(self, response: Response, request: Request) -> Page | None:
        if not self._crawl.has_middleware:  # which removes what came with the meta of another page
            request.meta.pop(STAMP_META_KEY, None)
        origin = origin_to_ask(request)
        if origin is None:
            return None
        try:
            settings = self._crawl.settings_of(request, origin)
        except RobotsOverrideError:  # in observe mode, the request was sent all the same
            settings = self._crawl.settings.for_origin(origin)
        if not settings.reads_pages:
            return None
        from .x_robots_tag_and_meta_tags import directives_of  # few crawls need it

        agent = self._crawl.get(Agents).of(request, settings)
        directives = directives_of(response, agent)
        for directive in directives.directives:
            self._crawl.stats.inc_value(stats.filled(stats.PAGE_DIRECTIVES, directive))
        # Added to a copy, as others may share the stamp.
        stamp = request.meta.get(STAMP_META_KEY)
        if not isinstance(stamp, dict):  # none, or a middleware of the project took its place
            stamp = deepcopy(NOT_CHECKED)
        request.meta[STAMP_META_KEY] = {**stamp, "page": directives.as_json()}
        now = self._crawl.clock.wall()
        nofollow = directives.against_following() if settings.nofollow != "ignore" else None
        noindex = directives.against_indexing(now) if settings.noindex != "ignore" else None
        return Page(settings, nofollow, noindex)

    # What a callback makes of the page

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        """Handles each request of a callback, for Scrapy: returns it, or None to drop it."""
        if response is None or _is_for_the_same_page(request, response):
            return request
        request.meta.pop(NOFOLLOW_META_KEY, None)  # it may have come with the meta of the page
        page = self._page_of(response)
        if page is None or page.nofollow is None or request.meta.get(DONT_OBEY_META_KEY):
            return request
        if page.settings.nofollow == "observe":
            self._crawl.stats.inc_value(stats.NOFOLLOW_MARKED)
            request.meta[NOFOLLOW_META_KEY] = True
            return request
        self._crawl.stats.inc_value(stats.NOFOLLOW_DROPPED)
        self._crawl.get(Tally).not_followed += 1
        self._say("followed", request, page.nofollow, response)
        if not self._crawl.settings.enforces:
            return request
        self.crawler.signals.send_catch_log(
            request_not_followed, request=request, response=response, statement=page.nofollow
        )
        return None

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Handles each item of a callback, for Scrapy: returns it, or None to drop it."""
        page = self._page_of(response)
        if response is None or page is None or page.noindex is None or item is None:
            return item
        if page.settings.noindex == "observe":
            self._crawl.stats.inc_value(stats.NOINDEX_MARKED)
            return item
        self._crawl.stats.inc_value(stats.NOINDEX_DROPPED)
        self._crawl.get(Tally).not_indexed += 1
        self._say("kept", item, page.noindex, response)
        if not self._crawl.settings.enforces:
            return item
        # As Scrapy does for an item that a pipeline has dropped.
        sending = self.crawler.signals.send_catch_log_async(
            signals.item_dropped,
            item=item,
            response=response,
            spider=self.crawler.spider,
            exception=RobotsNoindex(response.url, page.noindex),
        )
        compat.run_in_background(sending)
        return None

    def _say(self, done: str, what: object, said: PageStatement, response: Response) -> None:
        would = "Not" if self._crawl.settings.enforces else "Would not be"
        shown = Printed(what), Printed(response), said.describe()
        logger(self.crawler).debug("%s %s: %s, because %s says %s", would, done, *shown)


def _is_for_the_same_page(request: Request, response: Response) -> bool:
    """Returns whether *request* asks for the page again, as a retry does: that is no link."""
    asked = response.request
    urls = [request.url, response.url]
    if asked is not None:
        urls += [asked.url, *(asked.meta.get(REDIRECT_META_KEY) or ())]
    wanted, *known = (url.partition("#")[0] for url in urls)
    return wanted in known
