"""A worker: it takes requests from the shared queue for its engine, and adds new ones."""

from __future__ import annotations

from functools import partial
from itertools import chain
from math import inf
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.asyncio import create_looping_call

from scrapy_robots_plus.cluster.pace.opening import PROCESS
from scrapy_robots_plus.cluster.requests import Report, move_all
from scrapy_robots_plus.crawl import compat
from scrapy_robots_plus.crawl.clock import Alarm
from scrapy_robots_plus.crawl.gate.crawl import Crawl

from .demand import Demand
from .feeding import Feeding
from .held.account import Account
from .held.hosts import Hosts
from .held.leases import Lease, Leases
from .held.reports import QueueReports
from .held.supply import Supply
from .held.turns import QueuePace
from .pushing import Pushing, Serialization

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from scrapy_robots_plus.cluster.requests import Exchange, State, Taken
    from scrapy_robots_plus.crawl.policies.policy import Policy
    from scrapy_robots_plus.policy.origin import Origin

_workers: WeakKeyDictionary[Crawler, Worker] = WeakKeyDictionary()


class Worker:
    """One per crawler.

    A request that it takes stays leased to it until the engine has dealt with it, see
    :func:`~scrapy_robots_plus.crawl.compat.dealt_with`. Requests wait here for their robots.txt
    only, and for the next time that the engine asks.
    """

    LOOK_SECONDS = 0.2
    """Between two looks at what has become of requests."""
    LONGEST_WAIT = 0.5
    """Seconds after which the server is asked again, whatever it answered: other workers push."""

    def __init__(self, crawler: Crawler, client: Any, key: str, serializer: Any) -> None:
        self._crawler = crawler
        self._crawl = crawl = Crawl.of(crawler)
        self._now = crawl.clock.monotonic
        self._reports = QueueReports(crawler)
        self._hosts = Hosts(crawler)
        lifetime = crawl.settings.worker_lifetime
        self._account = account = Account(client, key, lifetime, crawl.clock, self._reports)
        account.on_flush, account.on_forgotten = self._exchange, self._was_forgotten
        account.ids = self._ids
        self._leases = Leases(crawler, account, self._hosts)
        self._pace = QueuePace(account, self._leases, crawl.settings.workers)
        self._serialization = Serialization(compat.spider_of(crawler), serializer)
        self.pushing = Pushing(account, self._hosts, self._serialization, self._reports)
        self._feeding = Feeding(crawler, crawl.clock)
        self._pushed: Request | None = None
        self._seen_key = ""
        self._supply = Supply(crawl, account, self._hosts)
        self._demand = Demand(crawler, self._now)
        self._ask_at = self._refill_at = 0.0
        self._waiting, self._waiting_at = 0, -inf
        self.patience = 0.0
        """Seconds to wait for new requests before the crawl ends: SCHEDULER_IDLE_BEFORE_CLOSE."""
        self._idle_since: float | None = None
        self._loop: AsyncioLoopingCall | LoopingCall | None = None
        self._has_left = False
        self._alarm = Alarm(partial(compat.wake_engine, crawler), self._now, crawl.clock.call_later)
        self._connect()
        _workers[crawler] = self
        moved = account.attempt(partial(move_all, account.queue, self.pushing.stored))
        if moved:
            self._reports.moved(moved, key)

    def _connect(self) -> None:
        if self._crawl.holds_requests:
            self._crawl.policies.subscribe(self._fetch_ended)
            if self._crawl.settings.shared_pace == PROCESS:  # not chosen otherwise
                self._crawl.pacing.share(self._pace)
            self._crawl.use_readiness(self)
        connect = self._crawler.signals.connect
        connect(self._begin, signals.spider_opened)
        connect(self._leases.left_downloader, signals.request_left_downloader)
        connect(self._idle, signals.spider_idle)
        connect(self._close, signals.spider_closed)

    @classmethod
    def of(cls, crawler: Crawler) -> Worker | None:
        """None if the crawl has no shared queue."""
        return _workers.get(crawler)

    # For the queue and the duplicate filter

    def push(self, request: Request, fingerprint: str = "") -> bool:
        """Whether *request* is new."""
        due = self.pushing.push(request, fingerprint)
        if due is None:
            return False
        self._waiting += 1
        if due:
            self._ask_at = 0.0
        return True

    def use_seen(self, key: str) -> None:
        """*key*: the set of fingerprints of what was seen."""
        self._seen_key = key
        if not self._account.is_cluster:
            self.pushing.seen_key = key

    def push_new(self, request: Request, fingerprint: str) -> bool:
        """Like :meth:`push`, before the queue is asked to."""
        if self._account.is_cluster:
            return self._account.is_new(self._seen_key, fingerprint)
        is_new = self.push(request, fingerprint)
        if is_new:
            self._pushed = request
        return is_new

    def was_pushed(self, request: Request) -> bool:
        """Whether *request* is the last one of :meth:`push_new`."""
        pushed, self._pushed = self._pushed, None
        return request is pushed

    def next(self) -> Request | None:
        """The next request that may be sent; None if there is none now."""
        self._leases.is_asked_again()
        if self._now() >= (self._refill_at if self._supply.ready else self._ask_at):
            self._ask_for_more()
        if self._supply.ready:
            request, lease = self._supply.take()
            self._leases.hand_out(request, lease)
            self._demand.handed_out()
            self._idle_since = None
            return request
        if self.pushing.unwritable:
            return self.pushing.unwritable.popleft()
        self._alarm.set(self._ask_at)
        self._feeding.look(is_idle=not self._waiting)
        return None

    def __len__(self) -> int:
        here = len(self._supply) + len(self.pushing)
        if self._now() > self._waiting_at + self.LONGEST_WAIT and self._state() is None:
            return max(1, here)
        return max(0, self._waiting) + here

    def clear(self) -> None:
        """Removes all requests. A worker that ends leaves them to others that are alive."""
        others = self._others_at_the_end()
        if others:
            self._reports.not_cleared(others)
        elif others == 0:
            self._supply.clear()
            self.pushing.kept.clear()
            self._account.attempt(self._account.queue.clear)
            self._waiting = 0

    def clear_seen(self, key: str) -> None:
        """Removes the fingerprints, likewise."""
        if self._others_at_the_end() == 0:
            self._account.delete(key)

    def _others_at_the_end(self) -> int | None:
        """How many other workers are alive; None if the server is away.

        A worker that ends leaves before it asks: of several that end at once, one is the last.
        """
        if self._loop is None:
            return 0  # at the start: SCHEDULER_FLUSH_ON_START
        if compat.is_closing(self._crawler):
            self._leave()
        state = self._state()
        return None if state is None else state.workers

    # For the middleware

    def takes_back(self, request: Request, origin: Origin) -> bool:
        """See :class:`.TakesBack`."""
        return request in self._leases and self._hosts.defers(origin)

    # What the server gives

    def _ask_for_more(self) -> None:
        new_hosts = self._supply.room_for_new_hosts(Demand.MOST_AT_ONCE)
        self._exchange(self._demand.beyond(self._supply.ready), new_hosts)
        self._refill_at = self._now() + Demand.REFILL_SECONDS

    def _exchange(self, most: int = 0, unknown: int = 0) -> None:
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

    def _note_wait(self, told: Exchange, now: float) -> None:
        if told.waiting is None:
            self._ask_at = now  # it got as much as it could take
            return
        wait = inf if told.wait is None else told.wait
        self._ask_at = now + min(wait, self.LONGEST_WAIT)
        self._waiting, self._waiting_at = told.waiting, now

    def _receive(self, taken: Taken) -> None:
        lease = Lease(taken.id, taken.host, taken.holds, self._now())
        try:
            request = self._serialization.read(taken.data)
        except Exception as error:  # noqa: BLE001 - any serializer may be in use
            self._reports.cannot_be_read(self._account.queue.keys.aside, error)
            self._account.tell(partial(Report.aside, taken.id))
            return
        self._supply.add(request, lease)

    def _fetch_ended(self, origin: Origin, policy: Policy | None) -> None:
        if self._supply.fetch_ended(origin, policy):
            self._ask_at = 0.0
            compat.wake_engine(self._crawler)

    def _was_forgotten(self) -> None:
        for lease in self._all_leases:
            lease.void()

    def _ids(self) -> set[bytes]:
        return {lease.id for lease in self._all_leases} | self._pace.ids

    @property
    def _all_leases(self) -> Iterable[Lease]:
        return chain(self._leases, self._supply.leases())

    # What the engine does

    def _begin(self) -> None:
        self._loop = create_looping_call(self._look)
        self._loop.start(self.LOOK_SECONDS, now=False)

    def _look(self, *, at_once: bool = False) -> None:
        """Tells what has happened since the last time, if it is time or *at_once*."""
        self._leases.is_asked_again()
        self._demand.look()
        self._leases.look_at_departures()
        self._supply.give_back_stale()
        self._leases.collect_ended()
        if at_once or self._account.has_news:
            self._exchange()
        self.pushing.try_again()

    def _idle(self) -> None:
        """The engine has nothing to do; other workers may have, and leave it some."""
        self._look(at_once=True)
        state = self._state()
        if state is None or state.waiting or state.elsewhere or len(self):
            self._idle_since = None
            self._stay_open(self.LONGEST_WAIT)
        self._idle_since = self._idle_since or self._now()
        left = self._idle_since + self.patience - self._now()
        if left > 0:
            self._stay_open(min(left, self.LONGEST_WAIT))

    def _stay_open(self, seconds: float) -> None:
        self._alarm.set(self._now() + seconds)
        raise DontCloseSpider

    def _close(self) -> None:
        """The crawl has ended."""
        self._leave()
        self._account.close()
        if len(self.pushing):
            self._reports.lost(len(self.pushing))
        _workers.pop(self._crawler, None)

    def _leave(self) -> None:
        """Others get what it has not sent."""
        if self._has_left:
            return
        self._has_left = True
        if self._loop is not None and self._loop.running:
            self._loop.stop()
        self._look(at_once=True)
        self._alarm.cancel()
        self._account.leave()

    def _state(self) -> State | None:
        state = self._account.state()
        if state is not None:
            self._waiting, self._waiting_at = state.waiting, self._now()
        return state
