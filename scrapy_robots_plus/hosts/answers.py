"""Reads what answers say of their hosts, and acts on it: Retry-After, refusals, limits, walls.

Hosts that refuse requests are slowed down, those that refuse all of them are given up, and sites
that wall off the crawl may be.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from scrapy import Request, signals

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.crawl.requests import (
    DONT_OBEY_META_KEY,
    HANDLED_META_KEY,
    HANDLES_ALL_META_KEY,
    MAX_RETRIES_META_KEY,
    REFUSED_META_KEY,
    TAP_META_KEY,
    origin_of,
    valid_origin_of,
)
from scrapy_robots_plus.origins.fetch_results import NETWORK_FAILURES
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.protocol.access import TOO_MANY_REQUESTS, Failure
from scrapy_robots_plus.protocol.http_caching import http_date, retry_after
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.standing import CHALLENGE, HEADERS, Site, Standing, standing_in
from scrapy_robots_plus.settings.scrapys_own import handled_statuses

from .door import Door
from .pace import GivenUp
from .quota import QUOTA_HEADERS, Left, Quota, left_in
from .refusals import Refusal, Throttle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol.origin import Origin


logger = crawl_log(__name__)

BUSY = frozenset({TOO_MANY_REQUESTS, 503})
"""What a host answers that gets too many requests."""
_READ = (*HEADERS, *QUOTA_HEADERS, "date")
_LISTS = ("ratelimit", "ratelimit-policy", "www-authenticate")
_TELLING = frozenset(name.title().encode() for name in (CHALLENGE, *QUOTA_HEADERS))
"""Headers that may say more of a host than the status of a good answer does."""
_YEAR = 366 * 86_400
"""Seconds. Who asks for more means something else: a moment in seconds, or never."""
_WORDS = {
    Standing.OPEN: "it answers again",
    Standing.WALLED: "it refuses pages that its robots.txt allows",
    Standing.PRICED: "it wants to be paid for pages",
    Standing.LIMITED: "it asks for fewer requests",
    Standing.BROKEN: "its pages fail",
}


class Said(NamedTuple):
    """What one answer says of its host."""

    headers: Mapping[str, str] = {}
    """Of those that may tell of it, by names in lower case: the last line, or all of a list (RFC
    9110 5.3)."""
    wait: float = 0.0
    """Seconds for which the host asks for no requests (RFC 9110 10.2.3); 0 if it does not ask."""
    left: Left | None = None
    """What is left of a limit; None if it does not say."""


_NOTHING = Said()


def said_in(response: Response, now: float) -> Said:
    """What *response* says. *now*: seconds since the epoch. A host that names a moment uses its own
    clock: its Date header, if there is one, counts instead.
    """
    headers = {
        name: b", ".join(lines if name in _LISTS else lines[-1:]).decode("latin-1")
        for name in _READ
        if (lines := response.headers.getlist(name))
    }
    sent_at = http_date(headers.get("date", ""))
    now = now if sent_at is None else sent_at
    asked = retry_after(headers, now) if response.status in BUSY else None
    return Said(headers, asked if asked and asked <= _YEAR else 0.0, left_in(headers, now))


def is_handled(crawler: Crawler, request: Request, status: int) -> bool:
    """Whether a callback gets an answer with *status* (Scrapy's HttpErrorMiddleware)."""
    if request.meta.get(HANDLES_ALL_META_KEY):
        return True
    handled = request.meta.get(HANDLED_META_KEY)
    if handled is None:
        handled = handled_statuses(crawler.settings, crawler.spider)
    return handled is None or status in handled


class Answers:
    """Hears each answer. :class:`.Throttle` says what is a refusal, and the pace after it;
    :class:`.Quota` what is left of a limit; :class:`~scrapy_robots_plus.protocol.standing.Site` how
    the site treats the crawl.
    """

    COSTLY = 60.0
    """Seconds of waiting after which there is a WARNING."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._crawler = crawl.crawler
        self._settings = settings = crawl.settings
        self._clock = crawl.clock
        self._stats = crawl.stats
        self._door = crawl.get(Door)
        self._given_up = crawl.get(GivenUp)
        self._longest = settings.backoff_max
        """Seconds; 0 if no host is slowed down."""
        self._sites: Recent[Origin, Site] = Recent(settings.cache_size)
        """Those that have refused something."""
        self._once = Once(2 * settings.cache_size)
        self._once_of_standing = Once()
        self._crawler.signals.connect(self._response_downloaded, signals.response_downloaded)

    def _response_downloaded(self, response: Response, request: Request) -> None:
        if TAP_META_KEY in request.meta:  # that of a robots.txt says nothing about pages
            return
        status, origin = response.status, origin_of(request)
        is_telling = status >= 400 or not _TELLING.isdisjoint(response.headers)
        if not is_telling and (origin is None or self._is_as_ever(origin)):
            return
        said = said_in(response, self._clock.wall()) if is_telling else _NOTHING
        wait, left = min(said.wait, self._longest), said.left
        if wait:
            self._stats.inc_value(stats.RETRY_AFTER)
        if origin is None:
            return
        host = origin.host
        pace, backoff = self._door.pace_of(host), self._door.backoff(host)
        is_used_up = is_refused = False
        if self._longest and (left or backoff.quota):
            is_used_up = self._hear_left(left, request, status, host)
        if is_telling or origin in self._sites:
            self._hear_standing(request, status, said.headers, origin, is_used_up=is_used_up)
        sent_in = None if pace is None else pace.phase_of(request)
        if self._longest and status in BUSY:
            is_refused = self._refused(request, status, origin, sent_in, wait)
        elif backoff.throttle is None:
            backoff.answered += 1
        else:
            self._answered(request, backoff.throttle, status, origin, sent_in)
        if wait and origin not in self._given_up:
            self._door.line(host)
            backoff.leave_alone(wait, self._clock.monotonic())
        if self._door.lines:
            self._door.heard(request, host, is_pause=bool(wait) or is_refused)

    def _is_as_ever(self, origin: Origin) -> bool:
        """Whether nothing delays any host, and that of *origin* has refused nothing so far: a good
        answer is only counted."""
        if self._door.lines or origin in self._sites:
            return False
        backoff = self._door.backoff(origin.host)
        if backoff.throttle is not None or backoff.quota is not None:
            return False
        backoff.answered += 1
        return True

    def _hear_left(self, left: Left | None, request: Request, status: int, host: str) -> bool:
        """So much is *left* of a limit, as an answer says. Returns whether nothing is."""
        pace, backoff = self._door.pace_of(host), self._door.backoff(host)
        quota = backoff.quota = backoff.quota or Quota(self._longest)
        under_way, since = (0, 0) if pace is None else pace.beside(request)
        is_busy, now = status in BUSY, self._clock.monotonic()
        is_used_up = quota.heard(left, now, under_way, is_refused=is_busy, since=since)
        if is_used_up:
            self._stats.inc_value(stats.USED_UP)
        if pace is not None or quota.is_on(now):
            self._door.may_go_otherwise(self._door.line(host))
        return is_used_up

    def _answered(
        self, request: Request, throttle: Throttle, status: int, origin: Origin, sent_in: int | None
    ) -> None:
        """*request* was not refused. *sent_in*: the phase of the throttle in which it was sent."""
        was_on, is_first = throttle.is_on, REFUSED_META_KEY not in request.meta
        throttle.answered(sent_in, self._clock.monotonic(), is_first=is_first)
        self._tell(origin, throttle, status, was_on=was_on)

    def _refused(
        self, request: Request, status: int, origin: Origin, sent_in: int | None, wait: float
    ) -> bool:
        """Whether that is a refusal of the host. *wait*: seconds of its Retry-After."""
        if origin in self._given_up:  # it was under way when the host was given up
            self._stats.inc_value(stats.REFUSED)
            return True
        backoff = self._door.backoff(origin.host)
        throttle = backoff.throttle or Throttle(self._longest, self._clock.jitter, backoff.answered)
        backoff.throttle = throttle
        was_on = throttle.is_on
        before = request.meta.get(REFUSED_META_KEY, 0)
        is_429 = status == TOO_MANY_REQUESTS
        refusal = throttle.refused(
            sent_in,
            self._clock.monotonic(),
            is_first=not before,
            is_429=is_429,
            asked=wait,
        )
        request.meta[REFUSED_META_KEY] = before + 1
        if before:  # behind those that were not refused: they tell more of the host
            request.priority = min(request.priority, 0)
        is_left = is_handled(self._crawler, request, status)
        if throttle.forgives(refusal, before) and not is_left:
            most = self._crawler.settings.getint("RETRY_TIMES")
            request.meta[MAX_RETRIES_META_KEY] = request.meta.get(MAX_RETRIES_META_KEY, most) + 1
        if refusal is Refusal.OF_PAGE:
            return False
        self._stats.inc_value(stats.REFUSED)
        if refusal is Refusal.NEW:
            self._stats.inc_value(stats.BACKOFFS)
            self._door.line(origin.host)
        self._tell(origin, throttle, status, was_on=was_on)
        if is_429 and 0 < self._settings.give_up_after <= throttle.in_a_row:
            self._give_up(origin, throttle.in_a_row)
        return True

    def _tell(self, origin: Origin, throttle: Throttle, status: int, *, was_on: bool) -> None:
        """Says in the log what has changed."""
        level, is_first = logging.INFO, self._once.is_first
        if throttle.is_on and is_first(origin.host):
            text = "%(origin)s refuses requests (%(status)s): it is asked less often"
        elif throttle.waited > self.COSTLY and is_first((origin.host, self.COSTLY)):
            level = logging.WARNING
            text = (
                "%(origin)s refuses requests (%(status)s): the waiting has taken more than a "
                "minute so far. Now %(gap).3g s are between requests"
            )
        elif was_on and throttle.was_in_vain:
            text = "%(origin)s refuses no less if it is asked less often: it is asked as before"
        else:
            return
        about = {"origin": origin, "status": status, "gap": throttle.gap}
        logger(self._crawler).log(level, text, about)

    def _give_up(self, origin: Origin, times: int) -> None:
        if self._refuse_all(origin, self._given_up.add):
            logger(self._crawler).warning(
                "%s is given up: %d times in a row it has answered nothing but 429 with "
                "Retry-After",
                origin,
                times,
            )
            self._stats.inc_value(stats.GIVEN_UP)

    def _refuse_all(self, origin: Origin, note: Callable[[Origin], None]) -> bool:
        """Sends nothing more to *origin*, unless nothing may be dropped; *note* remembers that."""
        if not self._settings.for_origin(origin).obey:
            return False
        note(origin)
        self._door.drop(origin)
        return True

    # How the site treats the crawl

    def _hear_standing(
        self,
        request: Request,
        status: int,
        headers: Mapping[str, str],
        origin: Origin,
        *,
        is_used_up: bool,
    ) -> None:
        """*origin* has answered *request*, which robots.txt allows. *is_used_up*: and has said that
        nothing is left of its limit.
        """
        says, why, is_clear = standing_in(status, headers)
        if is_used_up and says is Standing.OPEN:
            says, why, is_clear = Standing.LIMITED, "RateLimit", True
        if says is Standing.OPEN or not is_handled(self._crawler, request, status):
            self._stands(request, origin, says, why, is_clear=is_clear)

    def failed(self, request: Request, exception: Exception) -> None:
        """No answer to *request* has come, after all retries."""
        failure = Failure(compat.kind_of_failure(exception, headers_received=False))
        origin = valid_origin_of(request)
        if failure not in NETWORK_FAILURES or compat.shortage_in(exception) or origin is None:
            return
        self._stands(request, origin, Standing.BROKEN, str(failure), is_clear=False)

    def _stands(
        self, request: Request, origin: Origin, says: Standing, why: str, *, is_clear: bool
    ) -> None:
        site = self._sites.get(origin)
        if request.meta.get(DONT_OBEY_META_KEY) or (site is None and says is Standing.OPEN):
            return
        site = site or Site()
        self._sites.put(origin, site)
        if not site.heard(request.url, says, why, is_clear=is_clear):
            return
        standing = site.standing
        self._crawl.get(Tally).note(origin, standing)
        self._stats.inc_value(stats.filled(stats.STANDINGS, standing))
        # Of a limit, the log tells when the host is asked less often.
        is_told = standing is not Standing.LIMITED and self._once_of_standing.is_first(
            (origin, standing)
        )
        about = {"origin": origin, "is": standing, "why": printable(why, 100)}
        text = f"%(origin)s is %(is)s (%(why)s): {_WORDS[standing]}"
        logger(self._crawler).log(logging.INFO if is_told else logging.DEBUG, text, about)
        if self._settings.walls == "stop":
            if standing is Standing.WALLED:
                self._refuse_all(origin, self._given_up.wall_off)
            else:
                self._given_up.open(origin)
        for listener in self._crawl.standing_listeners:
            listener(origin, site, request.url)
