"""A drop-in for the standard library's ``urllib.robotparser``, on this engine.

    from scrapy_robots_plus.robotparser import RobotFileParser

replaces ``from urllib.robotparser import RobotFileParser``; nothing else needs to change.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterable
from urllib.robotparser import RequestRate
from urllib.robotparser import RobotFileParser as _RobotFileParser

from .protocol import RFC9309, Dialect, Explanation, RobotsTxt, Verdict, dialect_named

__all__ = ["RequestRate", "RobotFileParser"]


class RobotFileParser(_RobotFileParser):
    """A drop-in for the standard library's class that reads one robots.txt by RFC 9309.

    Unchanged: the methods and their results; :meth:`read` treats 401 and 403 as "all disallowed"
    and other 4xx as "all allowed"; before a file is read, nothing may be fetched. New: ``dialect``,
    :meth:`verdict`, :meth:`explain`, and support for octets that are not UTF-8.
    """

    def __init__(self, url: str = "", dialect: Dialect | str = RFC9309) -> None:
        super().__init__(url)
        self.dialect = dialect_named(dialect)
        """The :class:`~scrapy_robots_plus.protocol.Dialect` in which the file is read, by default
        RFC 9309. May be given by its name."""
        self._file = RobotsTxt.parse(b"", self.dialect)

    def read(self) -> None:
        """Fetches the URL and parses the response.

        Raises urllib.error.URLError if there is no response. Statuses of 500 and above leave the
        parser unchanged.
        """
        try:
            with urllib.request.urlopen(self.url) as response:  # type: ignore[attr-defined]  # noqa: S310
                body: bytes = response.read()
                charset: str | None = response.headers.get_content_charset()
        except urllib.error.HTTPError as error:
            if error.code in (401, 403):
                self.disallow_all = True
            elif 400 <= error.code < 500:
                self.allow_all = True
            error.close()
        else:
            self._file = RobotsTxt.parse(body, self.dialect, charset)
            self.modified()

    def parse(self, lines: Iterable[str]) -> None:
        """Parses *lines*, with or without their line ends."""
        body = "\n".join(line.rstrip("\r\n") for line in lines)
        self._file = RobotsTxt.parse(body, self.dialect)
        self.modified()

    def can_fetch(self, useragent: str, url: str) -> bool:
        """Returns whether the user agent, a product token or a whole header, may fetch the URL."""
        if self.disallow_all or self.allow_all:
            return not self.disallow_all
        return bool(self.mtime()) and self._file.allowed(url, useragent)

    def verdict(self, useragent: str, url: str) -> Verdict:
        """Returns which rule of the file decides, and on which line; ignores HTTP statuses."""
        return self._file.verdict(url, useragent)

    def explain(self, useragent: str, url: str) -> Explanation:
        """Returns the verdict, and every matching rule that was beaten."""
        return self._file.explain(url, useragent)

    def crawl_delay(self, useragent: str) -> int | float | None:  # type: ignore[override]
        """Returns the Crawl-delay in seconds, an int if it is whole; None if there is none."""
        delay = self._file.crawl_delay(useragent)
        return int(delay) if delay is not None and delay.is_integer() else delay

    def request_rate(self, useragent: str) -> RequestRate | None:
        """Returns the Request-rate as requests and seconds; None if there is none."""
        rate = self._file.request_rate(useragent)
        return None if rate is None else RequestRate(rate.requests, rate.seconds)

    def site_maps(self) -> list[str] | None:
        """Returns the Sitemap URLs; None if there are none."""
        return list(self._file.sitemaps) or None

    def __str__(self) -> str:
        """Returns the lines that were read; see :meth:`.RobotsTxt.as_text`."""
        return self._file.as_text()
