"""The name that a request goes by: which User-Agent its robots.txt is read for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from scrapy.utils.misc import load_object

from .parser import RobotsParser

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from .settings import RobotsSettings

Names = str | tuple[str, ...]
"""One name, or several in order of preference."""

_JUDGED_META_KEY = "robots_agent"
"""The User-Agent that a request was judged by, where it is not the crawl's default."""


class Agents:
    """Finds the agent of a request before its User-Agent header is set, and checks it after."""

    def __init__(self, crawler: Crawler, settings: RobotsSettings) -> None:
        self._crawler = crawler
        self.fixed = _understood(settings.user_agent, crawler)
        """``ROBOTSTXT_USER_AGENT``: where set, no request is asked."""

    @cached_property
    def default(self) -> Names:
        """What Scrapy's own middlewares will put into a request that has no User-Agent."""
        if self.fixed is not None:
            return self.fixed
        settings = self._crawler.settings
        for name, value in (settings.getdict("DEFAULT_REQUEST_HEADERS") or {}).items():
            if name.lower() == "user-agent" and value:
                return str(value)
        return str(
            getattr(self._crawler.spider, "user_agent", None) or settings["USER_AGENT"] or ""
        )

    def of(self, request: Request) -> Names:
        """The agent to judge *request* by, as far as it can be known before it is sent."""
        if self.fixed is not None:
            return self.fixed
        header = _header(request)
        if header is None:
            return self.default
        request.meta[_JUDGED_META_KEY] = header
        return header

    def changed(self, request: Request) -> str | None:
        """The agent of *request* as it is sent, if it was judged by another one."""
        judged = request.meta.pop(_JUDGED_META_KEY, None) or self.default
        sent = _header(request) or ""
        return sent if sent != judged else None


def _understood(names: Names | None, crawler: Crawler) -> Names | None:
    """*names* as the parser takes them: of several, any but ours is given the first."""
    if names is None or isinstance(names, str):
        return names
    ours = issubclass(load_object(crawler.settings["ROBOTSTXT_PARSER"]), RobotsParser)
    return names if ours else names[0]


def _header(request: Request) -> str | None:
    value = request.headers.get(b"User-Agent")
    return None if value is None else value.decode("latin-1")
