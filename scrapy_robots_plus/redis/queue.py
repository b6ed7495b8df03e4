"""The queue class for scrapy-redis."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from math import inf
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.exceptions import DontCloseSpider
from scrapy_redis.queue import Base

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.crawl import Crawl, guarded
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.hosts.door import Door
from scrapy_robots_plus.hosts.downloader import RobotsDownloader
from scrapy_robots_plus.hosts.origin_states import OriginStates
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import counted, printable

from .host_queue import QueueState, Report, Taken
from .leased_requests import LeasedRequest, LeasedRequests
from .pushing import Pushing, Serialization
from .session import Session, terms

logger = crawl_log(__name__)


class RobotsQueue(Base):  # type: ignore[misc] # it has no types
    """The ``SCHEDULER_QUEUE_CLASS`` for scrapy-redis: many workers ask a host as one crawler does.

    The requests of each host wait in a queue of their own. A host is handed out when it is due by
    the clock of the server, so that all workers together keep to Crawl-delay, Request-rate,
    Visit-time, Retry-After and the delays of the project. A request that was handed out is leased:
    if its worker is not heard of for ``ROBOTS_WORKER_LIFETIME`` seconds, another gets it.

    Requests are serialized with ``SCHEDULER_SERIALIZER``. Raises TypeError, like the queues of
    scrapy-redis, if that lacks ``loads`` or ``dumps``.
    """

    LOOK_SECONDS = 0.2
    """Seconds between two looks at what has become of requests."""
    LONGEST_WAIT = 0.5
    """Seconds after which the server is asked again, whatever it answered: other workers push."""
    REFILL_SECONDS = 0.1
    """For how many seconds the requests at hand should last; they are refilled as often."""
    MOST_AHEAD = 16
    """The most requests that are taken before the engine asks for them."""
    MOST_AT_ONCE = 100
    """The most requests that one exchange asks for, besides those of :attr:`MOST_AHEAD`."""
    TELLS_AFTER = 60.0
    """Seconds without anything to do until the log says so, and again each time that this has
    lasted twice as long."""
    READS_EVERY = 1.0
    """Seconds between two attempts to read start URLs."""

    def __init__(self, server: Any, spider: Spider, key: str, serializer: Any = None) -> None:
        """Takes *server*, the connection of scrapy-redis, from which this one is made, and *key*,
        where requests are: those in a queue of scrapy-redis itself at this key are taken over.
        """
        super().__init__(server, spider, key, serializer)
        self.crawler = crawler = spider.crawler
        self._stranded: list[Request] = []
        """Requests that an error of this package has kept out of the queue."""
        self._crawl = crawl = Crawl.of(crawler)
        self._now = crawl.clock.monotonic
        self._log = logger(crawler)
        self._session = session = Session(crawler, server, self.key)
        session.on_flush = self._exchange
        self._leases = LeasedRequests(crawler, session)
        self._serialization = Serialization(spider, self.serializer)
        self.pushing = Pushing(crawler, session, self._serialization)
        self.pushing.on_given = self._was_given
        self._read_at = 0.0
        self._busy_at, self._tell_after = self._now(), self.TELLS_AFTER
        self._alarm = session.alarm(partial(compat.wake_engine, crawler))
        self._ask_at = self._asked_at = 0.0
        self._handed_out = 0
        """How many requests were handed out since the server was last asked for more."""
        self._there, self._there_at = 0, -inf
        """How many requests wait at the server, as far as is known, and when it last said so."""
        self._patience = 0.0
        """Seconds to wait for new requests before the crawl ends: SCHEDULER_IDLE_BEFORE_CLOSE."""
        self._idle_since = inf
        self._stop_looking: Callable[[], None] | None = None
        """Ends the regular calls of :meth:`_look`; None until the crawl has begun."""
        self._has_left = False
        crawl.queue = self
        if crawl.holds_requests:
            crawl.get(Policies).listeners.append(self._fetch_ended)
            if crawl.settings.shared_pace == "process":  # the default
                crawl.get(Door).shared_pace = self._leases
        connect = crawler.signals.connect
        connect(self._begin, signals.spider_opened)
        connect(self._leases.left_downloader, signals.request_left_downloader)
        connect(self._idle, signals.spider_idle)
        connect(self._close, signals.spider_closed)
        session.begin(terms(crawler, crawl))
        if crawl.holds_requests and not crawl.settings.store:
            self._log.warning(
                "Each worker fetches robots.txt files for itself: REDIS_PARAMS names a server in a "
                "way that ROBOTS_STORE has no URL for. Set ROBOTS_STORE to the URL of a Redis "
                "server, or to 'memory'",
            )
        moved = session.attempt(session.queue.move_all, self.pushing.stored)
        if moved:
            crawler.stats.inc_value(stats.SHARED_QUEUE_MOVED, moved)
            self._log.info("%s moved from the queue %s", counted(moved, "request"), self.key)

    # For scrapy-redis

    def push(self, request: Request) -> None:
        """Adds *request*, which is kept in memory while the server is away."""
        try:
            self.pushing.push(request)
        except Exception as error:  # noqa: BLE001 - it would be lost
            self._crawl.errors.tell("the shared queue", error)
            # It is pushed once more at the end. What is not taken then is counted as lost.
            (self.pushing.unwritable if self._has_left else self._stranded).append(request)

    @guarded("the shared queue")
    def pop(self, timeout: float = 0) -> Request | None:
        """Returns a request that may be sent now; None if there is none, or the server is away.

        Never waits: the engine is woken when there may be one. A worker that has had nothing to do
        for *timeout* seconds may be closed.
        """
        self._patience = timeout
        ask_at = self._asked_at + self.REFILL_SECONDS if self._leases.ready else self._ask_at
        if self._now() >= ask_at:
            self._ask_for_more()
        if self._leases.ready:
            self._idle_since = inf
            self._handed_out += 1
            return self._leases.hand_out()
        self._alarm.set(self._ask_at)
        if self.pushing.unwritable:
            return self.pushing.unwritable.popleft()
        if self._there:
            self._read_start_urls()
        return None

    def _read_start_urls(self) -> None:
        """Lets a spider of scrapy-redis read its start URLs soon. By itself, it does so only when
        it is idle, which it is not while any host has requests.
        """
        now = self._now()
        read = getattr(self.spider, "schedule_next_requests", None)
        if now >= self._read_at and callable(read):
            self._read_at = now + self.READS_EVERY
            self._crawl.clock.call_later(0, partial(self._read, read))

    def _read(self, read: Callable[[], object]) -> None:
        from redis.exceptions import RedisError

        if compat.is_closing(self.crawler):
            return
        try:
            read()
        except (RedisError, OSError) as error:  # the session logs that the server is away
            self._log.debug("No start URLs can be read now: %r", error)
        except Exception as error:  # noqa: BLE001 - of the spider
            self._log.exception(
                "Start URLs read from Redis are lost, the whole batch: %s", printable(repr(error))
            )

    @guarded("the shared queue", otherwise=1)
    def __len__(self) -> int:
        """Returns how many requests wait, here and at the server; at least 1 while that is away."""
        is_outdated = self._now() > self._there_at + self.LONGEST_WAIT
        is_away = is_outdated and self._state() is None
        return max(1, self._waiting) if is_away else self._waiting

    @property
    def _waiting(self) -> int:
        return max(0, self._there) + self._leases.waiting + len(self.pushing)

    def clear(self) -> None:
        """Removes all requests; at the end of the crawl, only if no other worker is alive."""
        if self._stop_looking is None and (state := self._state()) and state.workers:
            self._log.warning(
                "SCHEDULER_FLUSH_ON_START removes the requests that this worker shares with %s: "
                "set it for the first worker only",
                counted(state.workers, "other worker"),
            )
        if self._may_clear():
            self._leases.clear()
            self._there = 0
            self.pushing.clear()
            self._session.attempt(self._session.queue.clear)

    def clear_seen(self, key: str) -> None:
        """Removes the fingerprints at *key*; at the end, only if no other worker is alive."""
        if self._may_clear():
            self._session.attempt(self._session.client.unlink, key)  # does not block

    def _may_clear(self) -> bool:
        """Returns True at the start, and later if the server answers and no other worker is alive.

        A worker that ends leaves before it asks, so that of several that end at once, one is last.
        """
        if self._stop_looking is None:  # at the start: SCHEDULER_FLUSH_ON_START
            return True
        if compat.is_closing(self.crawler):
            self._leave()
        state = self._state()
        return state is not None and not state.workers

    # For the middleware

    def takes_back(self, request: Request, origin: Origin) -> bool:
        """Returns whether *request* may go back to the queue, see :class:`.TakesBack`."""
        is_held = self._crawl.holds_requests and request in self._leases.under_way
        return is_held and self._crawl.get(OriginStates).defers(origin)

    def _fetch_ended(self, origin: Origin, policy: Policy | None) -> None:
        if self._leases.fetch_ended(origin, policy):
            self._ask_at = 0.0
            compat.wake_engine(self.crawler)

    # Exchanges with the server

    def _ask_for_more(self) -> None:
        downloader = self.crawler.engine.downloader
        if isinstance(downloader, RobotsDownloader):
            capacity = downloader.capacity
        else:
            capacity = (max(downloader.total_concurrency, 0) or inf) - len(downloader.active)
        now = self._now()
        passed = max(now - self._asked_at, self.REFILL_SECONDS)
        ahead = min(int(self._handed_out * self.REFILL_SECONDS / passed), self.MOST_AHEAD)
        self._asked_at, self._handed_out = now, 0
        room = int(min(capacity, self.MOST_AT_ONCE)) + ahead - len(self._leases.ready)
        self._exchange(max(1, room), self._leases.room_for_new_hosts(self.MOST_AT_ONCE))

    def _exchange(self, most: int = 0, unknown: int = 0) -> None:
        """Gives the server what pages have yielded, then calls :meth:`.Session.exchange`."""
        leases = self._leases
        self._hand_in()
        told = self._session.exchange(most, unknown)
        if told is None:
            self._ask_at = self._now() + self.LONGEST_WAIT
        else:
            if told.forgotten:
                leases.void(leases.ids)  # others have them
            if told.lost:
                leases.tell_departures_again()
                self.pushing.push_again()
            for each in told.taken:
                self._receive(each)
            now = self._now()
            ask_at = now + min(told.wait, self.LONGEST_WAIT)
            self._ask_at = ask_at if most else min(self._ask_at, ask_at)
            if told.waiting is not None:
                self._there, self._there_at = told.waiting, now
            if void := self._session.compare(lambda: leases.ids):
                for request in leases.void(void):
                    self.pushing.push(request)
            since = (lease.since for lease in leases.under_way.values())
            self.pushing.done_with_pages_until(min(since, default=self._now()))
        self._alarm.set(self._ask_at)

    def _hand_in(self, **limit: float) -> None:
        """Gives the server what pages have yielded; then reports those that have ended, if it has
        all of it: no kill loses any. *limit*: see :meth:`.Pushing.give`.
        """
        self.pushing.give(**limit)
        if not self.pushing.holds_pages:
            self._leases.collect_ended()

    def _receive(self, taken: Taken) -> None:
        try:
            request = self._serialization.read(taken.data)
        except Exception as error:  # noqa: BLE001 - any serializer may be in use
            self.crawler.stats.inc_value(stats.QUEUE_SET_ASIDE)
            self._log.error(
                "A request in the queue cannot be read by this spider (%s) and is set aside in %s",
                printable(repr(error)),
                self._session.queue.key("aside"),
            )
            if self._session.attempt(self._session.queue.set_aside, taken.data):
                self._session.tell(Report("freed", taken.id, taken.host))
            return
        now, is_first = self._now(), taken.delay is None
        self._leases.add(LeasedRequest(request, taken.id, taken.host, taken.holds, now, is_first))

    def _was_given(self, due: bool) -> None:
        """Counts a request that the server has got; asks for requests soon if it may be *due*."""
        self._there += 1
        if due:
            self._ask_at = 0.0
            self._alarm.set(self._now())

    def _state(self) -> QueueState | None:
        """Returns :meth:`.Session.state`; notes how many requests wait."""
        state = self._session.state()
        if state is not None:
            self._there, self._there_at = state.waiting, self._now()
        return state

    # What the engine does

    def _begin(self) -> None:
        if self._session.is_refused:
            compat.close_crawl(self.crawler, "shared_queue_failed")
        compat.wake_after_pauses(self.crawler)
        compat.watch_handovers(self.crawler, self._leases.handed_over)
        self._stop_looking = self._crawl.errors.repeat(self.LOOK_SECONDS, self._look)

    def _look(self, *, at_once: bool = False) -> None:
        """Looks at what has happened since the last look; reports it soon, or *at_once*."""
        self._leases.look()
        if at_once or self._session.has_to_renew:
            self._exchange()
        else:
            self._hand_in()
        self._tell_if_idle()

    def _tell_if_idle(self) -> None:
        """Logs if the worker has long had nothing to do, as all requests wait for slow hosts."""
        now = self._now()
        # If the server is away, the log says that instead.
        if self._leases.under_way or self._session.is_unsure or not self._waiting:
            self._busy_at, self._tell_after = now, self.TELLS_AFTER
        elif now - self._busy_at >= self._tell_after:
            self._tell_after *= 2
            self._log.info(
                "This worker has had nothing to do for %d s: the hosts of all requests that wait "
                "(%d) are not due yet or wait for their robots.txt, or other workers have a "
                "request to them under way",
                now - self._busy_at,
                self._waiting,
            )

    def _idle(self) -> None:
        """Handles ``spider_idle``: stays open while this or another worker has requests."""
        self._look(at_once=True)
        state, now = self._state(), self._now()
        if self._crawl.is_closing:  # already, for another reason
            raise DontCloseSpider
        is_unsure = self._session.is_unsure
        if state is None or is_unsure or state.waiting or state.elsewhere or len(self):
            self._idle_since, left = inf, self.LONGEST_WAIT
        else:
            self._idle_since = min(self._idle_since, now)
            left = self._idle_since + self._patience - now
        if left > 0:
            self._alarm.set(now + min(left, self.LONGEST_WAIT))
            raise DontCloseSpider

    def _close(self) -> None:
        """Handles ``spider_closed``: leaves the queue, and logs what is lost."""
        try:
            self._leave()
        finally:
            self._session.close()
            self.pushing.tell_lost()

    def _leave(self) -> None:
        """Gives back the requests that this worker has not sent. Does nothing the second time."""
        if self._has_left:
            return
        self._has_left = True
        if self._stop_looking is not None:
            self._stop_looking()
        with ExitStack() as last:  # an error in one step leaves out no other
            last.callback(self._session.leave)
            last.callback(self._alarm.cancel)
            last.callback(self._hand_in, seconds=inf)
            last.callback(self._push_stranded)
            self._look(at_once=True)

    def _push_stranded(self) -> None:
        while self._stranded:
            self.push(self._stranded.pop())
