"""The host that a request goes to, and how soon it may be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.requests import chosen_slot, valid_origin_of
from scrapy_robots_plus.hosts.origin_states import FAILING, OPEN, OriginState, OriginStates
from scrapy_robots_plus.origins.policies import Policies

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.downloader import Downloader
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.origin import Origin


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

    def state(self, origin: Origin | None, host: str, policy: Policy | None = None) -> OriginState:
        """Returns what a request to *host* waits for, with the longer of the delays of robots.txt
        and the user; what will fail needs none.

        *origin*: whose robots.txt must be known before, if any. *policy*: what it says, if it has
        just arrived.
        """
        own = self.own_delay(host)
        if origin is None:
            return OPEN._replace(delay=own)
        states = self._crawl.get(OriginStates)
        if policy is None:
            now = states.now(self._crawl.get(Policies).usable(origin))
        else:
            now = states.under(policy)
        return now if now is FAILING else now._replace(delay=max(now.delay, own))

    def own_delay(self, host: str) -> float:
        """Returns the delay of the user or of AutoThrottle for *host*, in seconds."""
        slot = compat.Slots(self._downloader).get(host)
        return slot.delay if slot else compat.new_slot(self._downloader, host)[1]

    @property
    def _downloader(self) -> Downloader:
        return compat.engine_of(self._crawler).downloader
