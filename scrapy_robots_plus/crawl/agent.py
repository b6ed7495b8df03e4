"""The name that a request goes by: which User-Agent its robots.txt is read for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from .parser import RobotsParser
from .settings import parser_class

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from .settings import RobotsSettings

Names = str | tuple[str, ...]
"""One name, or several in order of preference."""


class Agents:
    """Finds the agent of a request before its User-Agent header is set, and checks it after."""

    def __init__(self, crawler: Crawler, settings: RobotsSettings) -> None:
        self._crawler = crawler
        self.fixed = _understood(settings.user_agent, crawler)
        """``ROBOTSTXT_USER_AGENT``: where set, no request is asked."""
        # Not in the meta, which spiders hand on to other requests.
        self._judged: WeakKeyDictionary[Request, str] = WeakKeyDictionary()

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
        return self.default if header is None else header

    def judged_by(self, request: Request) -> Names:
        """As :meth:`of`, remembered until :meth:`changed` compares it with what is sent."""
        agent = self.of(request)
        if agent is not self.fixed and agent is not self.default:
            self._judged[request] = str(agent)
        elif self._judged:
            self._judged.pop(request, None)
        return agent

    def changed(self, request: Request) -> str | None:
        """The agent of *request* as it is sent, if it was judged by another one."""
        if self.fixed is not None:
            return None
        judged: Names = self.default
        if self._judged:
            judged = self._judged.pop(request, judged)
        sent = _header(request) or ""
        return sent if sent != judged else None


def _understood(names: Names | None, crawler: Crawler) -> Names | None:
    """*names* as the parser takes them: of several, any but ours is given the first."""
    if names is None or isinstance(names, str):
        return names
    ours = issubclass(parser_class(crawler.settings), RobotsParser)
    return names if ours else names[0]


def _header(request: Request) -> str | None:
    headers = request.headers
    if b"User-Agent" not in headers:  # costs a third of get()
        return None
    value = headers[b"User-Agent"]
    return None if value is None else value.decode("latin-1")
