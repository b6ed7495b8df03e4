"""Requests that are leased to a worker until the server hears of their end, and turns of hosts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, count

from scrapy import Request
from scrapy.crawler import Crawler

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.hosts.host import State
from scrapy_robots_plus.hosts.origin_states import FAILING, OPEN, OriginState, OriginStates
from scrapy_robots_plus.hosts.shared_pace import Ask
from scrapy_robots_plus.origins.fetch_budget import FetchBudget
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.protocol.origin import Origin

from .host_queue import Report
from .session import Session


@dataclass(slots=True, eq=False)
class LeasedRequest:
    """A request that is leased to this worker, or one from elsewhere that asked for a turn.

    Times are by the monotonic clock.
    """

    request: Request
    id: bytes
    """The id of the lease; empty if the server no longer counts it as this worker's."""
    host: str
    holds: bool
    """Whether no worker gets another request to the host until this one has left."""
    since: float
    """When it came, or was handed out to the engine."""
    is_first: bool = False
    """Whether the server knew nothing of the host when it handed the request out."""
    delay: float = 0.0
    """The delay in seconds of the host, as asked for with the turn."""
    sent_by: float | None = None
    """When the request counts as sent at the latest, from when its turn is taken, by this or by
    another request of the worker; once it has left, when it did."""

    def has_turn_of(self, host: str) -> bool:
        """Returns whether a request to *host* may leave with this turn, not asking the server."""
        return self.holds and bool(self.id) and self.sent_by is None and self.host == host


