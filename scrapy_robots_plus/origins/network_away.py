"""Whether no site can be reached because the network of this machine is away.

A robots.txt that cannot be fetched closes its host for a minute (RFC 9309 2.3.1.4). In an outage of
half a minute, that would deny all that is queued for hosts not met before.

Hazards:

- Dead hosts fail alike, and at the end of a crawl there may be no others. So before anything is put
  down to the network, a host that has answered is asked once more.
- That host may be gone, too. So nobody waits for more than a minute, nor for another one before
  some host has answered.
- While most hosts wait for their robots.txt, the pages of the few others have nothing to stand
  behind, and would use up their retries within a second. So a page that fails meanwhile waits, too.
- Hosts whose addresses are known answer while no name can be looked up. So names are asked after by
  themselves.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.crawl.requests import TAP_META_KEY
from scrapy_robots_plus.protocol.access import TOO_MANY_REQUESTS, Failure, Outcome
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import printable

from .fetch_results import NETWORK_FAILURES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_robots_plus.crawl.crawl import Crawl

    Ask = Callable[[Origin, float], Awaitable[object]]

logger = crawl_log(__name__)


class NetworkAway:
    """Tells an outage of the network from dead hosts, if it is told of answers, as
    ``RobotsDownloader`` does. Times are by the monotonic clock."""

    SILENCE = 5.0
    """Seconds at the end of a long fetch in which nobody must have answered; also for how long a
    host that has answered is asked, and the pause after it."""
    PATIENCE = 1.0
    """Seconds after a failure in which somebody may answer unasked."""
    TRUST = LONGEST = 60.0
    """Seconds: for how long nothing is put down to a network that was just found to work; how long
    a failed fetch waits for one that does not; and after how long a silence other workers are told
    of no failure."""
    POLL = 0.25
    """Seconds between two looks."""
    SAYS = (
        "%s cannot be fetched, and %s, which has answered before, does not answer either: the "
        "network of this machine may be away. Such files are fetched again when a site answers, if "
        "one does within %d s"
    )

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._heard_at = -inf
        self._known: Origin | None = None
        self._is_asking = self._is_away = False
        self._waiting, self._failed_at = 0, -inf
        """How many fetches wait, and when one was last tried in vain."""
        self._trusted_until = self._back_at = self._given_up = -inf

    def answered(self, request: Request, response: Response) -> None:
        """A site has answered *request*.

        Only a host that was asked for a robots.txt is asked for it again: not one with an override,
        of which it is not fetched. Nor is one that may want to be left alone.
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
        if self._is_away:  # who does not answer while others do tells nothing of the network
            self._is_away, self._back_at, self._known = False, self._heard_at, None

    def may_be_why(self, failure: Outcome) -> bool:
        """Whether *failure* may be the fault of this crawl rather than of the site: a worker that
        has lost its network must not tell the others that all sites are down.
        """
        is_silent = self._crawl.clock.monotonic() - self._heard_at > self.LONGEST
        return failure is Failure.ERROR or (failure in NETWORK_FAILURES and is_silent)

    async def was_why(self, origin: Origin, began: float, until: float, ask: Ask) -> bool:
        """Whether the network was away in the fetch of *origin* that *began* then and has failed
        now, and has come back. Waits for that, but not beyond *until*.

        *ask* asks an origin for its robots.txt, for so many seconds.
        """
        crawl, now = self._crawl, self._crawl.clock.monotonic
        failed, last_heard, other = now(), self._heard_at, self._known
        if failed >= until or began < self._back_at:
            return failed < until
        # What was on its way for a moment only may have been cut off in the next one.
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
        """A try of *request* has ended in *error*. If the network may be why, and it is for a page,
        waits as long as fetches do, or for another one that has just been tried in vain. Nobody
        waits if there is no host to ask."""
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
            await crawl.clock.sleep(self.POLL / 5)  # it keeps its place from others

    async def _ask(self, other: Origin, ask: Ask, origin: Origin) -> None:
        self._is_asking, last_heard, was_away = True, self._heard_at, self._is_away
        try:
            await ask(other, self.SILENCE)
            if self._heard_at > last_heard:
                if not was_away:  # one that comes and goes is not trusted
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
    """The same of names that cannot be looked up: what is asked is the address of the one that was
    found last, of Scrapy's resolver. It is told of no answers."""

    PATIENCE = NetworkAway.POLL
    TRUST = NetworkAway.SILENCE
    SAYS = (
        "%s cannot be fetched, and the address of %s, which was found before, is not found either: "
        "the DNS of this machine may be away, or names of dead hosts take all threads "
        "(REACTOR_THREADPOOL_MAXSIZE). Such files are fetched again when names are found, if they "
        "are within %d s"
    )

    def __init__(self, crawl: Crawl) -> None:
        super().__init__(crawl)
        self._heard()

    async def were_why(self, origin: Origin, began: float, until: float) -> bool:
        """As :meth:`was_why`, but no host is asked. The address of *origin* was not found."""
        name = compat.last_name_found()
        if name is None:
            return False
        if self._known is None or self._known.host != name:
            self._known, self._given_up = Origin("http", name, 80), -inf
        were_away = await self.was_why(origin, began, until, self._look_up)
        return were_away or compat.is_name_found(origin.host)  # meanwhile

    async def _look_up(self, known: Origin, seconds: float) -> None:
        if await compat.finds_again(known.host, seconds):
            self._heard()
