"""Parsers of all kinds for tests: Scrapy's own, ours, subclasses, and what users may write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.robotstxt import RobotParser
from scrapy.utils.test import get_crawler

from scrapy_robots_plus.origins.parsers import Parsers

if TYPE_CHECKING:
    from scrapy_robots_plus.origins.parsers import ParsedFile

OURS = "scrapy_robots_plus.RobotsParser"
PROTEGO = "scrapy.robotstxt.ProtegoRobotParser"
PYTHON = "scrapy.robotstxt.PythonRobotParser"
RERP = "scrapy.robotstxt.RerpRobotParser"


class PlainParser(RobotParser):
    """A user's own: Scrapy's interface and no more. Forbids what the file holds."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    @classmethod
    def from_crawler(cls, crawler: Any, robotstxt_body: bytes) -> PlainParser:
        return cls(robotstxt_body)

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        return str(url).encode() not in self.body


def read(body: bytes, parser: Any = OURS, charset: str | None = None) -> ParsedFile:
    """*body*, read by *parser*, a class or its path."""
    crawler = get_crawler(settings_dict={"ROBOTSTXT_PARSER": parser})
    return Parsers(crawler).read(body, charset)