class LeasedRequests:
    """All requests that are leased to this worker.

    Each waits for its robots.txt, then for the engine to ask, and then is under way: it leaves, and
    the engine is done with it some time after that. No signal tells of that, so :meth:`look` and
    :meth:`collect_ended` are called several times a second.

    This is a :class:`.SharedPace`, too: the hosts of the queue are those of the pace.
    """

    STALE_SECONDS = 3.0
    """Seconds until a request that waits for the engine is given back: its host may be paused."""
    ARRIVES_SECONDS = 1.0
    """Seconds in which a request that was handed out is in its slot. If a middleware of the project
    keeps it, perhaps until another of the host is answered, others have their turn."""
    NO_ROOM_SECONDS = 1.0
    """Seconds for which a host is left alone if it has more ports than robots.txt may be fetched at
    a time."""

    def __init__(self, crawler: Crawler, session: Session) -> None:
        self._crawl = Crawl.of(crawler)
        self._session = session
        self._parked: dict[Origin, list[LeasedRequest]] = {}
        """The requests that wait for a robots.txt, by its origin."""
        self.ready: deque[LeasedRequest] = deque()
        """The requests that wait for the engine."""
        self.under_way: dict[Request, LeasedRequest] = {}
        """The requests that the engine has, with their leases."""
        self._leaving: dict[str, LeasedRequest] = {}
        """The request that may leave to each host, until it is known when it has left."""
        self._booked: dict[str, LeasedRequest] = {}
        """The turn of each host that was asked for, until it comes."""
        self._turns = count(1)

    def __iter__(self) -> Iterator[LeasedRequest]:
        waiting = self._parked.values()
        going = self._leaving.values(), self._booked.values()
        return chain(self.under_way.values(), *going, self.ready, *waiting)

    @property
    def ids(self) -> set[bytes]:
        """The ids of all leases that the server counts as this worker's."""
        return {lease.id for lease in self if lease.id}

    @property
    def waiting(self) -> int:
        """How many requests wait here, for the engine or a robots.txt."""
        return sum(map(len, (self.ready, *self._parked.values())))

    def room_for_new_hosts(self, most: int) -> int:
        """Returns how many requests may be taken to hosts whose robots.txt has to be fetched first.

        At most *most*; just that if this crawl waits for no robots.txt.
        """
        if not self._crawl.holds_requests:
            return most
        return max(0, min(most, self._crawl.get(FetchBudget).most - len(self._parked)))

    def void(self, ids: set[bytes]) -> list[Request]:
        """Voids the leases *ids*, which the server no longer counts as this worker's.

        Requests under way go on, and are still reported when they leave. Those that wait here are
        dropped, and returned.
        """
        for lease in self:
            if lease.id in ids:
                lease.id = b""
        return self._drop_void()

    def _drop_void(self) -> list[Request]:
        dropped: list[Request] = []
        for waiting in (self.ready, *self._parked.values()):
            dropped += [lease.request for lease in waiting if not lease.id]
            kept = [lease for lease in waiting if lease.id]
            waiting.clear()
            waiting.extend(kept)
        return dropped

    # Waiting here

    def add(self, lease: LeasedRequest, policy: Policy | None = None) -> None:
        """Lets the request of *lease* wait here, or gives it back to the server.

        *policy*: the policy of its origin, if it has just arrived.
        """
        crawl = self._crawl
        origin = crawl.origin_to_wait_for(lease.request) if crawl.holds_requests else None
        state = self._state(origin, lease.host, policy)
        pause = state.until - self._session.now()
        if origin is not None and state.state is State.POLICY:
            if origin not in self._parked and not self.room_for_new_hosts(1):
                pause = self.NO_ROOM_SECONDS  # a host may have thousands of ports
            else:
                self._parked.setdefault(origin, []).append(lease)
                crawl.get(Policies).prefetch(origin, lease.request)
                return
        if pause > 0:
            self.leave_alone(lease.host, pause)
            self._give_back(lease)
        elif state.delay and (lease.is_first or not lease.holds):
            # The server may have forgotten what others sent there, or the request has no turn.
            self._tell_pace(lease, state.delay)
            self._give_back(lease)
        elif state.delay:
            lease.delay = state.delay
            self.ready.appendleft(lease)
        else:
            if lease.holds:
                lease.holds = False
                self._tell_pace(lease, 0.0)
            self.ready.append(lease)

    def _state(self, origin: Origin | None, host: str, policy: Policy | None) -> OriginState:
        """Returns what a request to *host* waits for, with the longer of the delays of robots.txt
        and the user; what will fail needs none.

        *origin*: whose robots.txt must be known before, if any.
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
        downloader = self._crawl.crawler.engine.downloader
        slot = compat.Slots(downloader).get(host)
        return slot.delay if slot else compat.new_slot(downloader, host)[1]

    def fetch_ended(self, origin: Origin, policy: Policy | None) -> bool:
        """Handles the end of a robots.txt fetch; returns whether any request waited for it."""
        parked = self._parked.pop(origin, ())
        for lease in parked:
            if policy is None:
                self._give_back(lease)
            else:
                self.add(lease, policy)
        return bool(parked)

    def clear(self) -> None:
        """Drops all requests that wait here."""
        self.ready.clear()
        self._parked.clear()

    def _give_back(self, lease: LeasedRequest) -> None:
        self._session.tell(Report("back", lease.id))
        lease.id = b""

    def _tell_pace(self, lease: LeasedRequest, delay: float) -> None:
        self._session.tell(Report("pace", lease.id, lease.host, seconds=delay))

    # Under way

    def hand_out(self) -> Request:
        """Hands the next request out to the engine."""
        lease = self.ready.popleft()
        lease.since = self._session.now()
        self.under_way[lease.request] = lease
        return lease.request

    def _note_left(self, lease: LeasedRequest, ago: float) -> None:
        """Notes and reports that the request of *lease* left *ago* seconds ago."""
        if lease.holds or (lease.delay and lease.sent_by is None):
            lease.holds, lease.sent_by = False, self._session.now() - ago
            lease.delay = max(lease.delay, self.own_delay(lease.host))
            self._tell_left(lease, ago)

    def _tell_left(self, lease: LeasedRequest, ago: float) -> None:
        self._session.tell(Report("left", lease.id, lease.host, ago, lease.delay))

    def tell_departures_again(self) -> None:
        """Reports departures again: the server may not remember them, or which hosts are free."""
        now = self._session.now()
        for lease in self.under_way.values():
            if lease.sent_by is not None and not lease.holds:
                self._tell_left(lease, now - lease.sent_by)

    def handed_over(self, request: Request) -> None:
        """Notes that *request* leaves now, as a download handler gets it."""
        lease = self.under_way.get(request)
        if lease is not None and lease.sent_by is None:
            self._note_left(lease, 0.0)

    def left_downloader(self, request: Request) -> None:
        """Handles ``request_left_downloader``: *request* has left, now at the latest."""
        lease = self.under_way.get(request)
        if lease is not None:
            self._note_left(lease, 0.0)

    def look(self) -> None:
        """Reports departures that nothing else reports, and gives back what has waited too long."""
        now = self._session.now()
        for lease in chain(self.under_way.values(), self._leaving.values()):
            if lease.holds and lease.sent_by is not None and now >= lease.sent_by:
                self._note_left(lease, now - lease.sent_by)
            elif lease.holds and self._is_kept(lease, now):
                lease.holds = False
                self._tell_left(lease, 0.0)  # as if: when it does leave, that is told, too
        for lease in self.ready:
            if lease.since < now - self.STALE_SECONDS:  # another worker may be faster
                self._give_back(lease)
        self._drop_void()

    def _is_kept(self, lease: LeasedRequest, now: float) -> bool:
        """Returns whether a middleware keeps the request of *lease* from its slot."""
        if lease.sent_by is not None or now < lease.since + self.ARRIVES_SECONDS:
            return False
        return not compat.Slots(self._crawl.crawler.engine.downloader).has_arrived(lease.request)

    def collect_ended(self) -> None:
        """Reports which requests the engine has dealt with, unless another one has their turn now:
        what becomes of that tells.
        """
        for request in compat.finished(self.under_way, self._crawl.crawler):
            lease = self.under_way.pop(request)
            if lease.id and self._leaving.get(lease.host) is not lease:
                what = "freed" if lease.holds else "ended"
                self._session.tell(Report(what, lease.id, lease.host), soon=lease.holds)

    # The pace of hosts, see SharedPace

    def ask(self, asked: Ask, answer: Callable[[float], None]) -> None:
        turn, wait = self._turn_here(asked), 0.0
        if turn is None:
            turn, wait = self._turn_of_server(asked)
        elif self._session.is_unsure:  # the server may come back without knowing of this turn
            turn, wait = None, self._wait_without_answer(asked)
        if turn is not None:
            turn.delay, turn.sent_by = asked.delay, self._session.now() + asked.patience
            self._leaving[asked.host] = turn
        if not wait:
            self._booked.pop(asked.host, None)
        answer(wait)

    def left(self, host: str, ago: float, delay: float) -> None:
        if host not in self._leaving:
            self._session.tell(Report("left", host=host, ago=ago, seconds=delay))
        elif ago >= 0:  # else it may still be under way
            lease = self._leaving.pop(host)
            lease.delay = delay
            self._note_left(lease, ago)
            if not self._is_of_queue(lease):
                self._session.tell(Report("ended", lease.id))

    def unused(self, host: str, ago: float, delay: float) -> None:  # noqa: ARG002
        lease = self._booked.pop(host, None) or self._leaving.pop(host, None)
        if lease is not None and self._is_of_queue(lease):
            lease.sent_by = None
        elif lease is not None:
            self._session.tell(Report("freed", lease.id, host))

    def leave_alone(self, host: str, seconds: float) -> None:
        self._session.tell(Report("pause", host=host, seconds=seconds))

    def close(self) -> None:
        """Does nothing: the worker leaves the queue by itself."""

    def _is_of_queue(self, lease: LeasedRequest) -> bool:
        """Returns whether *lease* ends with its request from the queue, not with its turn."""
        return self.under_way.get(lease.request) is lease

    def _wait_without_answer(self, asked: Ask) -> float:
        """Returns how many seconds to wait while the server does not answer.

        As long as it counts the worker as alive, another may have the turn: it is asked again.
        """
        if self._session.is_alive:
            return self._session.LATER
        return asked.wait_alone(self._crawl.settings.workers)

    def _turn_here(self, asked: Ask) -> LeasedRequest | None:
        """Returns the turn of the host, if a request from the queue that is under way has it.

        If that is another request, it may wait behind the asking one in the same slot, so that each
        would wait for the other. So it passes on its turn, and later asks for a new one.
        """
        own = self.under_way.get(asked.request)
        leases = chain(() if own is None else (own,), self.under_way.values())
        turn = next((lease for lease in leases if lease.has_turn_of(asked.host)), None)
        if turn is not None and (self._session.is_unsure or not self._session.is_alive):
            self._session.renew()
        return turn if turn is not None and turn.id else None

    def _turn_of_server(self, asked: Ask) -> tuple[LeasedRequest | None, float]:
        """Returns the turn that the server gives, or None and how many seconds to wait."""
        host, session = asked.host, self._session
        turn = self._booked.get(host)
        if turn is None or not turn.id:
            # Another id than before: the server may not know that the last turn has ended.
            id_ = b"turn:%d" % next(self._turns)
            turn = LeasedRequest(asked.request, id_, host, holds=True, since=session.now())
            self._booked[host] = turn
        wait = session.attempt(session.queue.ask, turn.id, host, asked.delay)
        if wait is None:
            return None, self._wait_without_answer(asked)
        if wait < 0:
            session.renew()
            return None, session.SOON
        return None if wait else turn, wait
