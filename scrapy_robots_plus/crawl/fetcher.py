"""Gets a robots.txt through Scrapy's engine. Every failure becomes a value."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from scrapy import Request
from scrapy.http.request import NO_CALLBACK
from twisted.internet.defer import CancelledError

from scrapy_robots_plus.policy.access import Failure, Outcome
from scrapy_robots_plus.policy.freshness import validators
from scrapy_robots_plus.policy.origin import Origin
from scrapy_robots_plus.policy.record import FetchResult
from scrapy_robots_plus.protocol.rfc9309 import MAX_REDIRECTS

from . import compat
from .body_tap import TAP_META_KEY, BodyTaps, Tap, content_encoding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler
    from scrapy.http import Headers, Response

    from scrapy_robots_plus.policy.record import RobotsRecord

    from .settings import RobotsSettings

logger = logging.getLogger(__name__)

_NOT_MODIFIED = 304
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TRANSIENT = frozenset({Failure.TIMEOUT, Failure.DNS, Failure.CONNECTION, Failure.CUT})
_NO_ANSWER = _TRANSIENT | {Failure.ERROR}


class Fetcher:
    """Fetches a robots.txt: redirects, retries, limits and failures are dealt with here."""

    def __init__(self, crawler: Crawler, settings: RobotsSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._stats = compat.stats_of(crawler)
        self._taps = BodyTaps(crawler)

    async def fetch(
        self, origin: Origin, known: RobotsRecord | None = None, *, behind: bool = False
    ) -> FetchResult:
        """The robots.txt of *origin*, retried as ``ROBOTS_FETCH_RETRIES`` says.

        Where *known* has validators, it is asked whether that still holds; a result that is
        ``not_modified`` says so. A refresh *behind* requests that are answered already is not
        retried: the end of the crawl may have to wait for it.
        """
        result = await self._follow(origin, known)
        for _ in range(0 if behind else self._settings.fetch_retries):
            if not _worth_a_retry(result) or compat.is_closing(self._crawler):
                break
            self._stats.inc_value("robotstxt/retry_count")
            result = await self._follow(origin, known)
        if result.outcome in _NO_ANSWER and compat.is_closing(self._crawler):
            # The engine lets nothing start any more, and then takes connections down.
            return replace(result, interrupted=True)
        return result

    async def _follow(self, origin: Origin, known: RobotsRecord | None) -> FetchResult:
        """Follows redirects ourselves: what the spider does with those of pages must not matter.

        2.3.1.2: at least five, across authorities; the rules still apply to the first.
        """
        url = origin.robots_url
        for _ in range(1 + MAX_REDIRECTS):
            if compat.is_closing(self._crawler):
                return FetchResult(Failure.ERROR, url, interrupted=True)
            conditions = validators(known.headers) if known and known.url == url else {}
            result = await self._get(url, conditions)
            if result.outcome == _NOT_MODIFIED and conditions:
                return replace(result, not_modified=True)
            if result.outcome not in _REDIRECTS:
                return result
            target = _redirect_target(url, result.headers.get("location", ""))
            if target is None:
                return FetchResult(Failure.BAD_REDIRECT, url, headers=result.headers)
            self._stats.inc_value("robotstxt/redirect_count")
            url = target
        return FetchResult(Failure.REDIRECTS, url)

    async def _get(self, url: str, conditions: Mapping[str, str]) -> FetchResult:
        tap = Tap(self._settings.fetch_max_bytes)
        self._taps.open()
        self._stats.inc_value("robotstxt/request_count")
        try:
            request = self._request(url, conditions, tap)
            response = await compat.engine_of(self._crawler).download_async(request)
        except Exception as exception:  # noqa: BLE001 - whatever is raised is a failure
            return self._failed(url, exception, tap)
        finally:
            self._taps.close()
        return self._answered(url, response, tap)

    def _request(self, url: str, conditions: Mapping[str, str], tap: Tap) -> Request:
        settings = self._settings
        # gzip alone, because Tap can inflate it up to a limit.
        headers = {"Accept-Encoding": "gzip", **settings.fetch_headers, **conditions}
        meta: dict[str, Any] = {
            # A slot of its own: in the pages' it would wait behind them, a Crawl-delay each.
            compat.SLOT_META_KEY: f"robots.txt of {Origin.of(url)}",
            **settings.fetch_meta,
            TAP_META_KEY: tap,
            "dont_obey_robotstxt": True,
            "allow_offsite": True,
            "dont_redirect": True,
            "handle_httpstatus_all": True,
            "dont_retry": True,
            "dont_cache": True,
            "dont_merge_cookies": True,
            "autothrottle_dont_adjust_delay": True,
            "download_timeout": settings.fetch_timeout,
            "download_fail_on_dataloss": True,
            "download_maxsize": 0,  # would raise; Tap stops where enough is read
            "download_warnsize": 0,
        }
        return Request(url, headers=headers, meta=meta, dont_filter=True, callback=NO_CALLBACK)

    def _answered(self, url: str, response: Response, tap: Tap) -> FetchResult:
        raw = tap.response
        if raw is not None and raw.status == response.status and tap.compressed:
            return self._inflated(url, raw, tap)
        if _is_file(response) and content_encoding(response) not in (b"", b"identity"):
            return self._result(url, response, Failure.UNDECODABLE)
        return self._result(url, response, response.status, response.body)

    def _failed(self, url: str, exception: Exception, tap: Tap) -> FetchResult:
        # HttpCompressionMiddleware refuses what is over the limit; to us the rest is just ignored.
        # It also trips over the empty body of a 404 or a redirect that claims to be compressed.
        raw = tap.response
        if raw is not None and (tap.compressed or (tap.encoding and not _is_file(raw))):
            return self._inflated(url, raw, tap)
        if isinstance(exception, CancelledError):  # that of asyncio passes through
            return FetchResult(Failure.ERROR, url, interrupted=True)
        kind = type(exception)
        self._stats.inc_value(f"robotstxt/exception_count/{kind}")
        logger.debug(
            "No robots.txt from %(url)s: %(kind)s: %(exception)s",
            {"url": url, "kind": kind.__qualname__, "exception": exception},
            extra={"spider": self._crawler.spider},
        )
        if tap.response is not None:
            return self._result(url, tap.response, Failure.UNDECODABLE)
        return FetchResult(compat.failure_of(exception, headers_received=tap.started), url)

    def _inflated(self, url: str, raw: Response, tap: Tap) -> FetchResult:
        if not _is_file(raw):
            return self._result(url, raw, raw.status)
        try:
            return self._result(url, raw, raw.status, tap.inflated())
        except ValueError:
            return self._result(url, raw, Failure.UNDECODABLE)

    def _result(
        self, url: str, response: Response, outcome: Outcome, body: bytes = b""
    ) -> FetchResult:
        self._stats.inc_value("robotstxt/response_count")
        self._stats.inc_value(f"robotstxt/response_status_count/{response.status}")
        limit = self._settings.fetch_max_bytes
        return FetchResult(outcome, url, whole_lines(body, limit), _text(response.headers))


def _is_file(response: Response) -> bool:
    """Whether it matters how the body is encoded: elsewhere the status says it all."""
    return 200 <= response.status < 300 and bool(response.body)


def whole_lines(body: bytes, limit: int) -> bytes:
    """The first *limit* bytes without a line that they cut: half a rule forbids too much."""
    if len(body) <= limit:
        return body
    end = 1 + max(body.rfind(b"\n", 0, limit), body.rfind(b"\r", 0, limit))
    return body[: end or limit]


def _redirect_target(url: str, location: str) -> str | None:
    """The absolute URL that *location* names; None where that is not http or https."""
    try:
        target = urljoin(url, location)
        return target if location and Origin.of(target) else None
    except ValueError:
        return None


def _worth_a_retry(result: FetchResult) -> bool:
    """A network failure, or a server error that names no time to come back at."""
    if isinstance(result.outcome, Failure):
        return result.outcome in _TRANSIENT
    return result.outcome >= 500 and "retry-after" not in result.headers


def _text(headers: Headers) -> dict[str, str]:
    """Names in lower case; repeated headers joined with commas (RFC 9110 5.3)."""
    return {
        name.decode("latin-1").lower(): b", ".join(values).decode("latin-1")
        for name, values in headers.items()
    }
