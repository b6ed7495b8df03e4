"""The sitemaps that a robots.txt names: signal handlers are told, and they are requested."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider
from scrapy.http import TextResponse

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.events import sitemaps_found
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.crawl.requests import as_requested
from scrapy_robots_plus.origins.fetch_results import CACHED
from scrapy_robots_plus.origins.freshness import Source
from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.origins.store_or_site import Retrieval, Retrieved
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.origin import LONGEST_URL, Origin
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.sent_forms import asks_for_robots_txt
from scrapy_robots_plus.settings.host_patterns import plain_host

logger = crawl_log(__name__)

PRIORITY = -10
"""The priority of sitemap requests: below that of known pages, so that the pages of one sitemap are
fetched before the next one brings up to 50,000 more."""


class Sitemaps:
    """The sitemaps of a crawl: tells signal handlers of them, and requests them if so configured.

    Reads the Sitemap lines of policies, whichever parser is in use, in the background and in small
    parts; keeps the spider open meanwhile. A list goes out once for each origin, and again if it
    has changed.
    """

    MOST = 5_000
    """How many Sitemap lines of a robots.txt are read; the others are counted."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawler = crawl.crawler
        self._settings = crawl.settings
        self._stats = crawl.stats
        self._callback: Callable[..., Any] | None = None
        self._news: Recent[Origin, int] = Recent(crawl.settings.cache_size)
        """The hash of the lines that went out last, by origin."""
        self._counted: Recent[Origin, int] = Recent(crawl.settings.cache_size)
        """The hash of the lines that were counted last, by origin."""
        self._working = 0
        """How many files are being read."""
        crawl.get(Retrieval).listeners.append(self.retrieved)
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_idle, signals.spider_idle)

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
        """Handles a retrieved file, in the background.

        Otherwise signal handlers and the scheduler would be called in the middle of a fetch.
        """
        policy = retrieved.policy
        is_wanted = self._callback or compat.is_listened_to(sitemaps_found, self._crawler)
        if policy.file is None or not is_wanted:
            return
        is_of_origin = policy.settings is self._settings.for_origin(policy.origin)
        if retrieved.policy.source is Source.OVERRIDE and not is_of_origin:
            return  # it is for one request only
        self._working += 1
        compat.run_in_background(self._publish(policy))

    async def _publish(self, policy: Policy) -> None:
        try:
            await compat.sleep(0)
            lines = policy.sitemaps
            if lines and self._news.put_if_new(policy.origin, hash(lines)):
                await self._tell(policy, await self._urls(policy, lines))
        except Exception:  # noqa: BLE001 - a scheduler elsewhere may fail for one origin
            logger(self._crawler).exception(
                "The sitemaps that %s names could not all be requested",
                printable(policy.record.url),
            )
        finally:
            self._working -= 1
            compat.wake_engine(self._crawler)  # it may have been idle

    async def _tell(self, policy: Policy, urls: tuple[str, ...]) -> None:
        if not urls or compat.is_closing(self._crawler):
            return
        self._crawler.signals.send_catch_log(
            sitemaps_found, origin=policy.origin, urls=urls, spider=self._crawler.spider
        )
        engine = self._crawler.engine
        async for url in _in_parts(urls if self._callback else ()):
            if not compat.is_closing(self._crawler):
                self._stats.inc_value(stats.SITEMAPS_SCHEDULED)
                engine.crawl(Request(url, self._callback, priority=PRIORITY))

    def _spider_idle(self) -> None:
        if self._working:
            raise DontCloseSpider

    # Sitemaps on request

    async def _urls(self, policy: Policy, lines: Sequence[str]) -> tuple[str, ...]:
        """Returns the URLs in *lines*, those of *policy*, each once; counts them unless known."""
        found = [url_in(each, policy.record.url) async for each in _in_parts(lines[: self.MOST])]
        urls = tuple(dict.fromkeys(filter(None, found)))
        left_out = found.count(None) + max(len(lines) - self.MOST, 0)
        if lines and self._counted.put_if_new(policy.origin, hash(lines)):
            self._stats.inc_value(stats.SITEMAPS_FOUND, len(urls))
            if left_out:
                self._stats.inc_value(stats.SITEMAPS_LEFT_OUT, left_out)
        return urls

    async def response(self, request: Request, policy: Policy) -> TextResponse | None:
        """Returns the response to *request*, for the Sitemap lines of a robots.txt, from *policy*.

        It is marked as cached, so that the HTTP cache does not store it. None if the crawl does not
        fetch the file, so that *request* has to.
        """
        if policy.file is None and not policy.settings.needs_file:
            return None
        if policy.file is None or policy.access is not Access.RULES:
            status = policy.record.outcome
            status = status if isinstance(status, int) else 404
            return TextResponse(request.url, status, encoding="utf-8", flags=[CACHED])
        urls = await self._urls(policy, policy.sitemaps)
        if not urls:
            text = "%s names no sitemap that may be requested"
            logger(self._crawler).info(text, printable(policy.record.url))
        body = "".join(f"Sitemap: {url}\n" for url in urls)
        return TextResponse(request.url, body=body, encoding="utf-8", flags=[CACHED])


_LONGEST_HOST = 300
"""How many characters a host may have with its port: DNS allows 253."""

AT_ONCE = 100
"""How many lines are read before other tasks get a turn."""


async def _in_parts(texts: Sequence[str]) -> AsyncIterator[str]:
    """Yields all *texts*, and lets other tasks run from time to time."""
    for number, text in enumerate(texts, 1):
        yield text
        if number % AT_ONCE == 0:
            await compat.sleep(0)


def url_in(line: str, base: str) -> str | None:
    """Returns the absolute http or https URL that *line* names, without its fragment.

    None for any other URL, for one that is too long or has a user name, and for a robots.txt or
    *base*, which a line without a value names.
    """
    try:
        if len(line) > LONGEST_URL:
            return None
        url = urldefrag(urljoin(base, line.strip())).url
        parts = urlsplit(url)
        if len(parts.netloc) > _LONGEST_HOST or parts.username is not None:
            return None
        url = as_requested(url)
        origin = Origin.of(url)
        if origin is None:
            return None
        plain_host(origin.host)
    except ValueError:
        return None
    return None if asks_for_robots_txt(url) or url == urldefrag(base).url else url
