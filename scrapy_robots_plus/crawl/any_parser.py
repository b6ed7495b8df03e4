"""What the robots.txt parsers of Scrapy can be asked beyond what its interface names."""

from __future__ import annotations

import inspect
from codecs import BOM_UTF8
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from w3lib.encoding import http_content_type_encoding

from .hours import Hours, hours_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser

    from .agent import Names


def make_parser(parsers: Any, crawler: Crawler, body: bytes, content_type: str) -> RobotParser:
    """A ``RobotParser`` of *body*. Those that take a charset get that of the Content-Type."""
    if "charset" not in inspect.signature(parsers.from_crawler).parameters:
        # Not all of Scrapy's parsers see a rule behind a byte order mark.
        return cast("RobotParser", parsers.from_crawler(crawler, body.removeprefix(BOM_UTF8)))
    charset = http_content_type_encoding(content_type)
    return cast("RobotParser", parsers.from_crawler(crawler, body, charset=charset))


def crawl_delay_of(parser: Any, user_agent: Names) -> object:
    """The Crawl-delay that a ``RobotParser`` names for *user_agent*, unchecked.

    ``RobotParser.crawl_delay`` is there from 2.18; before, Scrapy's own parsers are asked
    through what they wrap.
    """
    if hasattr(parser, "crawl_delay"):
        return parser.crawl_delay(user_agent)
    wrapped = getattr(parser, "rp", None)
    for name in ("crawl_delay", "get_crawl_delay"):
        if hasattr(wrapped, name):
            return getattr(wrapped, name)(user_agent)
    return None


def request_rate_of(parser: Any, user_agent: Names) -> tuple[float, Hours | None] | None:
    """The seconds between requests that a Request-rate asks for, and the hours it is meant for.

    No name of Scrapy's interface: that of our parser, of Protego and of the standard library.
    """
    rate = _asked(parser, "request_rate", user_agent)
    requests = getattr(rate, "requests", None)
    seconds = getattr(rate, "seconds", None)
    if not requests or not seconds or requests < 0 or seconds < 0:
        return None
    window = rate.window if hasattr(rate, "window") else hours_of(rate)
    return seconds / requests, hours_of(window)


def visit_time_of(parser: Any, user_agent: Names) -> Hours | None:
    """The hours of a Visit-time, as far as the parser names them."""
    return hours_of(_asked(parser, "visit_time", user_agent))


def _asked(parser: Any, name: str, user_agent: Names) -> Any:
    holder = parser if hasattr(parser, name) else getattr(parser, "rp", None)
    ask = getattr(holder, name, None)
    return ask(user_agent) if callable(ask) else None


def sitemaps_of(parser: Any) -> tuple[str, ...]:
    """The Sitemap lines that a parser names; Scrapy's interface has no name for them."""
    holder = parser if hasattr(parser, "sitemaps") else getattr(parser, "rp", None)
    found = getattr(holder, "sitemaps", None) or getattr(holder, "site_maps", None)
    if callable(found):
        found = found()
    return tuple(str(url) for url in found) if isinstance(found, Iterable) else ()
