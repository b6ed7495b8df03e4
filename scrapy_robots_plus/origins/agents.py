"""The agent that a request is judged by: from the settings, or from its User-Agent."""

from __future__ import annotations

from functools import cached_property

from scrapy import Request

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.protocol.product_token import (
    Agent,
    AgentNames,
    as_names,
    as_text,
    has_product_token,
)
from scrapy_robots_plus.settings.robots_settings import RobotsSettings
from scrapy_robots_plus.settings.scrapys_own import user_agent_in_headers

from .parsers import takes_several_names

logger = crawl_log(__name__)


class Agents:
    """The agents of requests, found before the User-Agent header is set, and checked after."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawl.crawler
        self._settings = crawl.settings

    @cached_property
    def default(self) -> AgentNames:
        """``ROBOTSTXT_USER_AGENT``; else what Scrapy sets on a request without a User-Agent."""
        named = self._settings.user_agent
        return self.sent if named is None else named

    @cached_property
    def sent(self) -> str:
        """What Scrapy sets on a request without a User-Agent, such as one for a robots.txt."""
        settings = self._crawler.settings
        of_spider = getattr(self._crawler.spider, "user_agent", None)
        return user_agent_in_headers(settings) or str(of_spider or settings["USER_AGENT"] or "")

    def spider_opened(self) -> None:
        """Finds the default anew, as a spider may name itself only now; warns if no site can
        address it.
        """
        for found in ("default", "sent"):
            vars(self).pop(found, None)
        agent, settings = self.default, self._crawler.settings
        anybody = self._settings.dialect.names_are_parts or not takes_several_names(settings)
        if not (anybody or agent == "*" or has_product_token(agent)):
            logger(self._crawler).warning(
                "The user agent %r contains no product token of its own, so sites can only address "
                "it by the robots.txt rules for all crawlers (*). Name your crawler in USER_AGENT "
                "or ROBOTSTXT_USER_AGENT.",
                agent,
            )

    def default_under(self, settings: RobotsSettings) -> AgentNames:
        """Returns the agent for requests with *settings*: set there, or else :attr:`default`."""
        return settings.user_agent or self.default

    def asked_for(self, agent: Agent | None, settings: RobotsSettings) -> AgentNames:
        """Returns the names of *agent*, given in any form; else those of :meth:`default_under`."""
        return as_names(agent) if agent else self.default_under(settings)

    def of(self, request: Request, settings: RobotsSettings) -> AgentNames:
        """Returns the agent to judge *request* by, as far as it is known before it is sent.

        *settings* are those of the request.
        """
        if settings.user_agent is not None:
            return settings.user_agent
        header = compat.user_agent_of(request)
        return self.default if header is None else as_text(header)

    def changed(self, request: Request, judged: AgentNames) -> str | None:
        """Returns the agent that *request* is sent with; None if that is the *judged* one."""
        sent = as_text(compat.user_agent_of(request) or b"")
        return sent if sent != judged else None
