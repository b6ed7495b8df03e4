"""The standard library's ``urllib.robotparser`` on this engine.

    from scrapy_robots_plus.robotparser import RobotFileParser

takes the place of ``from urllib.robotparser import RobotFileParser``; nothing else needs to change.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING
from urllib.robotparser import RequestRate
from urllib.robotparser import RobotFileParser as _RobotFileParser

from .protocol import RFC9309, Dialect, RobotsTxt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .protocol import Explanation, Verdict

__all__ = ["RequestRate", "RobotFileParser"]


class RobotFileParser(_RobotFileParser):
    """Answers questions about one robots.txt, as the class of the same name does, by RFC 9309.

    What it keeps: the methods, their results, and that :meth:`read` takes 401 and 403 for "all
    disallowed", other 4xx for "all allowed", and that before a file is read nothing may be fetched.
    What is new: ``dialect``, :meth:`verdict`, :meth:`explain`, and octets that are no UTF-8.
    """

    last_checked: float

    def __init__(self, url: str = "", dialect: Dialect = RFC9309) -> None:
        super().__init__(url)
        self.dialect = dialect
        """How the file is read, a :class:`~scrapy_robots_plus.protocol.Dialect`: by default RFC
        9309."""
        self._file = RobotsTxt.parse(b"", dialect)

    def read(self) -> None:
        """Fetches the URL and parses what comes.

        Raises urllib.error.URLError where there is no answer. Statuses from 500 up leave the
        parser as it is.
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
            self._take(RobotsTxt.parse(body, self.dialect, charset, None))

    def parse(self, lines: Iterable[str]) -> None:
        """Parses lines, with or without their line ends."""
        body = "\n".join(line.rstrip("\r\n") for line in lines)
        self._take(RobotsTxt.parse(body, self.dialect, max_bytes=None))

    def _take(self, file: RobotsTxt) -> None:
        self._file = file
        self.modified()

    def modified(self) -> None:
        """Notes that the file was read now."""
        self.last_checked = time.time()

    def _unread(self) -> bool:
        return not self.mtime()

    def can_fetch(self, useragent: str, url: str) -> bool:
        """Whether the user agent, a token or a whole header, may fetch the URL."""
        if self.disallow_all or self.allow_all:
            return not self.disallow_all
        return not self._unread() and self._file.allowed(url, useragent)

    def verdict(self, useragent: str, url: str) -> Verdict:
        """Which rule of the file decides, on which line; regardless of statuses."""
        return self._file.verdict(url, useragent)

    def explain(self, useragent: str, url: str) -> Explanation:
        """The verdict, and every rule that it beat."""
        return self._file.explain(url, useragent)

    def crawl_delay(self, useragent: str) -> int | float | None:  # type: ignore[override]
        """Seconds between requests, an int where they are whole; None if none are asked for."""
        delay = None if self._unread() else self._file.crawl_delay(useragent)
        return int(delay) if delay is not None and delay.is_integer() else delay

    def request_rate(self, useragent: str) -> RequestRate | None:
        """Requests and seconds, or None if none are asked for."""
        rate = None if self._unread() else self._file.request_rate(useragent)
        return None if rate is None else RequestRate(rate.requests, rate.seconds)

    def site_maps(self) -> list[str] | None:
        """Sitemap URLs, or None if there are none."""
        return list(self._file.sitemaps) or None

    def __str__(self) -> str:
        """The groups as a robots.txt, those for ``*`` last."""
        return self._file.as_text()
