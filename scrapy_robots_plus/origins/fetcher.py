"""The fetch of a robots.txt through Scrapy's engine.

Every failure becomes a value, except mistakes of this package. Scrapy's HTTP cache
(``HTTPCACHE_ENABLED``) answers only in replays and outages.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from math import inf
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.http import Response
from scrapy.http.cookies import CookieJar
from scrapy.http.request import NO_CALLBACK
from twisted.internet.defer import CancelledError
from w3lib.url import safe_url_string

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.crawl import Crawl, is_of_this_package
from scrapy_robots_plus.crawl.requests import (
    FETCH_SLOT_META_KEY,
    FIXED_FETCH_META,
    IMPERSONATE_META_KEY,
    MAXSIZE_META_KEY,
    TAP_META_KEY,
    TIMEOUT_META_KEY,
)
from scrapy_robots_plus.protocol.access import TOO_MANY_REQUESTS, Failure, says_unavailable
from scrapy_robots_plus.protocol.http_caching import confirms, retry_after
from scrapy_robots_plus.protocol.origin import LONGEST_URL, Origin
from scrapy_robots_plus.protocol.rfc9309 import MAX_REDIRECTS
from scrapy_robots_plus.settings.host_patterns import plain_host
from scrapy_robots_plus.storage.record import RobotsRecord

from .body_tap import BodyTaps, Tap, TimeAllowed
from .fetch_results import CACHED, NETWORK_FAILURES, answered, failed
from .freshness import FetchResult, conditions
from .network_away import NamesAway, NetworkAway

_NOT_MODIFIED = 304
_NO_HOST = r"(?i)\s*(?:https?:)?//(?:[/?#\s]|$)"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TRANSIENT = NETWORK_FAILURES | {Failure.CUT}
_NO_ANSWER = _TRANSIENT | {Failure.ERROR}


class Wanted(NamedTuple):
    """A file to fetch, and for whom."""

    origin: Origin
    known: RobotsRecord | None = None
    """What is known of the file, which has expired. A request is conditional on it."""
    is_refresh: bool = False
    """Whether nothing waits for the file, so that the fetch is not retried."""


class Exchange(NamedTuple):
    """One request for a robots.txt, and the response to it."""

    at: float
    """The time when the fetcher began to send the request, in seconds since the epoch."""
    request: Request
    response: Response
    """The response as the download handler returned it."""


class Fetcher:
    """The fetcher of robots.txt files, which handles redirects, retries, limits and failures."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawler = crawl.crawler
        self._has_slots = not compat.has_throttler(crawler)
        self._settings = crawl.settings
        self._clock = crawl.clock
        self._stats = crawl.stats
        self._taps = BodyTaps(crawler)
        is_set = crawler.settings.getbool
        self._takes_cookies = is_set("COOKIES_ENABLED")
        self._has_http_cache = is_set("HTTPCACHE_ENABLED")
        self._replays = self._has_http_cache and is_set("HTTPCACHE_IGNORE_MISSING")
        self._network, self._names = crawl.get(NetworkAway), crawl.get(NamesAway)
        self.listeners: list[Callable[[Exchange], None]] = []
        """Functions called with each request that was answered, redirects and retries included."""

    async def fetch(self, wanted: Wanted) -> FetchResult:
        """Returns the *wanted* file, after up to ``ROBOTS_FETCH_RETRIES`` retries.

        It is also fetched again after an outage of this machine's network. If ``known`` has
        validators, the request is conditional; a ``not_modified`` result means that it still holds.
        A refresh is not retried. Except in an outage, all requests together take no longer than
        ``ROBOTS_FETCH_TIMEOUT``; time in which the process stood still does not count.

        With ``HTTPCACHE_IGNORE_MISSING`` the HTTP cache answers, as it does for pages.
        """
        began = self._clock.monotonic()
        result = await self._tried(wanted)
        until = self._clock.monotonic() + NetworkAway.LONGEST
        while (
            not wanted.is_refresh
            and result.outcome in NETWORK_FAILURES
            and await self._was_away(wanted.origin, began, until)
        ):
            began = self._clock.monotonic()
            self._stats.inc_value(stats.RETRIES)
            result = await self._tried(wanted)
        if result.outcome in _NO_ANSWER and compat.is_closing(self._crawler):
            # The engine starts no new downloads, and then closes connections.
            return result._replace(interrupted=True)
        return result._replace(replayed=True) if self._replays else result

    async def _tried(self, wanted: Wanted) -> FetchResult:
        time = TimeAllowed(self._settings.fetch_timeout, self._clock)
        retries = 0 if wanted.is_refresh else self._settings.fetch_retries
        while True:
            ask = partial(self._ask, known=wanted.known, time=time, cookies=CookieJar())
            result = await self._follow(wanted.origin, ask)
            wait = _until_retry(result, self._clock.wall())
            if not retries or wait >= time.left or compat.is_closing(self._crawler):
                return result
            if wait:
                await self._clock.sleep(wait)
                time.left -= wait
            retries -= 1
            self._stats.inc_value(stats.RETRIES)

    async def _was_away(self, origin: Origin, began: float, until: float) -> bool:
        """Returns whether this machine was why the fetch of *origin* failed, and can go on now."""
        was_found = compat.is_name_found(origin.host)
        if await self._network.outage_ended(origin, began, until, self._knock):
            return True
        return not was_found and await self._names.dns_outage_ended(origin, began, until)

    async def _knock(self, origin: Origin, seconds: float) -> None:
        await self._get(origin.robots_url, {}, TimeAllowed(seconds, self._clock), CookieJar())

    async def recall(self, origin: Origin) -> FetchResult | None:
        """Returns the robots.txt of *origin* from the HTTP cache; None if it is not there.

        Redirects are followed.
        """
        cache = self._crawler.get_downloader_middleware(HttpCacheMiddleware)
        if cache is None:
            return None
        time = TimeAllowed(self._settings.fetch_timeout, self._clock)

        async def look_up(url: str) -> FetchResult:
            # Only the storage is asked: the middleware would ask the site for what is missing.
            try:
                found = cache.storage.retrieve_response(self._crawler.spider, Request(url))
            except Exception as error:  # noqa: BLE001 - a damaged entry, in any storage
                return FetchResult(Failure.ERROR, url, detail=f"in the HTTP cache: {error!r}")
            if found is None:
                return FetchResult(Failure.ERROR, url, detail="not in the HTTP cache")
            found.flags.append(CACHED)
            return answered(url, found, Tap(self._settings.fetch_max_bytes, time))

        result = await self._follow(origin, look_up)
        return result if result.replayed else None

    async def _follow(
        self, origin: Origin, ask: Callable[[str], Awaitable[FetchResult]]
    ) -> FetchResult:
        """Follows redirects without Scrapy, so that the spider's redirect settings do not matter.

        RFC 9309 2.3.1.2 asks for at least five, across authorities; the rules apply to the first.
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
                detail = f"{result.outcome} without an http or https target"
                return FetchResult(Failure.BAD_REDIRECT, url, headers=result.headers, detail=detail)
            self._stats.inc_value(stats.REDIRECTS)
            url = target
        return FetchResult(Failure.REDIRECTS, url, detail=f"more than {MAX_REDIRECTS} redirects")

    async def _ask(
        self, url: str, known: RobotsRecord | None, time: TimeAllowed, cookies: CookieJar
    ) -> FetchResult:
        """Sends a conditional request if possible; if its answer is unusable, an unconditional one.

        The conditions may have caused an error, and a 304 may be about another file.
        """
        # In the HTTP cache, a 304 would be of no use.
        asked = {} if self._has_http_cache else conditions(known, url)
        result = await self._get(url, asked, time, cookies)
        if not asked or known is None or not _may_be_the_conditions(result):
            return result
        if result.outcome == _NOT_MODIFIED and confirms(result.headers, known.headers):
            return result._replace(not_modified=True)
        return await self._get(url, {}, time, cookies)

    async def _get(
        self, url: str, headers: Mapping[str, str], time: TimeAllowed, cookies: CookieJar
    ) -> FetchResult:
        """Sends one request, with *cookies*: some sites redirect until theirs come back."""
        if time.left <= 0:
            detail = f"not complete within {time.seconds:g} s"
            return FetchResult(Failure.TIMEOUT, url, detail=detail)
        tap = Tap(self._settings.fetch_max_bytes, time)
        self._taps.open()
        self._stats.inc_value(stats.REQUESTS)
        began = self._clock.wall()
        response: Response | None = None
        try:
            request = self._request(url, headers, tap)
            request.meta["dont_cache"] = not self._replays
            cookies.add_cookie_header(request)
            response = await self._crawler.engine.download_async(request)
            if self._takes_cookies:
                cookies.extract_cookies(response, request)
        except Exception as exception:
            if is_of_this_package(exception):
                raise  # it says nothing about the site
            result = failed(url, exception, tap)
            if isinstance(result.outcome, Failure) and not isinstance(exception, CancelledError):
                self._stats.inc_value(stats.filled(stats.EXCEPTIONS, type(exception)))
        else:
            result = answered(url, response, tap)
        finally:
            tap.call_off()  # it may still run if only this coroutine was cancelled
            self._taps.close()
            if tap.response is not None:
                for listener in self.listeners:
                    listener(Exchange(began, request, tap.response))
        response = response or tap.response
        if response is not None:
            self._stats.inc_value(stats.RESPONSES)
            self._stats.inc_value(stats.filled(stats.RESPONSES_BY_STATUS, response.status))
        return result

    def _request(self, url: str, headers: Mapping[str, str], tap: Tap) -> Request:
        settings, given = self._settings, dict(self._settings.fetch_meta)
        encoded = {name: value.encode("latin-1") for name, value in headers.items()}
        # Only gzip, because Tap can inflate it up to a limit.
        asked = {"Accept-Encoding": "gzip", **given.pop("headers", {}), **encoded}
        # For handlers that cannot be stopped in the middle of a body. They reject a longer body
        # altogether, so a file that is slightly too long is better read and then cut.
        refused = 2 * settings.fetch_max_bytes
        meta: dict[str, Any] = {
            # A slot of its own: in that of the pages it would wait for each, a Crawl-delay apart.
            **({FETCH_SLOT_META_KEY: f"robots.txt of {Origin.of(url)}"} if self._has_slots else {}),
            IMPERSONATE_META_KEY: {"MAXFILESIZE_LARGE": refused},
            **given,
            **FIXED_FETCH_META,
            TAP_META_KEY: tap,
            TIMEOUT_META_KEY: tap.seconds_left,
            MAXSIZE_META_KEY: refused,
        }
        return Request(url, headers=asked, meta=meta, dont_filter=True, callback=NO_CALLBACK)


def _redirect_target(url: str, location: str) -> str | None:
    """Returns the absolute URL that *location* names; None if it must not be followed.

    It must be http or https and have a valid host (RFC 9110 4.2.1): joined with *url*, ``http://``
    would be *url* itself, and the address of ``http://a..b/`` would be waited for until the
    timeout. It must have no user name, an error in what a stranger sends (4.2.4), and not be too
    long. If it is not ASCII, it names the octets that were sent, as in redirects of pages.
    """
    try:
        target = urljoin(url, safe_url_string(location.encode("latin-1")))
        origin = Origin.of(target)
        if origin is None or not location.strip() or re.match(_NO_HOST, location):
            return None
        if "@" in urlsplit(target).netloc or len(target) > LONGEST_URL:
            return None
        plain_host(origin.host)
        return target
    except ValueError:
        return None


def _until_retry(result: FetchResult, now: float) -> float:
    """Returns the seconds after which a retry may be worth it; infinity if none is.

    It is 0 after a network failure, or a server error without a Retry-After. A Retry-After that
    ends soon is waited for: all queued requests would be denied otherwise. After a timeout there is
    time left only if the process itself stood still.
    """
    outcome = result.outcome
    if isinstance(outcome, Failure):
        return 0.0 if outcome in _TRANSIENT else inf
    if outcome != TOO_MANY_REQUESTS and outcome < 500:
        return inf
    asked = retry_after(result.headers, now)
    if asked is None:  # there is none, or it is neither a number nor a date
        return 0.0 if outcome >= 500 else inf
    return max(asked, 1.0)


def _may_be_the_conditions(result: FetchResult) -> bool:
    """Returns whether request conditions may have caused *result*, and asking again is polite.

    A server error with a Retry-After leaves the known rules in force; a 4xx would open the site.
    """
    outcome = result.outcome
    if outcome == _NOT_MODIFIED or says_unavailable(outcome):
        return True
    return not isinstance(outcome, Failure) and _until_retry(result, now=0.0) == 0
