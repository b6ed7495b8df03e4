"""Reads what responses say of themselves, each once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.exceptions import RobotsOverrideError
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.crawl.requests import OVERRIDE_META_KEY, origin_to_ask
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.settings.options import PageAction

from .stamp import put_page

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol.directives import PageDirectives, PageStatement
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings

logger = crawl_log(__name__)


@dataclass(slots=True)
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
        asks = self.settings.on_nofollow is not PageAction.IGNORE
        return self.directives.against_following() if asks else None

    @property
    def noindex(self) -> PageStatement | None:
        """Why it is not to be used; None if it may be, or nobody asks."""
        asks = self.settings.on_noindex is not PageAction.IGNORE
        return self.directives.against_indexing(self.read_at) if asks else None


class PageReader:
    """Reads each page once, if anything that it says matters, and stamps its request."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._reads_any = crawl.settings.reads_any_pages
        self._stats = compat.stats_of(crawl.crawler)
        self._pages: WeakKeyDictionary[Response, Page | None] = WeakKeyDictionary()

    def page_of(self, response: Response) -> Page | None:
        """The page; None if what it says does not matter, or could not be read."""
        request = response.request
        if request is None or not (self._reads_any or OVERRIDE_META_KEY in request.meta):
            return None
        if response not in self._pages:
            self._pages[response] = self._read_safely(response, request)
        return self._pages[response]

    def _read_safely(self, response: Response, request: Request) -> Page | None:
        try:
            return self._read(response, request)
        except Exception:  # noqa: BLE001 - a page may hold anything
            self._stats.inc_value(stats.PAGE_ERRORS)
            logger(self._crawl.crawler).exception(
                "The directives of %s could not be read: it counts as a page without any",
                printable(response),
            )
            return None

    def _read(self, response: Response, request: Request) -> Page | None:
        from .statements import directives_of  # few crawls need it

        origin = origin_to_ask(request)
        settings = None if origin is None else self._settings_of(request, origin)
        if origin is None or settings is None or not settings.reads_pages:
            return None
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
