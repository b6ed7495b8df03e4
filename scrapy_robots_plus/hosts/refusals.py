"""What answers say of their hosts, and what follows from it: 429, 503, Retry-After, walls.

Hosts that refuse requests are slowed down, and those that refuse all of them are given up. Sites
(origins) that wall off the crawl may be left alone.
"""

from __future__ import annotations

import logging
from contextlib import suppress

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError, HttpErrorMiddleware

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.crawl.requests import (
    DONT_OBEY_META_KEY,
    MAX_RETRIES_META_KEY,
    REFUSED_META_KEY,
    TAP_META_KEY,
    priority_of,
    valid_origin_of,
)
from scrapy_robots_plus.origins.fetch_results import NETWORK_FAILURES
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.protocol.access import TOO_MANY_REQUESTS, Failure
from scrapy_robots_plus.protocol.http_caching import http_date, retry_after
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.standing import CHALLENGE, HEADERS, Site, Standing, standing_in
from scrapy_robots_plus.protocol.verdict import Reason

from .door import Door
from .given_up import GivenUp
from .throttle import Refusal, Throttle

logger = crawl_log(__name__)

BUSY = frozenset({TOO_MANY_REQUESTS, 503})
"""The statuses with which a host answers too many requests."""
_CHALLENGES = frozenset({CHALLENGE.title().encode()})
"""The header that may say that a page with a good status is a challenge."""
_YEAR = 366 * 86_400
"""A year in seconds. Who asks for more means something else: a moment in seconds, or never."""
_WORDS = {
    Standing.OPEN: "it answers again",
    Standing.WALLED: "it refuses pages that its robots.txt allows",
    Standing.PRICED: "it wants to be paid for pages",
    Standing.LIMITED: "it asks for fewer requests",
    Standing.BROKEN: "its pages fail",
}


def wait_in(response: Response, now: float) -> float:
    """Returns the seconds for which *response* asks for no requests to its host (RFC 9110 10.2.3);
    0 if it does not ask. *now*: seconds since the epoch. A host that names a moment uses its own
    clock: its Date header, if there is one, counts instead.
    """
    if response.status not in BUSY:
        return 0.0
    headers = _headers(response, "retry-after", "date")
    sent_at = http_date(headers.get("date", ""))
    asked = retry_after(headers, now if sent_at is None else sent_at)
    return asked if asked and asked <= _YEAR else 0.0


def _headers(response: Response, *names: str) -> dict[str, str]:
    """Returns the headers *names*: the last line of each, or all lines of a list (RFC 9110 5.3)."""
    return {
        name: b", ".join(lines if name == "www-authenticate" else lines[-1:]).decode("latin-1")
        for name in names
        if (lines := response.headers.getlist(name))
    }


def is_handled(crawler: Crawler, request: Request, status: int) -> bool:
    """Returns whether a callback gets an answer to *request* with *status*."""
    answer = Response(request.url, status, request=request)
    try:
        HttpErrorMiddleware.from_crawler(crawler).process_spider_input(answer)
    except (HttpError, TypeError):  # 429 in place of [429]: Scrapy itself fails the request
        return False
    return True


def times_refused(request: Request) -> tuple[int, bool]:
    """Returns how many times *request* was refused before, and whether for this URL.

    A middleware may have changed the URL, or a callback may have copied the meta of the page.
    """
    match request.meta.get(REFUSED_META_KEY):
        case [url, int(times)]:
            return times, url == request.url
    return 0, False


