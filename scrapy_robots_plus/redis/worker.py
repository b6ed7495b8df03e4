"""A worker: it takes requests from the shared queue for its engine, and adds new ones."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl, guarded
from scrapy_robots_plus.hosts.door import Door
from scrapy_robots_plus.origins.policies import Policies

from .feeding import Feeding
from .host_states import HostStates
from .leases import Lease, Leases, QueuePace
from .pushing import Pushing, Serialization
from .queue_log import QueueLog
from .session import Session, terms
from .standstill import Standstill
from .taking import Taking

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler
    from twisted.internet.task import LoopingCall

    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.origin import Origin


_workers: WeakKeyDictionary[Crawler, Worker] = WeakKeyDictionary()


class Worker:
    """One per crawler.

    A request that it takes stays leased to it until the engine has dealt with it, see
    :func:`~scrapy_robots_plus.compat.dealt_with`.
    """

    LOOK_SECONDS = 0.2
    """Between two looks at what has become of requests."""

    def __init__(self, crawler: Crawler, client: Any, key: str, serializer: Any) -> None:
        self.crawler = self._crawler = crawler
        self.stranded: list[Request] = []
        """Requests that an error of this package has kept out of the queue."""
        self._crawl = crawl = Crawl.of(crawler)
        self._now = crawl.clock.monotonic
        self._log = QueueLog(crawler)
        self._hosts = HostStates(crawler)
        lifetime = crawl.settings.worker_lifetime
        self._session = session = Session(
            client,
            key,
            lifetime,
            crawl.clock,
            self._log,
            ids=self._ids,
            void=self._void,
            tell_again=self._tell_again,
        )
        self._leases = Leases(crawler, session, self._hosts)
        self._pace = QueuePace(session, self._leases, crawl.settings.workers)
        serialization = Serialization(compat.spider_of(crawler), serializer)
        log, hosts = self._log, self._hosts
        self.pushing = Pushing(session, hosts, serialization, log, crawl.clock)
        self._taking = Taking(
            crawler, session, hosts, self._leases, self.pushing, serialization, log
        )
        session.on_flush = self._taking.exchange
        self._feeding = Feeding(crawler, crawl.clock)
        self._standstill = Standstill(session, self._log, self._now)
        self._pushed: Request | None = None
        self._seen_key = ""
        self.patience = 0.0
        """Seconds to wait for new requests before the crawl ends: SCHEDULER_IDLE_BEFORE_CLOSE."""
        self._idle_since: float | None = None
        self._loop: AsyncioLoopingCall | LoopingCall | None = None
        self._has_left = False
        self._connect()
        _workers[crawler] = self
        session.begin(terms(crawler, crawl))
        if crawl.holds_requests and not crawl.settings.store:
            self._log.files_are_not_shared()
        moved = session.attempt(partial(session.queue.move_all, self.pushing.stored))
        if moved:
            self._log.moved(moved, key)

    def _connect(self) -> None:
        if self._crawl.holds_requests:
            self._crawl.get(Policies).subscribe(self._fetch_ended)
            if self._crawl.settings.shared_pace == "process":  # not chosen otherwise
                self._crawl.get(Door).share(self._pace)
            self._crawl.readiness = self
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
        """Whether *request* is new, see :meth:`.Pushing.push`."""
        return self.pushing.push(request, fingerprint)

    def use_seen(self, key: str) -> None:
        """*key*: the set of fingerprints of what was seen."""
        self._seen_key = key
        if not self._session.is_cluster:
            self.pushing.seen_key = key

    def push_new(self, request: Request, fingerprint: str) -> bool:
        """Like :meth:`push`, before the queue is asked to."""
        if self._session.is_cluster:
            return self._session.is_new(self._seen_key, fingerprint)
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
        request = self._taking.next()
        if request is not None:
            self._idle_since = None
            return request
        if self.pushing.unwritable:
            return self.pushing.unwritable.popleft()
        self._feeding.look(is_idle=not self._taking.any_waits_there)
        return None

    def __len__(self) -> int:
        if self._taking.is_outdated and self._taking.state() is None:
            return max(1, self._taking.here + len(self.pushing))
        return len(self._taking) + len(self.pushing)

    def clear(self) -> None:
        """Removes all requests. A worker that ends leaves them to others that are alive."""
        if self._loop is None and (state := self._taking.state()) and state.workers:
            self._log.cleared_under(state.workers)
        others = self._others_at_the_end()
        if others:
            self._log.not_cleared(others)
        elif others == 0:
            self._taking.clear()
            self.pushing.clear()
            self._session.attempt(self._session.queue.clear)

    def clear_seen(self, key: str) -> None:
        """Removes the fingerprints, likewise."""
        if self._others_at_the_end() == 0:
            self._session.delete(key)

    def _others_at_the_end(self) -> int | None:
        """How many other workers are alive; None if the server is away.

        A worker that ends leaves before it asks: of several that end at once, one is the last.
        """
        if self._loop is None:
            return 0  # at the start: SCHEDULER_FLUSH_ON_START
        if compat.is_closing(self._crawler):
            self._leave()
        state = self._taking.state()
        return None if state is None else state.workers

    # For the middleware

    def takes_back(self, request: Request, origin: Origin) -> bool:
        """See :class:`.TakesBack`."""
        return request in self._leases and self._hosts.defers(origin)

    def _fetch_ended(self, origin: Origin, policy: Policy | None) -> None:
        if self._taking.fetch_ended(origin, policy):
            compat.wake_engine(self._crawler)

    def _tell_again(self) -> None:
        self._leases.tell_departures_again()
        self.pushing.push_again()

    def _void(self, ids: set[bytes]) -> None:
        for lease in self._all_leases:
            if lease.id in ids:
                lease.void()

    def _ids(self) -> set[bytes]:
        return {lease.id for lease in self._all_leases if lease.id} | self._pace.ids

    @property
    def _all_leases(self) -> Iterable[Lease]:
        return chain(self._leases, self._taking.leases())

    # What the engine does

    def _begin(self) -> None:
        if self._session.is_refused:
            compat.close_crawl(self._crawler, "shared_queue_failed")
        self._loop = create_looping_call(self._look)
        self._loop.start(self.LOOK_SECONDS, now=False)

    def _look(self, *, at_once: bool = False) -> None:
        """Tells what has happened since the last time, if it is time or *at_once*."""
        self._leases.is_asked_again()
        self._leases.look_at_departures()
        self._taking.look()
        self._leases.collect_ended()
        if at_once or self._session.has_news:
            self._taking.exchange()
        self.pushing.give()
        oldest = min((lease.since for lease in self._leases), default=self._now())
        self.pushing.done_with_pages_until(oldest)
        self._standstill.look(
            has_work=any(True for _ in self._leases),
            waiting=len(self._taking) + len(self.pushing),
            parked=self._taking.parked,
        )

    def _idle(self) -> None:
        """The engine has nothing to do; other workers may have, and leave it some."""
        self._look(at_once=True)
        state = self._taking.state()
        session = self._session
        if state is None or state.waiting or state.elsewhere or session.is_unsure or len(self):
            self._idle_since = None
            self._stay_open(Taking.LONGEST_WAIT)
        if self._idle_since is None:
            self._idle_since = self._now()
        left = self._idle_since + self.patience - self._now()
        if left > 0:
            self._stay_open(min(left, Taking.LONGEST_WAIT))

    def _stay_open(self, seconds: float) -> None:
        self._taking.wake_in(seconds)
        raise DontCloseSpider

    def _close(self) -> None:
        """The crawl has ended."""
        self._leave()
        self._session.close()
        if len(self.pushing):
            self._log.lost(len(self.pushing))
        _workers.pop(self._crawler, None)

    def _leave(self) -> None:
        """Others get what it has not sent."""
        if self._has_left:
            return
        self._has_left = True
        if self._loop is not None and self._loop.running:
            self._loop.stop()
        self._look(at_once=True)
        while self.stranded:
            self._push_stranded(self.stranded.pop())
        self.pushing.close()
        self._taking.close()
        self._session.leave()

    @guarded("the shared queue")
    def _push_stranded(self, request: Request) -> None:
        self.pushing.push(request, "")
