"""Outages of this machine's network or DNS, told apart from dead hosts.

A robots.txt that cannot be fetched closes its host for a minute (RFC 9309 2.3.1.4). In an outage of
half a minute, that would deny all queued requests to hosts that are new to the crawl.

Hazards:

- Dead hosts fail in the same way, and at the end of a crawl there may be no others. So before a
  failure is blamed on the network, a host that has answered is asked once more.
- That host may be dead, too. So no fetch waits for more than a minute, and after a wait in vain
  none waits until some host has answered.
- While most hosts wait for their robots.txt, the pages of the few others have the queue to
  themselves, and would use up their retries within a second. So a page that fails meanwhile waits.
- Hosts whose addresses are known answer even while no name can be looked up. So lookups are
  checked separately.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf

from scrapy import Request
from scrapy.http import Response

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.crawl.requests import TAP_META_KEY
from scrapy_robots_plus.protocol.access import TOO_MANY_REQUESTS, Failure, Outcome
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import printable

from .fetch_results import NETWORK_FAILURES

Ask = Callable[[Origin, float], Awaitable[object]]

logger = crawl_log(__name__)


class NetworkAway:
    """The detector of network outages, as opposed to dead hosts.

    It works if it is told of answers, as ``RobotsDownloader`` does. Times are seconds of the
    monotonic clock.
    """

    SILENCE = 5.0
    """Seconds at the end of a long fetch in which an answer rules out an outage; also the timeout
    when a host that has answered is asked again, and the pause after that was in vain."""
    PATIENCE = 1.0
    """Seconds after a failure in which an answer to another request spares asking a host."""
    TRUST = LONGEST = 60.0
    """Seconds: how long a network that was just found to work is not blamed; how long a failed
    fetch waits for it; how long a silence is after which other workers are told of no failure."""
    POLL = 0.25
    """Seconds between two checks for an answer."""
    SAYS = (
        "%s cannot be fetched, and %s, which has answered before, does not answer either: this "
        "machine may have lost its network. Such files are fetched again if a site answers within "
        "%d s"
    )

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._heard_at = -inf
        self._known: Origin | None = None
        self._is_asking = self._is_away = False
        self._waiting, self._failed_at = 0, -inf
        """How many fetches wait, and when a try of one last failed."""
        self._trusted_until = self._back_at = self._given_up = -inf

    def answered(self, request: Request, response: Response) -> None:
        """Records that a site has answered *request*.

        Only a host that answered a request for its robots.txt may be asked for it again: under an
        override it may not be fetched. After a 429 or a server error, the host is left alone.
        """
        self._heard()
        if TAP_META_KEY not in request.meta:
            return
        origin = Origin.of(request.url)
        if response.status != TOO_MANY_REQUESTS and response.status < 500:
            self._known = origin
        elif self._known and origin and self._known.host == origin.host:
            self._known = None

    def _heard(self) -> None:
        self._heard_at = self._crawl.clock.monotonic()
        if self._is_away:  # a host that is silent while others answer proves nothing
            self._is_away, self._back_at, self._known = False, self._heard_at, None

    def may_be_why(self, failure: Outcome) -> bool:
        """Returns whether *failure* may be the fault of this crawl rather than of the site.

        A worker that has lost its network must not tell the others that all sites are down.
        """
        is_silent = self._crawl.clock.monotonic() - self._heard_at > self.LONGEST
        return failure is Failure.ERROR or (failure in NETWORK_FAILURES and is_silent)

    async def outage_ended(self, origin: Origin, began: float, until: float, ask: Ask) -> bool:
        """Returns whether an outage made the fetch of *origin* fail and is over; waits for its end.

        The fetch *began* at that time and has just failed. The wait ends at *until* at the latest.
        *ask* requests the robots.txt of an origin, for up to so many seconds.
        """
        crawl, now = self._crawl, self._crawl.clock.monotonic
        failed, last_heard, other = now(), self._heard_at, self._known
        if failed >= until or began < self._back_at:
            return failed < until
        # Only for a long fetch: a short one may have been cut off just after the last answer.
        is_heard = last_heard > failed - self.SILENCE > began
        if is_heard or failed < self._trusted_until or other is None or other.host == origin.host:
            return False
        self._waiting += 1
        try:
            while now() < until and last_heard > self._given_up and not crawl.is_closing:
                await crawl.clock.sleep(self.PATIENCE if self._is_away else self.POLL)
                if self._heard_at > last_heard:
                    return began < self._back_at
                if now() > failed + self.PATIENCE and not self._is_asking:
                    await self._ask(other, ask, origin)
        finally:
            self._waiting -= 1
        self._given_up = last_heard
        return False

    async def failed(self, request: Request, error: Exception) -> None:
        """Handles a try of *request* that ended in *error*; holds a page while the network is down.

        If the network may be the reason, a page waits as long as a fetch of a robots.txt waits or
        has just been tried in vain. It does not wait if there is no host to ask.
        """
        crawl, now, last_heard = self._crawl, self._crawl.clock.monotonic, self._heard_at
        if compat.kind_of_failure(error, headers_received=False) not in NETWORK_FAILURES:
            return
        if TAP_META_KEY in request.meta:
            self._failed_at = now()
            return
        while self._heard_at == last_heard > self._given_up and not crawl.is_closing:
            is_tried = self._waiting or now() <= self._failed_at + self.PATIENCE
            if not (is_tried and self._known) or now() < self._trusted_until:
                return
            await crawl.clock.sleep(self.POLL / 5)  # short: the request keeps its place from others

    async def _ask(self, other: Origin, ask: Ask, origin: Origin) -> None:
        self._is_asking, last_heard, was_away = True, self._heard_at, self._is_away
        try:
            await ask(other, self.SILENCE)
            if self._heard_at > last_heard:
                if not was_away:  # a network that comes and goes is not trusted
                    self._trusted_until = self._heard_at + self.TRUST
                return
            self._is_away = True
            if not was_away:
                fetched, asked = printable(origin.robots_url), printable(other)
                logger(self._crawl.crawler).warning(self.SAYS, fetched, asked, self.LONGEST)
            await self._crawl.clock.sleep(self.SILENCE)
        finally:
            self._is_asking = False


class NamesAway(NetworkAway):
    """The detector of DNS outages, as opposed to names without an address.

    Where :class:`NetworkAway` asks a host, this class asks Scrapy's resolver for the name that it
    found last. It is not told of answers.
    """

    PATIENCE = NetworkAway.POLL
    TRUST = NetworkAway.SILENCE
    SAYS = (
        "%s cannot be fetched, and the address of %s, which was found before, is not found either: "
        "this machine's DNS may be down, or lookups of dead hosts may occupy all threads "
        "(REACTOR_THREADPOOL_MAXSIZE). Such files are fetched again if a name is found within %d s"
    )

    def __init__(self, crawl: Crawl) -> None:
        super().__init__(crawl)
        self._heard()

    async def dns_outage_ended(self, origin: Origin, began: float, until: float) -> bool:
        """Returns whether a DNS outage made a fetch fail and is over; waits for its end.

        The address of *origin* was not found. No host is asked.
        """
        name = compat.last_name_found()
        if name is None:
            return False
        if self._known is None or self._known.host != name:
            self._known, self._given_up = Origin("http", name, 80), -inf
        were_away = await self.outage_ended(origin, began, until, self._look_up)
        return were_away or compat.is_name_found(origin.host)  # by now

    async def _look_up(self, known: Origin, seconds: float) -> None:
        if await compat.resolves_again(known.host, seconds):
            self._heard()
