"""Gets a robots.txt through Scrapy's engine. Every failure becomes a value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK, Clock
from scrapy_robots_plus.crawl.requests import (
    FIXED_FETCH_META,
    IMPERSONATE_META_KEY,
    MAXSIZE_META_KEY,
    TAP_META_KEY,
    TIMEOUT_META_KEY,
)
from scrapy_robots_plus.policy.access import Failure, is_refusal
from scrapy_robots_plus.policy.decide import conditions
from scrapy_robots_plus.policy.freshness import confirms
from scrapy_robots_plus.policy.origin import Origin
from scrapy_robots_plus.policy.record import FetchResult
from scrapy_robots_plus.protocol.rfc9309 import MAX_REDIRECTS

from .body_tap import BodyTaps, Tap
from .download import Download, TimeAllowed
from .http_cache import HttpCache
from .results import CACHED, Results

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.settings import RobotsSettings
    from scrapy_robots_plus.policy.record import RobotsRecord

_NOT_MODIFIED = 304
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TRANSIENT = frozenset({Failure.DNS, Failure.CONNECTION, Failure.CUT})
_NO_ANSWER = _TRANSIENT | {Failure.TIMEOUT, Failure.ERROR}


class Fetcher:
    """Fetches a robots.txt: redirects, retries, limits and failures are dealt with here."""

    def __init__(
        self, crawler: Crawler, settings: RobotsSettings, clock: Clock = DEFAULT_CLOCK
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._clock = clock
        self._stats = compat.stats_of(crawler)
        self._taps = BodyTaps(crawler)
        self._results = Results(crawler, settings.fetch_max_bytes)
        self._http_cache = HttpCache(crawler)

    async def fetch(
        self, origin: Origin, known: RobotsRecord | None = None, *, behind: bool = False
    ) -> FetchResult:
        """The robots.txt of *origin*, retried as ``ROBOTS_FETCH_RETRIES`` says.

        Where *known* has validators, it is asked whether that still holds; a result that is
        ``not_modified`` says so. A refresh *behind* requests that are answered already is not
        retried. All requests together take no longer than ``ROBOTS_FETCH_TIMEOUT``.

        With ``HTTPCACHE_IGNORE_MISSING`` nothing is sent: what the HTTP cache has is the answer.
        """
        if self._http_cache.replays:
            return await self.recall(origin)
        result = await self._fetched(origin, known, behind=behind)
        if result.outcome in _NO_ANSWER and compat.is_closing(self._crawler):
            # The engine lets nothing start any more, and then takes connections down.
            return replace(result, interrupted=True)
        self._keep(origin, known if result.not_modified else result)
        return result

    async def recall(self, origin: Origin) -> FetchResult:
        """What the HTTP cache has of the robots.txt of *origin*, redirects followed."""
        return replace(await self._follow(origin, self._look_up), replayed=True)

    async def _fetched(
        self, origin: Origin, known: RobotsRecord | None, *, behind: bool
    ) -> FetchResult:
        time = TimeAllowed(self._settings.fetch_timeout, self._clock)

        async def ask(url: str) -> FetchResult:
            return await self._ask(url, known, time)

        result = await self._follow(origin, ask)
        for _ in range(0 if behind else self._settings.fetch_retries):
            if not _worth_a_retry(result) or time.left <= 0 or compat.is_closing(self._crawler):
                break
            self._stats.inc_value(stats.RETRIES)
            result = await self._follow(origin, ask)
        return result

    async def _follow(
        self, origin: Origin, ask: Callable[[str], Awaitable[FetchResult]]
    ) -> FetchResult:
        """Follows redirects ourselves: what the spider does with those of pages must not matter.

        2.3.1.2: at least five, across authorities; the rules still apply to the first.
        """
        url = origin.robots_url
        for _ in range(1 + MAX_REDIRECTS):
            if compat.is_closing(self._crawler):
                return FetchResult(Failure.ERROR, url, interrupted=True, detail="closing")
            result = await ask(url)
            if result.outcome not in _REDIRECTS:
                return result
            target = _redirect_target(url, result.headers.get("location", ""))
            if target is None:
                detail = f"{result.outcome} without a target that is http or https"
                return FetchResult(Failure.BAD_REDIRECT, url, headers=result.headers, detail=detail)
            self._stats.inc_value(stats.REDIRECTS)
            url = target
        return FetchResult(Failure.REDIRECTS, url, detail=f"more than {MAX_REDIRECTS} redirects")

    async def _ask(self, url: str, known: RobotsRecord | None, time: TimeAllowed) -> FetchResult:
        """Asks whether *known* still holds where that can be asked, and for the file where the
        answer is of no use: an error may be the condition's, and a 304 another file's.
        """
        asked = conditions(known, url)
        result = await self._get(url, asked, time)
        if not asked or known is None:
            return result
        if result.outcome == _NOT_MODIFIED and confirms(result.headers, known.headers):
            return replace(result, not_modified=True)
        if result.outcome != _NOT_MODIFIED and not _may_be_the_conditions(result):
            return result
        return await self._get(url, {}, time)

    async def _get(self, url: str, headers: Mapping[str, str], time: TimeAllowed) -> FetchResult:
        if time.left <= 0:
            detail = f"no time left of {time.seconds:g} s"
            return FetchResult(Failure.TIMEOUT, url, detail=detail)
        tap = Tap(self._settings.fetch_max_bytes, Download(time))
        self._taps.open()
        self._stats.inc_value(stats.REQUESTS)
        try:
            request = self._request(url, headers, tap)
            response = await compat.engine_of(self._crawler).download_async(request)
        except Exception as exception:  # noqa: BLE001 - whatever is raised is a failure
            return self._results.failed(url, exception, tap)
        finally:
            tap.download.call_off()  # it may go on where only we were cancelled
            self._taps.close()
        return self._results.answered(url, response, tap)

    async def _look_up(self, url: str) -> FetchResult:
        """As :meth:`_get`, in the HTTP cache."""
        response = self._http_cache.look_up(Request(url))
        if response is None:
            return FetchResult(Failure.ERROR, url, detail="not in the HTTP cache")
        time = TimeAllowed(self._settings.fetch_timeout, self._clock)
        tap = Tap(self._settings.fetch_max_bytes, Download(time))
        tap.downloaded(response)
        response.flags.append(CACHED)
        return self._results.answered(url, response, tap)

    def _keep(self, origin: Origin, result: FetchResult | RobotsRecord | None) -> None:
        if result is not None:
            self._http_cache.keep(Request(origin.robots_url), result)

    def _request(self, url: str, headers: Mapping[str, str], tap: Tap) -> Request:
        settings = self._settings
        encoded = {name: value.encode("latin-1") for name, value in headers.items()}
        # gzip alone, because Tap can inflate it up to a limit.
        asked = {"Accept-Encoding": "gzip", **settings.fetch_headers, **encoded}
        # For handlers that cannot be stopped in mid-body: they refuse what is longer, so that a
        # file that is a little too long is better read and cut.
        refused = 2 * settings.fetch_max_bytes
        meta: dict[str, Any] = {
            # A slot of its own: in the pages' it would wait behind them, a Crawl-delay each.
            compat.SLOT_META_KEY: f"robots.txt of {Origin.of(url)}",
            IMPERSONATE_META_KEY: {"MAXFILESIZE_LARGE": refused},
            **settings.fetch_meta,
            **FIXED_FETCH_META,
            TAP_META_KEY: tap,
            TIMEOUT_META_KEY: tap.download.seconds_left,
            MAXSIZE_META_KEY: refused,
        }
        return Request(url, headers=asked, meta=meta, dont_filter=True, callback=NO_CALLBACK)


def _redirect_target(url: str, location: str) -> str | None:
    """The absolute URL that *location* names; None where that is not http or https."""
    try:
        target = urljoin(url, location)
        return target if location and Origin.of(target) else None
    except ValueError:
        return None


def _worth_a_retry(result: FetchResult) -> bool:
    """A network failure, or a server error that names no time to come back at.

    Not a timeout: that was patience enough.
    """
    if isinstance(result.outcome, Failure):
        return result.outcome in _TRANSIENT
    return result.outcome >= 500 and "retry-after" not in result.headers


def _may_be_the_conditions(result: FetchResult) -> bool:
    """Whether an error may come of the conditions asked with, and asking again is no rudeness.

    A server error with a Retry-After leaves what is known in force; a 4xx would open the site.
    """
    if isinstance(result.outcome, Failure):
        return False
    return is_refusal(result.outcome) or _worth_a_retry(result)