class Refusals:
    """The listener to all answers. :class:`.Throttle` says what is a refusal and the pace after it,
    :class:`~scrapy_robots_plus.protocol.standing.Site` says how the site treats the crawl.
    """

    COSTLY = 60.0
    """Seconds of waiting after which a WARNING is logged."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._crawler = crawl.crawler
        self._settings = settings = crawl.settings
        self._clock = crawl.clock
        self._stats = crawl.stats
        self._door = crawl.get(Door)
        self._given_up = crawl.get(GivenUp)
        self._longest = settings.backoff_max
        """Seconds of the longest wait; 0 if no host is slowed down."""
        self.throttles: Recent[str, Throttle] = Recent(settings.cache_size)
        """The throttles of hosts that have answered 429 or 503."""
        self._sites: Recent[Origin, Site] = Recent(settings.cache_size)
        """The sites that have refused something."""
        self._once = Once(3 * settings.cache_size)
        self._once_of_standing = Once()
        if crawl.tells_answers:
            crawl.answer_listeners.append(self.heard)
        else:
            self._crawler.signals.connect(self.heard, signals.response_downloaded)

    def heard(self, request: Request, response: Response) -> None:
        """Handles the *response* of a download handler to *request*."""
        status = response.status
        is_good = status < 400 and _CHALLENGES.isdisjoint(response.headers)
        if is_good and not (self._door.lines or self._sites or self.throttles):
            return  # nothing delays any host, and none has refused anything
        if TAP_META_KEY in request.meta:  # a robots.txt says nothing about pages
            return
        wait = min(wait_in(response, self._clock.wall()), self._longest)
        if wait:
            self._stats.inc_value(stats.RETRY_AFTER)
        origin = valid_origin_of(request)
        if origin is None:
            return
        if not is_good or origin in self._sites:
            self._hear_standing(request, response, origin)
        is_pause = False
        if self._longest and status in BUSY:
            is_pause = self._refused(request, status, origin, wait)
        elif throttle := self._throttle_of(origin.host):
            self._answered(request, throttle, status, origin)
        if wait and self._given_up.reason(origin) is not Reason.GIVEN_UP:
            self._door.line(origin.host).pace.shut_for(wait, self._clock.monotonic())
            is_pause = True
        self._door.answer_was_read(request, origin.host, is_pause=is_pause)

    def _throttle_of(self, host: str) -> Throttle | None:
        """Returns the throttle of *host*; None if it has refused nothing, or so many others have
        since that it is forgotten.
        """
        throttle = self.throttles.get(host)
        if throttle is None and (pace := self._door.pace_of(host)) is not None:
            throttle = pace.throttle
        if throttle is not None:
            self.throttles.put(host, throttle)
        return throttle

    def _sent_in(self, request: Request, host: str) -> int | None:
        """Returns the phase of the throttle in which *request* was sent; None if it was off."""
        pace = self._door.pace_of(host)
        return None if pace is None else pace.phases.get(request)

    def _answered(self, request: Request, throttle: Throttle, status: int, origin: Origin) -> None:
        """Handles an answer to *request* that is no refusal."""
        was_on, is_first = throttle.is_on, not times_refused(request)[1]
        request.meta.pop(REFUSED_META_KEY, None)
        sent_in = self._sent_in(request, origin.host)
        throttle.answered(sent_in, self._clock.monotonic(), is_first=is_first)
        self._tell(origin, throttle, status, was_on=was_on)

    def _refused(self, request: Request, status: int, origin: Origin, wait: float) -> bool:
        """Handles a refusal of *request*; returns whether it is one of the host.

        *wait*: the seconds of its Retry-After.
        """
        if self._given_up.reason(origin) is Reason.GIVEN_UP:  # under way when it was given up
            self._stats.inc_value(stats.REFUSED)
            return True
        host = origin.host
        throttle = self._throttle_of(host) or Throttle(self._longest, self._clock.jitter)
        self.throttles.put(host, throttle)
        was_on = throttle.is_on
        before, is_again = times_refused(request)
        is_429 = status == TOO_MANY_REQUESTS
        sent_in, now = self._sent_in(request, host), self._clock.monotonic()
        refusal = throttle.refused(sent_in, now, is_first=not is_again, is_429=is_429, asked=wait)
        request.meta[REFUSED_META_KEY] = (request.url, before + 1)
        if is_again:  # behind those not refused before, which tell more of the host
            request.priority = min(priority_of(request), 0)
        if throttle.forgives(refusal, before) and not is_handled(self._crawler, request, status):
            most = request.meta.get(MAX_RETRIES_META_KEY)
            if most is None:
                most = self._crawler.settings.getint("RETRY_TIMES")
            with suppress(TypeError):  # not a number: Scrapy itself fails the request
                request.meta[MAX_RETRIES_META_KEY] = most + 1
        if refusal is Refusal.OF_PAGE:
            return False
        self._stats.inc_value(stats.REFUSED)
        if refusal is Refusal.NEW:
            self._stats.inc_value(stats.BACKOFFS)
        if refusal is Refusal.NEW or throttle.is_on:  # its line may have been forgotten
            self._door.line(host).pace.throttle = throttle
        self._tell(origin, throttle, status, was_on=was_on)
        times = throttle.in_a_row
        is_enough = is_429 and 0 < self._settings.give_up_after <= times
        if is_enough and self._refuse_all(origin, Reason.GIVEN_UP):
            logger(self._crawler).warning(
                "%s is given up: it has answered nothing but 429 with Retry-After %d times in a "
                "row",
                origin,
                times,
            )
            self._stats.inc_value(stats.GIVEN_UP)
        return True

    def _tell(self, origin: Origin, throttle: Throttle, status: int, *, was_on: bool) -> None:
        """Logs what has changed in the pace of the host."""
        level, is_first = logging.INFO, self._once.is_first
        if throttle.is_on and is_first(origin.host):
            text = "%(origin)s refuses requests (%(status)s): it is asked less often"
        elif throttle.waited > self.COSTLY and is_first((origin.host, self.COSTLY)):
            level = logging.WARNING
            text = (
                "%(origin)s refuses requests (%(status)s): waiting for it has taken more than a "
                "minute so far. The gap between requests is now %(gap).3g s"
            )
        elif was_on and throttle.was_in_vain and is_first((origin.host, "in vain")):
            text = (
                "Asking %(origin)s less often did not reduce its refusals: it is asked at full "
                "speed again"
            )
        else:
            return
        about = {"origin": origin, "status": status, "gap": throttle.gap}
        logger(self._crawler).log(level, text, about)

    def _refuse_all(self, origin: Origin, reason: Reason) -> bool:
        """Sends nothing more that robots.txt applies to, for a while, to *origin* or to its whole
        host. Returns False, without effect, if nothing may be dropped.
        """
        if not self._settings.for_origin(origin).obey:
            return False
        self._given_up.add(origin, reason)
        if reason is Reason.GIVEN_UP:
            self.throttles.pop(origin.host, None)
            self._door.line(origin.host).pace.end_pauses()
        self._door.drop(origin.host, self._given_up)
        return True

    # How the site treats the crawl

    def _hear_standing(self, request: Request, response: Response, origin: Origin) -> None:
        """Records what *response*, to a *request* that robots.txt allows, says of *origin*."""
        status = response.status
        says, why, is_clear = standing_in(status, _headers(response, *HEADERS))
        is_kept = status >= 300 and is_handled(self._crawler, request, status)
        if says is Standing.OPEN or not is_kept:
            self._stands(request, origin, says, why, is_clear=is_clear)

    def failed(self, request: Request, exception: Exception) -> None:
        """Records that *request* has failed with *exception*, after all retries."""
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
        has_changed = site.heard(request.url, says, why, is_clear=is_clear)
        standing = site.standing
        if self._settings.walls == "stop":
            if standing is Standing.WALLED:
                self._refuse_all(origin, Reason.WALLED)
            else:
                self._given_up.open(origin)
        if not has_changed:
            return
        self._crawl.get(Tally).note(origin, standing)
        self._stats.inc_value(stats.filled(stats.STANDINGS, standing))
        # A limit is logged when the host is slowed down.
        is_told = standing is not Standing.LIMITED and self._once_of_standing.is_first(
            (origin, standing)
        )
        about = {"origin": origin, "is": standing, "why": printable(why, 100)}
        text = f"%(origin)s is %(is)s (%(why)s): {_WORDS[standing]}"
        logger(self._crawler).log(logging.INFO if is_told else logging.DEBUG, text, about)
        for listener in self._crawl.standing_listeners:
            listener(origin, site, request.url)
