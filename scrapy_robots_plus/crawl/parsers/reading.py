"""How the parser in use (``ROBOTSTXT_PARSER``) gets a file."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from w3lib.encoding import http_content_type_encoding

from scrapy_robots_plus.crawl.settings import parser_class
from scrapy_robots_plus.protocol.octets import to_utf8

from .parsed_file import ParsedFile
from .robots_parser import RobotsParser

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings


class Parsers:
    """Makes the parsers of a crawl.

    Raises whatever an unusable parser class raises, such as for a missing dependency: at the start
    rather than in the middle of the crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._make: Any = parser_class(crawler.settings).from_crawler
        self._takes_charset = "charset" in inspect.signature(self._make).parameters
        self.read(b"", None)

    def read(self, body: bytes, charset: str | None) -> ParsedFile:
        """*body*, read by a new parser. *charset*: from its Content-Type."""
        if self._takes_charset:
            return ParsedFile(self._make(self._crawler, body, charset=charset))
        return ParsedFile(self._make(self._crawler, _in_utf8(body, charset)))


def takes_several_names(settings: BaseSettings) -> bool:
    """Whether the parser in use takes a tuple of names for an agent: only ours does."""
    return issubclass(parser_class(settings), RobotsParser)


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
