"""The URLs of a sitemap, of the sitemaps that it names, or of those that a robots.txt names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.utils.gz import gunzip
from scrapy.utils.sitemap import Sitemap, sitemap_urls_from_robots

from scrapy_robots_plus.commands.errors import UnreadableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.core.engine import ExecutionEngine

    from scrapy_robots_plus.commands.output import Output

MOST_FILES = 10_000
"""Sitemaps that are read for one command."""

MOST_LEVELS = 5
"""Sitemaps that name each other, from the first one down. The protocol allows two."""

MOST_OCTETS = 100_000_000
"""Of one sitemap, uncompressed; the protocol allows 50 MiB (https://www.sitemaps.org/protocol.html)."""


class _Named(NamedTuple):
    """A sitemap that is to be read."""

    name: str
    level: int


class Sitemaps:
    """All URLs that a sitemap leads to; each sitemap is read once, one after the other.

    One that cannot be read is named on standard error and counted in ``unread``, unless it is the
    first: that raises UnreadableError.
    """

    def __init__(self, name: str, engine: ExecutionEngine, output: Output) -> None:
        self._first = name
        self._engine = engine
        self._output = output
        self.unread = 0

    async def urls(self) -> AsyncIterator[str]:
        waiting = [_Named(self._first, 1)]
        known = {self._first}
        while waiting:
            here = waiting.pop()
            try:
                entries = _entries(await self._body(here.name), here.name)
                for url, is_sitemap in entries:
                    if not is_sitemap:
                        yield url
                    elif url not in known and self._takes(url, here.level, len(known)):
                        known.add(url)
                        waiting.append(_Named(url, here.level + 1))
            except UnreadableError as error:
                if here.name == self._first:
                    raise
                self._leave_out(error)

    def _takes(self, url: str, level: int, known: int) -> bool:
        if level < MOST_LEVELS and known < MOST_FILES:
            return True
        self._leave_out(f"{url}: too many sitemaps")
        return False

    def _leave_out(self, why: object) -> None:
        self.unread += 1
        self._output.error(f"left out: {why}")

    async def _body(self, name: str) -> bytes:
        try:
            body = await self._fetched(name) if _is_url(name) else Path(name).read_bytes()
            is_gzip = body[:3] == b"\x1f\x8b\x08"
            return gunzip(body, max_size=MOST_OCTETS) if is_gzip else body
        except Exception as error:  # any download handler may be in use
            raise UnreadableError(
                f"{name} cannot be read: {error or type(error).__name__}"
            ) from error

    async def _fetched(self, url: str) -> bytes:
        meta = {"download_maxsize": MOST_OCTETS, "download_warnsize": 0}
        response = await self._engine.download_async(Request(url, meta=meta, dont_filter=True))
        if response.status != 200:
            raise UnreadableError(f"status {response.status}")
        return response.body


def _is_url(name: str) -> bool:
    return urlsplit(name).scheme in ("http", "https")


def _entries(body: bytes, name: str) -> Iterator[tuple[str, bool]]:
    """The URLs in a sitemap, and whether each is that of another sitemap."""
    if _is_url(name) and urlsplit(name).path == "/robots.txt":
        for url in sitemap_urls_from_robots(body, base_url=name):
            yield url, True
        return
    try:
        sitemap = Sitemap(body)
    except Exception as error:  # of lxml, of Python, and others in each version of Scrapy
        raise UnreadableError(f"{name} is not a sitemap") from error
    if sitemap.type not in ("urlset", "sitemapindex"):
        raise UnreadableError(f"{name} is not a sitemap")
    for entry in sitemap:
        if entry.get("loc"):
            yield entry["loc"], sitemap.type == "sitemapindex"
