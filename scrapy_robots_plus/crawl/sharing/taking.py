"""Requests on their way from the server to the engine."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import TYPE_CHECKING

from scrapy_robots_plus.cluster.requests import Report
from scrapy_robots_plus.crawl import compat
from scrapy_robots_plus.crawl.clock import Alarm
from scrapy_robots_plus.crawl.gate.crawl import Crawl

from .demand import Demand
from .held.leases import Lease
from .held.supply import Supply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.cluster.requests import Exchange, State, Taken
    from scrapy_robots_plus.crawl.policies.policy import Policy
    from scrapy_robots_plus.policy.origin import Origin

    from .held.account import Account
    from .held.hosts import Hosts
    from .held.leases import Leases
    from .held.reports import QueueReports
    from .pushing import Serialization


class Taking:
    """Asks the server for as many as the engine is about to ask for, when a host is due.

    They wait here for their robots.txt only, and for the next time that the engine asks.
    """

    LONGEST_WAIT = 0.5
    """Seconds after which the server is asked again, whatever it answered: other workers push."""

    def __init__(
        self,
        crawler: Crawler,
        account: Account,
        hosts: Hosts,
        leases: Leases,
        serialization: Serialization,
        reports: QueueReports,
    ) -> None:
        crawl = Crawl.of(crawler)
        self._now = crawl.clock.monotonic
        self._account = account
        self._leases = leases
        self._serialization = serialization
        self._reports = reports
        self._supply = Supply(crawl, account, hosts)
        self._demand = Demand(crawler, self._now)
        self._ask_at = self._refill_at = 0.0
        self._waiting, self._waiting_at = 0, -inf
        self._alarm = Alarm(partial(compat.wake_engine, crawler), self._now, crawl.clock.call_later)

    def next(self) -> Request | None:
        """The next request that may be sent; None if there is none now. The engine is woken when
        there may be one.
        """
        if self._now() >= (self._refill_at if self._supply.ready else self._ask_at):
            self._ask_for_more()
        if not self._supply.ready:
            self._alarm.set(self._ask_at)
            return None
        request, lease = self._supply.take()
        self._leases.hand_out(request, lease)
        self._demand.handed_out()
        return request

    def __len__(self) -> int:
        """How many requests wait here, or at the server as far as is known."""
        return max(0, self._waiting) + len(self._supply)

    @property
    def here(self) -> int:
        """How many requests wait here."""
        return len(self._supply)

    @property
    def parked(self) -> int:
        """How many of these wait for a robots.txt."""
        return len(self._supply) - self._supply.ready

    @property
    def any_waits_there(self) -> bool:
        """Whether the server has requests, as far as is known."""
        return bool(self._waiting)

    @property
    def is_outdated(self) -> bool:
        """Whether it was not asked for some time how many it has."""
        return self._now() > self._waiting_at + self.LONGEST_WAIT

    def pushed(self, *, due: bool) -> None:
        """The server, or what waits for it, has got another request, which may be *due*."""
        self._waiting += 1
        if due:
            self._ask_at = 0.0

    def exchange(self, most: int = 0, unknown: int = 0) -> None:
        """See :meth:`.Account.exchange`."""
        self._leases.collect_ended()
        told, now = self._account.exchange(most, unknown), self._now()
        if told is None:
            self._ask_at = now + self.LONGEST_WAIT
        else:
            for each in told.taken:
                self._receive(each)
            self._note_wait(told, now)
            self._account.make_sure()
        self._alarm.set(self._ask_at)

    def state(self) -> State | None:
        """See :meth:`.Account.state`."""
        state = self._account.state()
        if state is not None:
            self._waiting, self._waiting_at = state.waiting, self._now()
        return state

    def fetch_ended(self, origin: Origin, policy: Policy | None) -> bool:
        """Whether any request waited for it."""
        waited = self._supply.fetch_ended(origin, policy)
        if waited:
            self._ask_at = 0.0
        return waited

    def look(self) -> None:
        """Called several times a second."""
        self._demand.look()
        self._supply.give_back_stale()

    def leases(self) -> Iterator[Lease]:
        """Those of all requests that wait here."""
        return self._supply.leases()

    def clear(self) -> None:
        """Nothing waits any more, here or there."""
        self._supply.clear()
        self._waiting = 0

    def wake_in(self, seconds: float) -> None:
        """The engine is to ask again then."""
        self._alarm.set(self._now() + seconds)

    def close(self) -> None:
        self._alarm.cancel()

    def _ask_for_more(self) -> None:
        new_hosts = self._supply.room_for_new_hosts(Demand.MOST_AT_ONCE)
        self.exchange(self._demand.beyond(self._supply.ready), new_hosts)
        self._refill_at = self._now() + Demand.REFILL_SECONDS

    def _note_wait(self, told: Exchange, now: float) -> None:
        if told.waiting is None:
            self._ask_at = now  # it got as much as it could take
            return
        wait = inf if told.wait is None else told.wait
        self._ask_at = now + min(wait, self.LONGEST_WAIT)
        self._waiting, self._waiting_at = told.waiting, now

    def _receive(self, taken: Taken) -> None:
        is_first = taken.delay is None
        lease = Lease(taken.id, taken.host, taken.holds, self._now(), is_first)
        try:
            request = self._serialization.read(taken.data)
        except Exception as error:  # noqa: BLE001 - any serializer may be in use
            self._reports.cannot_be_read(self._account.queue.keys.aside, error)
            self._account.tell(partial(Report.aside, taken.id))
            return
        self._supply.add(request, lease)
