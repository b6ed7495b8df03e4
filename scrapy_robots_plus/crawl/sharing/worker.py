"""A worker: what it has of the shared queue, and what it tells the server."""

from __future__ import annotations

from collections import deque
from functools import partial
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.asyncio import create_looping_call

from scrapy_robots_plus.cluster.requests import HostQueue, Report
from scrapy_robots_plus.crawl import compat
from scrapy_robots_plus.crawl.clock import Alarm
from scrapy_robots_plus.crawl.gate.crawl import Crawl
from scrapy_robots_plus.crawl.gate.downloader import RobotsDownloader
from scrapy_robots_plus.server import ServerError

from .hosts import Hosts
from .lease import Lease
from .link import Link
from .migration import move_all
from .pushing import Pushing, Serialization
from .reports import QueueReports
from .turns import QueuePace

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from scrapy_robots_plus.cluster.requests import Exchange, State, Taken
    from scrapy_robots_plus.crawl.pacing.shared.shared_pace import Ask
    from scrapy_robots_plus.crawl.policies.policy import Policy
    from scrapy_robots_plus.policy.origin import Origin

_T = TypeVar("_T")

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
    STALE_SECONDS = 1.0
    """What has waited here for so long is given back: its host may be paused by now."""
    SOON = 0.05
    """Seconds within which the server is told that a host is free."""
    MOST_AHEAD = 64
    """Requests that are taken ahead of the engine, at the most."""
    MOST_AT_ONCE = 100

    def __init__(self, crawler: Crawler, client: Any, key: str, serializer: Any) -> None:
        self._crawler = crawler
        self._crawl = crawl = Crawl.of(crawler)
        self.now = crawl.clock.monotonic
        self._lifetime = crawl.settings.worker_lifetime
        self._hosts = Hosts(crawler)
        self._reports = QueueReports(crawler)
        self._link = Link(client)
        self._queue = HostQueue(self._link.client, key, uuid4().hex, self._lifetime)
        self._serialization = Serialization(compat.spider_of(crawler), serializer)
        self.pushing = Pushing(
            self._link, self._queue, self._hosts, self._serialization, self._reports
        )
        self._ready: deque[tuple[Request, Lease]] = deque()
        self._parked: dict[Origin, list[tuple[Request, Lease]]] = {}
        """Those that wait for a robots.txt."""
        self._under_way: dict[Request, Lease] = {}
        """Those that the engine has."""
        self._last: Request | None = None
        """The last one handed out: the engine may not know it yet."""
        self._pushed: Request | None = None
        self._untold: list[Callable[[], Report]] = []
        self._is_known = self._is_unsure = self._is_opened = False
        self._ask_at = self._renew_at = self._reap_at = 0.0
        self._valid_until = -inf
        self._waiting, self._waiting_at = 0, -inf
        self._handed_out = 0
        self.patience = 0.0
        """Seconds to wait for new requests before the crawl ends: SCHEDULER_IDLE_BEFORE_CLOSE."""
        self._idle_since: float | None = None
        self._loop: AsyncioLoopingCall | LoopingCall | None = None
        call_later = crawl.clock.call_later
        self._alarm = Alarm(partial(compat.wake_engine, crawler), self.now, call_later)
        self._flush_alarm = Alarm(self._exchange, self.now, call_later)
        self.pace = QueuePace(self)
        if crawl.holds_requests:
            crawl.policies.subscribe(self._fetch_ended)
            crawl.pacing.share(self.pace)
        connect = crawler.signals.connect
        connect(self._begin, signals.spider_opened)
        connect(self._request_left, signals.request_left_downloader)
        connect(self._idle, signals.spider_idle)
        connect(self._close, signals.spider_closed)
        _workers[crawler] = self
        self._move()

    @classmethod
    def of(cls, crawler: Crawler) -> Worker | None:
        """None if the crawl has no shared queue."""
        return _workers.get(crawler)

    # For the queue

    def push(self, request: Request, fingerprint: str = "") -> bool:
        """Whether *request* is new."""
        stored = self.pushing.stored(request, fingerprint)
        if stored is None:
            self.pushing.unwritable.append(request)
            return True
        due = self.pushing.push(stored)
        if due is None:
            return False
        self._waiting += 1
        if due:
            self._ask_at = 0.0
        return True

    def push_new(self, request: Request, fingerprint: str) -> bool:
        """Like :meth:`push`, before the queue is asked to."""
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
        self._last = None
        if not self._ready and self.now() >= self._ask_at:
            ahead = min(self._handed_out, self.MOST_AHEAD)
            self._exchange(min(self._capacity, self.MOST_AT_ONCE) + ahead, self._may_park)
        if self._ready:
            request, lease = self._ready.popleft()
            self._under_way[request] = lease
            self._handed_out += 1
            self._idle_since = None
        elif self.pushing.unwritable:
            request = self.pushing.unwritable.popleft()
        else:
            self._alarm.set(self._ask_at)
            return None
        self._last = request
        return request

    def __len__(self) -> int:
        here = len(self._ready) + len(self.pushing) + sum(map(len, self._parked.values()))
        if self.now() > self._waiting_at + self.LONGEST_WAIT:
            state = self._state()
            if state is None:
                return max(1, here)
        return max(0, self._waiting) + here

    def clear(self) -> None:
        """Removes all requests. A worker that ends leaves them to others that are alive."""
        if self._must_not_clear():
            return
        self._ready.clear()
        self._parked.clear()
        self.pushing.kept.clear()
        self._try(lambda: self._queue.clear())
        self._waiting = 0

    def clear_seen(self, key: str) -> None:
        """Removes the fingerprints, likewise."""
        if not self._must_not_clear():
            self._try(lambda: self._link.client.delete(key))

    def _must_not_clear(self) -> bool:
        if not self._is_opened:
            return False
        state = self._state()
        if state is not None and state.workers:
            self._reports.not_cleared(state.workers)
        return state is None or state.workers > 0

    # For the shared pace

    def lease_with_turn(self, request: Request, host: str) -> Lease | None:
        """The lease of *request*, if it holds *host*."""
        lease = self._under_way.get(request)
        if lease is None or not lease.holds or lease.host != host:
            return None
        if self.now() >= self._valid_until:
            self._renew_at = 0.0
            self._exchange()
        return lease if lease.holds else None

    def ask_turn(self, id_: bytes, asked: Ask) -> float:
        """Seconds after which to ask again; 0.0 for a request that may go."""
        wait = self._try(lambda: self._queue.ask(id_, asked.host, asked.delay))
        if wait is None:
            return max(0.0, asked.delay * getattr(self._crawl.settings, "workers", 1) - asked.since)
        return wait

    def left(self, lease: Lease, ago: float, delay: float) -> None:
        """The request of *lease* left *ago* seconds ago."""
        if lease.holds:
            lease.holds, lease.sent_by = False, None
            delay = max(delay, self._hosts.drawn_delay(lease.host))
            self.left_without_lease(lease.id, lease.host, ago, delay)

    def left_without_lease(self, id_: bytes, host: str, ago: float, delay: float) -> None:
        at = self.now() - ago
        self.tell(lambda: Report.left(id_, host, self.now() - at, delay))

    def pause(self, host: str, seconds: float) -> None:
        """Nothing is to be sent to *host* for so long."""
        end = self.now() + seconds
        self.tell(lambda: Report.pause(host, end - self.now()))

    def tell(self, report: Callable[[], Report]) -> None:
        """Soon."""
        self._untold.append(report)
        self._flush_alarm.set(self.now() + self.SOON)

    # What the server gets and gives

    def _exchange(self, most: float = 0, unknown: int = 0) -> None:
        self._collect_ended()
        untold, self._untold = self._untold, []
        now = self.now()
        renew = now >= self._renew_at
        reports = [report() for report in untold]
        told = self._try(
            lambda: self._queue.exchange(
                int(most), unknown, reports, renew=renew, reap=renew and now >= self._reap_at
            )
        )
        self._flush_alarm.cancel()
        if told is None:
            self._untold = untold + self._untold
            self._ask_at = now + self.LONGEST_WAIT
            return
        if renew:
            self._renewed(told, now)
        for each in told.taken:
            self._receive(each)
        self._ask_at = now + min(self._wait(told), self.LONGEST_WAIT)
        if told.waiting is not None:
            self._waiting, self._waiting_at = told.waiting, now
        self._alarm.set(self._ask_at)
        if self._is_unsure:
            self._make_sure()

    def _wait(self, told: Exchange) -> float:
        """Seconds until it may get more."""
        if told.waiting is None:
            return 0.0  # it got as much as it could take
        return inf if told.wait is None else told.wait

    def _renewed(self, told: Exchange, now: float) -> None:
        if told.forgotten and self._is_known:
            self._was_forgotten()
        self._is_known = True
        self._valid_until = now + self._lifetime
        self._renew_at = now if told.more else now + self._lifetime / 4

    def _was_forgotten(self) -> None:
        """Others have its requests, or the server has lost all it had. Its ids mean nothing now."""
        self._reports.was_forgotten()
        for lease in self._leases:
            lease.void()
        self._untold.clear()
        self._queue.worker = uuid4().hex
        self._is_known, self._renew_at = False, 0.0

    def _make_sure(self) -> None:
        """An answer was lost: the server may have handed out what has not arrived."""
        held = self._try(lambda: self._queue.held())
        if held is None:
            return
        self._is_unsure = False
        for id_ in held - {lease.id for lease in self._leases} - self.pace.ids:
            self.tell(partial(Report.back, id_))

    def _receive(self, taken: Taken) -> None:
        lease = Lease(taken.id, taken.host, taken.holds, self.now())
        try:
            request = self._serialization.read(taken.data)
        except Exception as error:  # noqa: BLE001 - any serializer may be in use
            self._reports.cannot_be_read(self._queue.keys.aside, error)
            self.tell(partial(Report.aside, taken.id))
            return
        self._place(request, lease)

    def _place(self, request: Request, lease: Lease, policy: Policy | None = None) -> None:
        """Where it waits: to be sent, here for its robots.txt, or at the server."""
        state = self._hosts.state(request, lease.host, policy)
        if state is None:
            self._park(request, lease)
        elif state.closed_for > 0 and lease.id:
            self.pause(lease.host, state.closed_for)
            self.tell(partial(Report.back, lease.id))
        elif state.delay and not lease.holds and lease.id:  # it has no turn
            self.tell(partial(Report.pace, lease.id, lease.host, state.delay))
            self.tell(partial(Report.back, lease.id))
        elif lease.holds and state.delay:
            self._ready.appendleft((request, lease))
        else:
            if lease.holds:
                lease.holds = False
                self.tell(partial(Report.pace, lease.id, lease.host, 0.0))
            self._ready.append((request, lease))

    def _park(self, request: Request, lease: Lease) -> None:
        origin = self._hosts.origin_to_wait_for(request)
        if origin is None:
            return
        self._parked.setdefault(origin, []).append((request, lease))
        if not self._crawl.policies.is_fetching(origin):
            self._crawl.policies.prefetch(origin, request)

    def _fetch_ended(self, origin: Origin, policy: Policy | None) -> None:
        parked = self._parked.pop(origin, None)
        if parked is None:
            return
        for request, lease in parked:
            if policy is None:
                self.tell(partial(Report.back, lease.id))
            else:
                self._place(request, lease, policy)
        self._ask_at = 0.0
        compat.wake_engine(self._crawler)

    # What the engine does

    def _collect_ended(self) -> None:
        if not self._under_way:
            return
        for request in compat.dealt_with(self._under_way, self._crawler):
            if request is not self._last:
                lease = self._under_way.pop(request)
                if lease.id:
                    self._untold.append(partial(_ended, lease))

    def _request_left(self, request: Request) -> None:
        """The downloader is done with it."""
        lease = self._under_way.get(request)
        if lease is not None and lease.holds:
            self.left(lease, self._hosts.left_ago(request), 0.0)

    def look(self) -> None:
        """Tells what has happened since the last time."""
        self._last = None
        self._handed_out = 0
        now = self.now()
        self._look_at_departures(now)
        self._give_back_stale(now)
        self._collect_ended()
        if self._untold or now >= self._renew_at:
            self._exchange()
        self.pushing.try_again(self._failed)

    def _look_at_departures(self, now: float) -> None:
        for request, lease in self._under_way.items():
            if not lease.holds:
                continue
            if lease.asked:
                if lease.sent_by is not None and now >= lease.sent_by:
                    self.left(lease, now - lease.sent_by, 0.0)
            elif (ago := self._hosts.sent_ago(request)) is not None:
                self.left(lease, ago, 0.0)

    def _give_back_stale(self, now: float) -> None:
        kept: deque[tuple[Request, Lease]] = deque()
        for request, lease in self._ready:
            if lease.id and now > lease.since + self.STALE_SECONDS:
                self.tell(partial(Report.back, lease.id))
            else:
                kept.append((request, lease))
        self._ready = kept

    def _begin(self) -> None:
        self._is_opened = True
        self._loop = create_looping_call(self.look)
        self._loop.start(self.LOOK_SECONDS, now=False)

    def _idle(self) -> None:
        """The engine has nothing to do; other workers may have, and leave it some."""
        self.look()
        state = self._state()
        if state is None or state.waiting or state.elsewhere or len(self):
            self._idle_since = None
            self._alarm.set(self.now() + self.LONGEST_WAIT)
            raise DontCloseSpider
        self._idle_since = self._idle_since or self.now()
        left = self._idle_since + self.patience - self.now()
        if left > 0:
            self._alarm.set(self.now() + min(left, self.LONGEST_WAIT))
            raise DontCloseSpider

    def _close(self) -> None:
        """The crawl has ended: others get what it has not sent."""
        if self._loop is not None and self._loop.running:
            self._loop.stop()
        self.look()
        self._alarm.cancel()
        self._flush_alarm.cancel()
        self._try(lambda: self._queue.leave())
        if len(self.pushing):
            self._reports.lost(len(self.pushing))
        self._link.close()
        _workers.pop(self._crawler, None)

    # The server

    def _try(self, call: Callable[[], _T]) -> _T | None:
        """What *call* returns; None if the server does not do it."""
        try:
            result = self._link.run(lambda _: call())
        except ServerError as error:
            self._failed(error)
            return None
        self._reports.answered()
        return result

    def _failed(self, error: ServerError) -> None:
        self._reports.failed(error)
        self._is_unsure = True
        self._reap_at = self.now() + self._lifetime

    def _state(self) -> State | None:
        state = self._try(lambda: self._queue.state())
        if state is not None:
            self._waiting, self._waiting_at = state.waiting, self.now()
        return state

    def _move(self) -> None:
        self._try(lambda: move_all(self._queue, self._hosts, self._serialization, self._reports))

    @property
    def _leases(self) -> list[Lease]:
        here = chain(self._ready, *self._parked.values())
        return [*self._under_way.values(), *(lease for _, lease in here)]

    @property
    def _capacity(self) -> float:
        downloader = compat.engine_of(self._crawler).downloader
        if isinstance(downloader, RobotsDownloader):
            return downloader.capacity
        return (downloader.total_concurrency or inf) - len(downloader.active)

    @property
    def _may_park(self) -> int:
        if not self._crawl.holds_requests:
            return self.MOST_AT_ONCE
        return max(0, self._crawl.settings.fetch_concurrency - len(self._parked))


def _ended(lease: Lease) -> Report:
    return Report.freed(lease.id, lease.host) if lease.holds else Report.ended(lease.id)
