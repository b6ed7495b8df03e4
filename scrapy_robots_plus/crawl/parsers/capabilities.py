"""What the robots.txt parsers of Scrapy can be asked beyond what its interface names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from w3lib.encoding import http_content_type_encoding

from scrapy_robots_plus.protocol.octets import to_utf8

from .hours import Hours, hours_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser

    from scrapy_robots_plus.protocol import Agent


def charset_of(headers: Mapping[str, str]) -> str | None:
    """The charset of the Content-Type, as Python names it; None where it names none of them."""
    return http_content_type_encoding(headers.get("content-type", ""))


def make_parser(parsers: Any, crawler: Crawler, body: bytes, charset: str | None) -> RobotParser:
    """A ``RobotParser`` of *body*. *charset* is for those that take one."""
    if "charset" not in inspect.signature(parsers.from_crawler).parameters:
        return cast("RobotParser", parsers.from_crawler(crawler, _in_utf8(body, charset)))
    return cast("RobotParser", parsers.from_crawler(crawler, body, charset=charset))


_UNDECODED = re.compile("[\udc80-\udcff]")
"""What ``surrogateescape`` makes of octets that are no UTF-8."""


def _in_utf8(body: bytes, charset: str | None) -> bytes:
    """*body* as all of Scrapy's parsers can read it: two of them take a file with one octet that
    is no UTF-8 for empty, and not all see a rule behind a byte order mark.

    Such octets are escaped, which says the same (RFC 9309 2.2.2).
    """
    text = to_utf8(body, charset or "").decode("utf-8", "surrogateescape")
    return _UNDECODED.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", text).encode()


def crawl_delay_of(parser: Any, user_agent: Agent) -> object:
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


def request_rate_of(parser: Any, user_agent: Agent) -> tuple[float, Hours | None] | None:
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


def visit_time_of(parser: Any, user_agent: Agent) -> Hours | None:
    """The hours of a Visit-time, as far as the parser names them."""
    return hours_of(_asked(parser, "visit_time", user_agent))


def _asked(parser: Any, name: str, user_agent: Agent) -> Any:
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
