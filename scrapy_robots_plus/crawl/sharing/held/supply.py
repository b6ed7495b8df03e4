"""The requests that a worker has and its engine has not asked for."""

from __future__ import annotations

from collections import deque
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from scrapy_robots_plus.cluster.requests import Report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request

    from scrapy_robots_plus.crawl.gate.crawl import Crawl
    from scrapy_robots_plus.crawl.policies.policy import Policy
    from scrapy_robots_plus.policy.origin import Origin

    from .account import Account
    from .hosts import Hosts, HostState
    from .leases import Lease


class Supply:
    """They wait for their robots.txt, or for the engine to ask."""

    STALE_SECONDS = 3.0
    """What has waited longer than this for the engine is given back: its host may be paused."""

    def __init__(self, crawl: Crawl, account: Account, hosts: Hosts) -> None:
        self._crawl = crawl
        self._account = account
        self._hosts = hosts
        self._ready: deque[tuple[Request, Lease]] = deque()
        self._parked: dict[Origin, list[tuple[Request, Lease]]] = {}
        """Those that wait for a robots.txt."""

    def __len__(self) -> int:
        return len(self._ready) + sum(map(len, self._parked.values()))

    def leases(self) -> Iterator[Lease]:
        """Those of all requests."""
        return (lease for _, lease in chain(self._ready, *self._parked.values()))

    @property
    def ready(self) -> int:
        """How many only wait for the engine."""
        return len(self._ready)

    def room_for_new_hosts(self, most: int) -> int:
        """How many requests may come to hosts whose robots.txt has to be fetched first.

        *most*: the answer if this crawl waits for no robots.txt.
        """
        if not self._crawl.holds_requests:
            return most
        return max(0, self._crawl.settings.fetch_concurrency - len(self._parked))

    def take(self) -> tuple[Request, Lease]:
        """The next one for the engine."""
        return self._ready.popleft()

    def add(self, request: Request, lease: Lease, policy: Policy | None = None) -> None:
        """*request* waits here, or goes back to the server. *policy*: one that has just arrived."""
        state = self._hosts.state(request, lease.host, policy)
        if state is None:
            self._park(request, lease)
        elif lease.id and (closed_for := self._closed_for(state, lease)) > 0:
            self._account.pause(lease.host, closed_for)
            self._give_back(lease)
        elif state.delay and not lease.holds and lease.id:  # it has no turn
            self._tell_pace(lease, state.delay)
            self._give_back(lease)
        elif lease.holds and state.delay:
            self._ready.appendleft((request, lease))
        else:
            if lease.holds:
                lease.holds = False
                self._tell_pace(lease, 0.0)
            self._ready.append((request, lease))

    def fetch_ended(self, origin: Origin, policy: Policy | None) -> bool:
        """Whether any request waited for it."""
        parked = self._parked.pop(origin, ())
        for request, lease in parked:
            if policy is None:
                self._give_back(lease)
            else:
                self.add(request, lease, policy)
        return bool(parked)

    def give_back_stale(self) -> None:
        """Gives back what has waited too long for the engine: another worker may be faster."""
        since = self._account.now() - self.STALE_SECONDS
        stale = [lease for _, lease in self._ready if lease.id and lease.since < since]
        for lease in stale:
            self._give_back(lease)
        if stale:
            gone = set(stale)
            self._ready = deque(each for each in self._ready if each[1] not in gone)

    def clear(self) -> None:
        self._ready.clear()
        self._parked.clear()

    def _park(self, request: Request, lease: Lease) -> None:
        origin = self._hosts.origin_to_wait_for(request)
        if origin is None:
            return
        self._parked.setdefault(origin, []).append((request, lease))
        if not self._crawl.policies.is_fetching(origin):
            self._crawl.policies.prefetch(origin, request)

    def _closed_for(self, state: HostState, lease: Lease) -> float:
        silent_for = self._account.silent_for(state.delay) if lease.is_first else 0.0
        return max(state.closed_for, silent_for)

    def _give_back(self, lease: Lease) -> None:
        self._account.tell(partial(Report.back, lease.id))

    def _tell_pace(self, lease: Lease, delay: float) -> None:
        self._account.tell(partial(Report.pace, lease.id, lease.host, delay))
