"""Tells signal handlers which sitemaps a robots.txt names, and requests them."""

from __future__ import annotations

import logging
import re
from collections import Counter, deque
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urljoin, urlsplit

from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response, TextResponse
from tldextract import TLDExtract

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.events import sitemaps_found
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.crawl.requests import as_requested
from scrapy_robots_plus.origins.fetch_results import CACHED
from scrapy_robots_plus.origins.freshness import Source
from scrapy_robots_plus.origins.parsers import guarded
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import Word, printable
from scrapy_robots_plus.protocol.sent_forms import asks_for_robots_txt
from scrapy_robots_plus.settings.checks import SettingProblem, one_of
from scrapy_robots_plus.settings.declared import SitemapScope
from scrapy_robots_plus.settings.host_patterns import plain_host
from scrapy_robots_plus.settings.robots_settings import RobotsSettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.origins.store_or_site import Retrieved


logger = crawl_log(__name__)

_NOT_FOUND = 404

PRIORITY = -10
"""Of sitemap requests: after the pages that are known, so that those of one sitemap are fetched
before the next one brings its up to 50,000."""


class Sitemaps:
    """Reads the Sitemap lines of policies, whichever parser is in use; tells signal handlers of
    them, and requests what they name, as the settings say.

    That is done beside everything else, in small parts, and keeps the spider open meanwhile. A list
    goes out once for each origin, and again if it has changed.
    """

    MOST = 5_000
    """Sitemap lines of a robots.txt that are read; the others are counted."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawler = crawl.crawler
        self._settings = crawl.settings
        self._scope = _scope_of(crawler.spider)
        self._stats = crawl.stats
        self._callback: Callable[..., Any] | None = None
        self._news: Recent[Origin, int] = Recent(crawl.settings.cache_size)
        """By their hash, the lines that went out last."""
        self._counted: Recent[Origin, int] = Recent(crawl.settings.cache_size)
        """Those that were counted."""
        self._once = Once()
        self._waiting: deque[Policy] = deque()
        self._working: Deferred[None] | None = None
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_idle, signals.spider_idle)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    def _spider_opened(self) -> None:
        if not self._settings.sitemaps:
            return
        callback = getattr(self._crawler.spider, "parse_sitemap", None)
        if callable(callback):
            self._callback = callback
            return
        logger(self._crawler).warning(
            "ROBOTS_SITEMAPS has no effect: the spider has no parse_sitemap(response) method. "
            "RobotsSitemapSpider has one."
        )

    def retrieved(self, retrieved: Retrieved) -> None:
        """A file is there, which is dealt with later: a signal handler or the scheduler would be
        called in the middle of a fetch.
        """
        policy = retrieved.policy
        is_wanted = self._callback or compat.is_listened_to(sitemaps_found, self._crawler)
        if policy.file is None or not is_wanted:
            return
        is_of_origin = policy.settings is self._settings.for_origin(policy.origin)
        if retrieved.policy.source is Source.OVERRIDE and not is_of_origin:
            return  # the text for one request
        self._waiting.append(policy)
        if self._working is None:
            self._working = compat.run_in_background(self._work())
            self._working.addErrback(_ignore_cancellation)

    async def _work(self) -> None:
        try:
            await compat.sleep(0)
            while self._waiting and not compat.is_closing(self._crawler):
                policy = self._waiting.popleft()
                try:
                    await self._publish(policy)
                except compat.CANCELLED:
                    raise
                except Exception:  # noqa: BLE001 - a scheduler elsewhere may fail for one origin
                    logger(self._crawler).exception(
                        "The sitemaps that %s names could not all be requested",
                        printable(policy.record.url),
                    )
                await compat.sleep(0)
        finally:
            self._working = None
            self._waiting.clear()
            compat.wake_engine(self._crawler)  # it may have been idle

    async def _publish(self, policy: Policy) -> None:
        lines = self.lines(policy)
        if not lines or not self._news.is_news(policy.origin, hash(lines)):
            return
        urls = await self._urls(policy, lines)
        if not urls.all or compat.is_closing(self._crawler):
            return
        self._crawler.signals.send_catch_log(
            sitemaps_found, origin=policy.origin, urls=urls.all, spider=self._crawler.spider
        )
        if self._callback is not None:
            await self._schedule(urls.in_scope)

    async def _schedule(self, urls: tuple[str, ...]) -> None:
        engine = compat.engine_of(self._crawler)
        for number, url in enumerate(urls, 1):
            if compat.is_closing(self._crawler):
                return
            self._stats.inc_value(stats.SITEMAPS_SCHEDULED)
            engine.crawl(Request(url, self._callback, priority=PRIORITY))
            if number % AT_ONCE == 0:
                await compat.sleep(0)

    def _spider_idle(self) -> None:
        if self._working is not None:
            raise DontCloseSpider

    def _spider_closed(self) -> None:
        if self._working is not None:
            self._working.cancel()

    # For whoever asks for them

    async def _urls(self, policy: Policy, lines: tuple[str, ...]) -> SitemapUrls:
        """What *lines*, those of *policy*, name; counted unless it is known."""
        base, origin = policy.record.url, policy.origin
        urls = await sitemap_urls(lines, base, origin, self._scope, self.MOST)
        if lines and self._counted.is_news(origin, hash(lines)):
            self._count(urls, policy)
        return urls

    def lines(self, policy: Policy) -> tuple[str, ...]:
        """The Sitemap lines as they are; none if the parser fails."""
        return guarded(lambda: policy.sitemaps, (), policy.record.url, self._stats)

    async def response(self, request: Request, policy: Policy) -> Response | None:
        """The answer to *request*, for the Sitemap lines of a robots.txt, from its *policy*; marked
        as cached, so that the HTTP cache does not keep it.

        None if the crawl does not ask for the file, so that *request* has to.
        """
        if policy.file is None and not policy.settings.needs_file:
            return None
        if policy.file is None or policy.access is not Access.RULES:
            status = policy.record.outcome
            status = status if isinstance(status, int) else _NOT_FOUND
            return Response(request.url, status, flags=[CACHED])
        urls = await self._urls(policy, self.lines(policy))
        if not urls.in_scope:
            logger(self._crawler).info(
                "%s names no sitemap that may be requested",
                printable(policy.record.url),
            )
        body = "".join(f"Sitemap: {url}\n" for url in urls.in_scope)
        return TextResponse(request.url, body=body, encoding="utf-8", flags=[CACHED])

    def _count(self, urls: SitemapUrls, policy: Policy) -> None:
        self._stats.inc_value(stats.SITEMAPS_FOUND, len(urls.all))
        if urls.relative:
            self._stats.inc_value(stats.SITEMAPS_RELATIVE, urls.relative)
        for reason, count in urls.left_out.items():
            self._stats.inc_value(stats.filled(stats.SITEMAPS_LEFT_OUT, reason), count)
        if urls.left_out:
            self._report(urls, policy)

    def _report(self, urls: SitemapUrls, policy: Policy) -> None:
        is_first = self._once.is_first()
        logger(self._crawler).log(
            logging.INFO if is_first else logging.DEBUG,
            "Sitemap lines of %s that are not requested: %s.%s",
            printable(policy.record.url),
            ", ".join(f"{count:,} {reason}" for reason, count in urls.left_out.items()),
            " Others are counted, and logged at DEBUG." if is_first else "",
        )


def _scope_of(spider: object) -> SitemapScope:
    """Raises RobotsSettingsError if its ``sitemap_scope`` is none."""
    scope = getattr(spider, "sitemap_scope", "any")
    try:
        read: SitemapScope = one_of(SitemapScope).read(scope)
    except ValueError as error:
        raise RobotsSettingsError([SettingProblem("sitemap_scope", scope, str(error))]) from None
    return read


def _ignore_cancellation(failure: Failure) -> Failure | None:
    return None if isinstance(failure.value, compat.CANCELLED) else failure


# The URLs that Sitemap lines name, and which of them may be requested

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
