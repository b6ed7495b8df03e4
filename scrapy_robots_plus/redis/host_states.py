"""The host that a request goes to, and how soon it may be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.requests import chosen_slot, valid_origin_of
from scrapy_robots_plus.hosts.host import State
from scrapy_robots_plus.hosts.origin_states import OriginStates
from scrapy_robots_plus.origins.policies import Policies

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.downloader import Downloader
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.origin import Origin


class HostState(NamedTuple):
    """What this worker knows about a host now."""

    delay: float = 0.0
    """Seconds to keep between requests: the longer of the delays of robots.txt and the user."""
    closed_for: float = 0.0
    """For how many seconds nothing may be sent to the host."""


class HostStates:
    """The states of hosts, by this worker's own policies and downloader slots."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawl = Crawl.of(crawler)
        self._crawler = crawler

    def host_of(self, request: Request) -> str:
        """Returns the slot that was chosen for *request*, or else its host, without the port."""
        origin = valid_origin_of(request)
        slot = compat.scopes_key(self._downloader, request) or chosen_slot(request)
        return slot or (origin.host if origin else compat.slot_key(self._downloader, request))

    def origin_to_wait_for(self, request: Request) -> Origin | None:
        """Returns the origin whose robots.txt must be known before *request* is sent, if any."""
        return self._crawl.origin_to_wait_for(request) if self._crawl.holds_requests else None

    def state(self, request: Request, host: str, policy: Policy | None = None) -> HostState | None:
        """Returns the state of *host* for *request*; None while its robots.txt is unknown.

        *policy*: the policy of the origin, if it has just arrived.
        """
        own = self.own_delay(host)
        origin = self.origin_to_wait_for(request)
        if origin is None:
            return HostState(own)
        states = self._crawl.get(OriginStates)
        if policy is not None:
            now = states.under(policy)
        else:
            now = states.now(self._crawl.get(Policies).usable(origin))
        if now.state is State.POLICY:
            return None
        if now.state is State.REFUSED:
            return HostState()
        closed_for = max(now.until - self._crawl.clock.monotonic(), 0.0)
        return HostState(max(now.delay, own), closed_for)

    def own_delay(self, host: str) -> float:
        """Returns the delay of the user or of AutoThrottle for *host*, in seconds."""
        slot = compat.Slots(self._downloader).get(host)
        return slot.delay if slot else compat.new_slot(self._downloader, host)[1]

    def defers(self, origin: Origin) -> bool:
        """Returns whether requests to *origin* are kept while its robots.txt cannot be read."""
        return self._crawl.get(OriginStates).defers(origin)

    @property
    def _downloader(self) -> Downloader:
        return compat.engine_of(self._crawler).downloader
