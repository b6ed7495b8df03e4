"""The URLs of a sitemap, of the sitemaps that it names, or of those that a robots.txt names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from scrapy.utils.gz import gunzip
from scrapy.utils.sitemap import Sitemap

from scrapy_robots_plus import compat
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.origin import Origin

from .output import Output, UnreadableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy_robots_plus.crawl.crawl import Crawl


MOST_FILES = 10_000
"""Sitemaps that are read for one command."""

MOST_LEVELS = 5
"""Sitemaps that name each other, from the first one down. The protocol allows two."""

MOST_OCTETS = 100_000_000
"""Of one sitemap, uncompressed; the protocol allows 50 MiB (https://www.sitemaps.org/protocol.html)."""


class Sitemaps:
    """All URLs that a sitemap leads to; each sitemap is read once, one after the other.

    One that cannot be read is named on standard error and counted in ``unread``, unless it is the
    first: that raises UnreadableError.
    """

    def __init__(self, name: str, crawl: Crawl, output: Output) -> None:
        self._first = name
        self._crawl = crawl
        self._output = output
        self.unread = 0

    async def urls(self) -> AsyncIterator[str]:
        waiting, known = [(self._first, 1)], {self._first}
        while waiting:
            name, level = waiting.pop()
            try:
                for url, is_sitemap in await self._entries(name):
                    if not is_sitemap:
                        yield url
                    elif url not in known and (level == MOST_LEVELS or len(known) == MOST_FILES):
                        self._leave_out(f"{url}: too many sitemaps")
                    elif url not in known:
                        known.add(url)
                        waiting.append((url, level + 1))
            except Exception as error:  # any download handler may be in use, and lxml
                why = getattr(error, "strerror", None) or str(error) or type(error).__name__
                words = f"{name} cannot be read: {why:.200}"
                if name == self._first:
                    raise UnreadableError(words) from error
                self._leave_out(words)

    def _leave_out(self, why: str) -> None:
        self.unread += 1
        self._output.error(f"left out: {why}")

    async def _entries(self, name: str) -> Iterable[tuple[str, bool]]:
        """The URLs in a sitemap or robots.txt, and whether each is that of a sitemap."""
        origin = _origin_of(name)
        if origin is None:
            if name != self._first:  # a site names no files of this machine
                raise ValueError("it is not an http or https URL")
            return _entries_in(Path(name).read_bytes())
        if urlsplit(name).path != "/robots.txt":
            return _entries_in(await self._fetched(name))
        policy = await self._crawl.get(Policies).obtain(origin)
        if policy is None or policy.access is Access.UNREACHABLE:
            raise UnreadableError(policy.in_words if policy else "stopped")
        return [(_joined(name, url), True) for url in policy.sitemaps]

    async def _fetched(self, url: str) -> bytes:
        meta = {"download_maxsize": MOST_OCTETS, "download_warnsize": 0}
        engine = compat.engine_of(self._crawl.crawler)
        response = await engine.download_async(Request(url, meta=meta, dont_filter=True))
        if response.status != 200:
            raise ValueError(f"status {response.status}")
        return response.body


def _origin_of(name: str) -> Origin | None:
    """None if *name* is not the http or https URL of anything."""
    try:
        return Origin.of(name)
    except ValueError:
        return None


def _joined(base: str, url: str) -> str:
    """*url* as a page at *base* means it; unchanged if it is not a URL."""
    try:
        return urljoin(base, url)
    except ValueError:
        return url


def _entries_in(body: bytes) -> Iterator[tuple[str, bool]]:
    is_zipped = body[:3] == b"\x1f\x8b\x08"
    sitemap = Sitemap(gunzip(body, max_size=MOST_OCTETS) if is_zipped else body)
    if sitemap.type not in ("urlset", "sitemapindex"):
        raise ValueError("it is not a sitemap")
    for entry in sitemap:
        if entry.get("loc"):
            yield entry["loc"], sitemap.type == "sitemapindex"
