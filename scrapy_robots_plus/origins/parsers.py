"""One interface to a robots.txt, whichever parser (``ROBOTSTXT_PARSER``) reads it."""

from __future__ import annotations

import inspect
import logging
import re
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from w3lib.encoding import http_content_type_encoding

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.protocol.octets import to_utf8
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.verdict import Reason, Verdict
from scrapy_robots_plus.settings.scrapys_own import class_in

from .our_parser import RobotsParser

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

    from scrapy_robots_plus.protocol import Dialect, RequestRate, VisitTime
    from scrapy_robots_plus.protocol.product_token import AgentNames

logger = logging.getLogger(__name__)


class Parsers:
    """Makes the parsers of a crawl.

    Raises whatever an unusable parser class raises, such as for a missing dependency: at the start
    rather than in the middle of the crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._stats = compat.stats_of(crawler)
        self._make: Any = class_in(crawler.settings, "ROBOTSTXT_PARSER").from_crawler
        self._takes_charset = "charset" in inspect.signature(self._make).parameters
        self.read(b"", None)

    def read(self, body: bytes, charset: str | None) -> ParsedFile:
        """*body*, read by a new parser. *charset*: from its Content-Type."""
        if self._takes_charset:
            return ParsedFile(self._make(self._crawler, body, charset=charset))
        return ParsedFile(self._make(self._crawler, _in_utf8(body, charset)))

    def file_of(
        self, body: bytes, charset: str | None, dialect: Dialect, subject: str
    ) -> tuple[ParsedFile | None, str]:
        """As :meth:`read`, in *dialect*; None and the error in words if the parser fails on it.

        *subject*: what is read.
        """
        try:
            return self.read(body, charset).read_as(dialect), ""
        except Exception as error:  # noqa: BLE001 - any parser may be in use
            return None, parser_failed(error, subject, self._stats)


def takes_several_names(settings: BaseSettings) -> bool:
    """Whether the parser in use takes a tuple of names for an agent: only ours does."""
    return issubclass(class_in(settings, "ROBOTSTXT_PARSER"), RobotsParser)


def charset_of(headers: Mapping[str, str]) -> str | None:
    """The charset of the Content-Type, under Python's name; None if there is none."""
    return http_content_type_encoding(headers.get("content-type", ""))


_UNDECODED = re.compile("[\udc80-\udcff]")
"""The characters that ``surrogateescape`` makes of octets that are not UTF-8."""


def _in_utf8(body: bytes, charset: str | None) -> bytes:
    """*body* in a form that all of Scrapy's parsers can read. Two of them treat a file with one
    octet that is not UTF-8 as empty, and some miss a rule after a byte order mark.

    Such octets are percent-escaped, which means the same (RFC 9309 2.2.2).
    """
    text = to_utf8(body, charset or "").decode("utf-8", "surrogateescape")
    return _UNDECODED.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", text).encode()


class ParsedFile:
    """One file, whichever of Scrapy's robots.txt parsers has read it.

    Scrapy's interface defines ``allowed``, and from 2.18 ``crawl_delay``. Parsers have that and the
    sitemaps under names of their own too, or in a parser that they wrap (``rp``). All else only
    ours knows. Exceptions of the parser are passed on.
    """

    __slots__ = ("parser",)

    def __init__(self, parser: RobotParser) -> None:
        self.parser = parser

    def read_as(self, dialect: Dialect) -> ParsedFile:
        """The same file in another dialect. Parsers other than ours know one only."""
        ours = self.ours
        if ours is None or ours.dialect == dialect:
            return self
        return ParsedFile(ours.read_as(dialect))

    def allowed(self, url: str, agent: AgentNames) -> bool:
        """Whether *agent* may fetch *url*."""
        # Several names are passed only to a parser that takes them: see takes_several_names().
        return self.parser.allowed(url, cast("str", agent))

    def verdict(self, url: str, agent: AgentNames) -> Verdict:
        """Whether *agent* may fetch *url*, with rule and line if the parser is ours."""
        ours = self.parser
        # What decides is allowed(), which a subclass may change.
        if isinstance(ours, RobotsParser) and type(ours).allowed is RobotsParser.allowed:
            return ours.verdict(url, agent)
        return Verdict(self.allowed(url, agent), Reason.RULE)

    def crawl_delay(self, agent: AgentNames) -> object:
        """The Crawl-delay for *agent* as the parser returns it, unchecked."""
        # Before 2.18 Scrapy's own parsers have no crawl_delay(), but wrap a parser that does.
        for holder in (self.parser, self._wrapped):
            for name in ("crawl_delay", "get_crawl_delay"):
                ask = getattr(holder, name, None)
                if callable(ask):
                    return ask(agent)
        return None

    def request_rate(self, agent: AgentNames) -> RequestRate | None:
        """The Request-rate for *agent*."""
        return self.ours.request_rate(agent) if self.ours else None

    def visit_time(self, agent: AgentNames) -> VisitTime | None:
        """The Visit-time for *agent*."""
        return self.ours.visit_time(agent) if self.ours else None

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The Sitemap lines."""
        holder = self.parser if hasattr(self.parser, "sitemaps") else self._wrapped
        found = getattr(holder, "sitemaps", None) or getattr(holder, "site_maps", None)
        if callable(found):
            found = found()
        return tuple(str(url) for url in found) if isinstance(found, Iterable) else ()

    @property
    def ours(self) -> RobotsParser | None:
        """The parser, if it is ours: others name no rules, and know no lines about uses."""
        return self.parser if isinstance(self.parser, RobotsParser) else None

    @property
    def _wrapped(self) -> Any:
        return getattr(self.parser, "rp", None)


_T = TypeVar("_T")
_E = TypeVar("_E")

_FURTHER = f" Further failures are counted as {stats.PARSER_ERRORS} and logged at DEBUG."


def parser_failed(error: Exception, subject: object, collector: StatsCollector) -> str:
    """Counts *error* and logs it, the first of a crawl at ERROR; returns it in words.

    *subject*: the URL or origin that the parser failed on.
    """
    collector.inc_value(stats.PARSER_ERRORS)
    is_first = collector.get_value(stats.PARSER_ERRORS, 1) == 1
    lines = "".join(traceback.format_exception(error)).split("\n")
    logger.log(
        logging.ERROR if is_first else logging.DEBUG,
        "ROBOTSTXT_PARSER failed on %s.%s\n%s",
        printable(subject),
        _FURTHER if is_first else "",
        "\n".join(map(printable, lines)),
    )
    return f"ROBOTSTXT_PARSER failed: {type(error).__name__}: {error}"


def guarded(
    ask: Callable[[], _T], otherwise: _E, subject: object, collector: StatsCollector
) -> _T | _E:
    """What *ask* returns. If it raises, since any parser may be in use, counts and logs that, and
    returns *otherwise*.

    *subject*: the URL or origin that *ask* is about.
    """
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - any parser may be in use
        parser_failed(error, subject, collector)
        return otherwise
