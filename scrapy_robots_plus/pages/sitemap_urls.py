"""The URLs that the Sitemap lines of a robots.txt name, and which of them may be requested."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin, urlsplit

from tldextract import TLDExtract

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.requests import as_requested
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import Word
from scrapy_robots_plus.protocol.sent_forms import asks_for_robots_txt
from scrapy_robots_plus.settings.host_patterns import plain_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_robots_plus.settings.options import SitemapScope


_REMEMBERED = 4_096
"""Hosts whose site is remembered."""

# The copy of the public suffix list that comes with tldextract, which would otherwise download it
# and write it to disk. A host of its own below github.io is a site of its own, as in browsers.
_extract = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


@lru_cache(_REMEMBERED)
def site_of(host: str) -> str | None:
    """The registrable domain of *host*; None if it has none, as IP addresses and localhost."""
    parts = _extract(host)
    return f"{parts.domain}.{parts.suffix}" if parts.domain and parts.suffix else None


def are_of_one_site(one: str, other: str) -> bool:
    """Whether two hosts are the same, or have the same registrable domain."""
    return one == other or (site_of(one) is not None and site_of(one) == site_of(other))


LONGEST = 8_000
"""Characters of a URL that are supported (RFC 9110 4.1 recommends 8,000 octets)."""

_LONGEST_HOST = 300
"""Characters that a host may have with its port: DNS allows 253."""

AT_ONCE = 100
"""Lines that are read before everything else gets a turn."""

_HAS_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?!\d)", re.IGNORECASE)


class LeftOut(Word):
    """Why a Sitemap line is not requested."""

    SCHEME = "scheme"
    INVALID = "invalid"
    CREDENTIALS = "credentials"
    SCOPE = "scope"
    TOO_MANY = "too_many"


class SitemapUrls:
    """Those of one file."""

    def __init__(self) -> None:
        self._urls: dict[str, bool] = {}
        self.relative = 0
        """How many were relative, against the protocol."""
        self.left_out: Counter[LeftOut] = Counter()

    @property
    def all(self) -> tuple[str, ...]:
        """Each once, in the order of the file."""
        return tuple(self._urls)

    @property
    def in_scope(self) -> tuple[str, ...]:
        """Those of them that the ``sitemap_scope`` of the spider lets through."""
        return tuple(url for url, is_in_scope in self._urls.items() if is_in_scope)

    def add(self, line: str, base: str, host: str, scope: SitemapScope) -> None:
        """Adds what a Sitemap line of *host*'s robots.txt, at *base*, names."""
        found = url_in(line, base)
        if isinstance(found, LeftOut):
            self.left_out[found] += 1
            return
        if found in self._urls:
            return
        self.relative += not _HAS_SCHEME.match(line.lstrip())
        is_in_scope = _is_in_scope(urlsplit(found).hostname or "", host, scope)
        self._urls[found] = is_in_scope
        if not is_in_scope:
            self.left_out[LeftOut.SCOPE] += 1


async def sitemap_urls(
    lines: Sequence[str], base: str, origin: Origin, scope: SitemapScope, most: int
) -> SitemapUrls:
    """The URLs in the first *most* of the Sitemap *lines* in the robots.txt of *origin*.

    *base*: where the file was found, after redirects. Lets everything else go on from time to time.
    """
    urls = SitemapUrls()
    for number, line in enumerate(lines[:most], 1):
        urls.add(line, base, origin.host, scope)
        if number % AT_ONCE == 0:
            await compat.sleep(0)
    if len(lines) > most:
        urls.left_out[LeftOut.TOO_MANY] += len(lines) - most
    return urls


def url_in(line: str, base: str) -> str | LeftOut:
    """The absolute http or https URL that *line* names, without its fragment."""
    try:
        if len(line) > LONGEST:
            return LeftOut.INVALID
        url = urldefrag(urljoin(base, line.strip())).url
        parts = urlsplit(url)
        if len(parts.netloc) > _LONGEST_HOST and "@" not in parts.netloc:
            return LeftOut.INVALID
        if parts.username is not None:
            return LeftOut.CREDENTIALS
        url = as_requested(url)
        origin = Origin.of(url)
        if origin is None:
            return LeftOut.SCHEME
        plain_host(origin.host)
    except ValueError:
        return LeftOut.INVALID
    return LeftOut.INVALID if asks_for_robots_txt(url) else url  # a line without a value


def _is_in_scope(host: str, of: str, scope: SitemapScope) -> bool:
    if scope == "host":
        return host == of
    return scope == "any" or are_of_one_site(host, of)
