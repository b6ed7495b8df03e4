"""All hosts with requests: which may be asked now, and which event brings back the others.

A lane waits for its robots.txt if that is unknown (``POLICY``), for a moment if robots.txt holds it
back (``HELD``), and for its turn to fail if its requests will (``REFUSED``). All other lanes are in
their host. A host with lanes is in exactly one of four states, and an event ends each:

- ``READY``: in a heap, by priority and order, until its turn comes, when it is looked at;
- ``LATER``: in a heap of moments, with one timer for the first of them;
- ``FULL``: until one of its requests is answered, or it turns out that its slot has room. If no
  host is ready, one more of its requests is handed out and waits in the slot, which sends it even
  while a callback blocks the loop;
- ``AT_DOOR``: until its request that stands at the door leaves; the door tells.

Goals: a request costs O(log hosts), even if thousands of lanes wait for one host, or for the slot
of a proxy. No host is looked at in vain, and none sleeps too long.

Hazards:

- The host that a lane belongs to may change, when the host of its origin gets or loses a pace. A
  host whose next lane belongs to another one counts as due, and the lane moves at its turn.
- A policy may expire, and visiting hours may end, while a lane is in its host: so the policy is
  asked for once more when it is the lane's turn.
- The door does not know about a request on its way there (``not_before``), and never hears of one
  that is refused on its way: that request delays nothing.
- A request that was handed out takes no place in its slot while a middleware of the project keeps
  it, perhaps until a later request has been answered, nor if the middleware sends it to another
  slot, nor while a middleware keeps its answer. So a host is full by the number of its requests
  without an answer, and only until they should have arrived.
- A middleware may await something for each request. So a host with a delay hands out its next
  request early by the time that the last ones took to their slots (``lead``). If the middleware
  then answers requests itself, they delay nothing: one after the other would be slow in vain.
- A job has two queues, and Scrapy asks the one in memory first. Whatever becomes ready for the
  queue that is not being asked must wake the engine.
- No entry is removed from a heap when its item moves on: the item gets another ticket.
"""

from __future__ import annotations

from itertools import count
from math import inf

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_robots_plus import compat
from scrapy_robots_plus.compat import SLOT_META_KEY
from scrapy_robots_plus.crawl.clock import Alarm
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.requests import chosen_slot
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.protocol.origin import Origin

from .discovery import Discovery
from .door import Door
from .host import Host, Lane, LaneQueue, State, TicketHeap
from .known import Known
from .origin_states import FAILING, OriginState

READY, LATER, FULL, AT_DOOR, IDLE, POLICY, HELD, REFUSED, EMPTY = State
"""The states by short names: each request needs several, and members of an Enum take ten times as
long to find."""


def hosts_of(crawler: Crawler) -> Hosts:
    """Returns the hosts of the crawl; all its queues share one object."""
    hosts = hosts_in_use(crawler)
    if hosts is None:
        crawl = Crawl.of(crawler)
        hosts = crawl.queue = Hosts(Known(crawl))
        crawler.signals.connect(hosts.alarm.cancel, signals.spider_closed)
        compat.wake_after_pauses(crawler)
        crawl.answer_listeners.append(hosts.answered)
        crawl.end_listeners.append(hosts.came_back)
        if crawl.holds_requests:
            crawl.get(Door).changed = hosts.changed
            crawl.get(Policies).listeners.append(hosts.fetch_ended)
    return hosts


def hosts_in_use(crawler: Crawler) -> Hosts | None:
    """Returns the hosts of the crawl; None if it has no queue that asks them."""
    hosts = Crawl.of(crawler).queue
    return hosts if isinstance(hosts, Hosts) else None


_NOT_OUT: tuple[Host | None, str, float] = (None, "", 0.0)


class Hosts:
    """The hosts with requests in any of the queues of a crawl, each in exactly one place, and the
    timer for the next that will be due."""

    REFUSALS_EVERY = 32
    """The number of turns of which one is for a request that will fail, while others are ready."""
    ARRIVES_SECONDS = 0.02
    """Seconds in which a request that was handed out is in its slot, unless a middleware of the
    project keeps it or sends it to another slot. It takes two turns of the loop."""
    LEAD_FOLLOWS = 0.3
    """The share by which a host's lead moves to what its last request needed. One that is handed
    out too early takes a place in the downloader while it waits in its slot."""
    LOOKS_AGAIN_SECONDS = 1.0
    """Seconds until a host whose slot is full is looked at again: those who leave the slot may be
    none of its requests."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self._clock = known.clock
        self._numbers = count(1)
        self.ready = 0
        """How many hosts may be chosen, as far as known without looking at them."""
        self.lanes = 0
        """How many lanes hold requests."""
        self.asked: LaneQueue | None = None
        """The queue that the engine is asking now, for which it needs no wake-up; else None."""
        self.queues: list[LaneQueue] = []
        """The queues in the order in which they are asked."""
        self.discovery = Discovery(known, self._numbers)
        self.alarm = Alarm(self._ring, known.clock, known.call_later)
        self._hosts: dict[str, Host] = {}
        self._ready = TicketHeap()
        self._later = TicketHeap()
        self._refused = TicketHeap()
        self._full = TicketHeap()
        """The full hosts of which one more request may wait in their slots."""
        self._turns = 0
        self._awaiting: dict[Origin, Lane] = {}
        self._also_awaiting: dict[Origin, list[Lane]] = {}
        """The second and further lanes that await one policy: most origins have one lane. Those
        that are held back are among them: a new policy may let them go."""
        self._out: dict[Request, tuple[Host | None, str, float]] = {}
        """The requests handed out, with the host of each, None if it is answered, the slot that was
        foreseen for it, and the moment at which it was let go; 0 once it is in a slot, if its host
        has a delay."""
        self._last: Request | None = None
        """The last request handed out, until it is known whether it arrived."""

    # What the queues tell

    def enter(self, lane: Lane) -> None:
        """Places *lane*: it is new, or the job's file has just returned it to memory."""
        self.lanes += 1
        lane.order = next(self._numbers)
        self._put(lane, self.known.put_in_force(lane.address.origin))

    def grew(self, lane: Lane, *, is_urgent: bool) -> None:
        """Handles another request in *lane*; *is_urgent*: whether it goes before the others."""
        if lane.state is POLICY:
            if is_urgent:
                self.discovery.add(lane)
            else:
                self.discovery.grow(lane)
        elif is_urgent and lane.host is not None:
            lane.ticket = next(self._numbers)
            lane.host.add(lane)
            if lane.host.state is READY:
                self._settle(lane.host)

    def may_sleep(self, lane: Lane) -> bool:
        """Returns whether nothing is about to happen to *lane*: neither a fetch nor a refusal."""
        origin = lane.address.origin
        fetching = origin is not None and self.known.is_fetching(origin)
        return not fetching and lane.state not in (REFUSED, EMPTY)

    def falls_asleep(self, lane: Lane) -> None:
        """Forgets *lane*, which only the file of the job holds from now on."""
        host, origin = lane.host, lane.address.origin
        self._left(lane)
        if origin is not None:
            self.known.policy_was_used(origin)
            for each in self._end_wait(origin):
                if each is not lane:
                    self._await(each, origin)
        if host is not None and (host.state is READY or host.next_lane() is None):
            self._settle(host)

    def takes_back(self, request: Request, origin: Origin) -> bool:
        """Returns whether *request* was handed out here, and is taken back while the robots.txt of
        *origin* cannot be read.
        """
        return request in self._out and self.known.defers(origin)

    def close(self) -> None:
        """Stops handing out and waiting: a queue is closed, so all of them are."""
        for heap in (self._ready, self._refused, self._full):
            heap.clear()
        self.alarm.cancel()

    # What the crawl tells

    def fetch_ended(self, origin: Origin, policy: Policy | None) -> None:
        """Places the lanes that wait for their robots.txt, or are held back by the last one: a
        fetch has ended, with or without a policy.
        """
        answered = policy is not None and not policy.denies_as_unreachable
        self.discovery.fetch_ended(answered=answered)
        if policy is not None and origin in self._awaiting:
            self.known.just_fetched(policy)
        self._place_all(origin)
        self.known.wake()

    def answered(self, request: Request, _: Response) -> None:
        """Records that *request* is answered, and leaves its slot. Middlewares may keep the answer
        for long.
        """
        host, foreseen, _at = self._out.get(request, _NOT_OUT)
        if host is not None:
            self._out[request] = None, foreseen, 0.0
            self._left_slot(host, request, foreseen, let_go_at=0.0)

    def came_back(self, request: Request) -> None:
        """Records that the downloader is done with *request*, whether it was sent or not."""
        host, foreseen, let_go_at = self._out.pop(request, _NOT_OUT)
        if host is not None:
            self._left_slot(host, request, foreseen, let_go_at)
        # It may have gone to another slot than was foreseen, or past the scheduler: that slot, too,
        # may be due sooner than it was while the request was under way.
        slot = request.meta.get(SLOT_META_KEY, foreseen)
        if not isinstance(slot, str):
            slot = chosen_slot(request) or foreseen  # it may be no key
        taken = self._hosts.get(slot)
        if taken is not None and taken is not host and taken.state is not READY:
            self._look(taken)

    def _arrived(self, request: Request, **_: object) -> None:
        """Notes how long *request*, which has arrived in its slot, was on its way."""
        host, foreseen, let_go_at = self._out.get(request, _NOT_OUT)
        if host is not None and host.gap:
            self._out[request] = host, foreseen, 0.0
            took = self._clock() - let_go_at
            host.lead += (took - host.lead) * (self.LEAD_FOLLOWS if host.lead else 1.0)

    def _left_slot(self, host: Host, request: Request, foreseen: str, let_go_at: float) -> None:
        is_elsewhere = request.meta.get(SLOT_META_KEY, foreseen) != foreseen
        # A middleware that has kept it may answer it, or drop it: the others may not be sent, too.
        was_kept = let_go_at and host.gap and self._clock() - let_go_at > self.ARRIVES_SECONDS
        host.out -= 1
        if is_elsewhere or was_kept:
            host.is_slow_to_arrive = True
        elif host.out <= 0:
            host.is_slow_to_arrive = False
        host.note_left(request)
        if host.state is not READY:
            self._look(host)

    def changed(self, name: str, handed_over: Request | None = None) -> None:
        """Looks again at the host with this name, which may be due at another moment, because the
        door has *handed_over* a request to it, if there is one.
        """
        if handed_over is not None:
            sent_to, *_ = self._out.get(handed_over, _NOT_OUT)
            if sent_to is not None:
                sent_to.note_left(handed_over)
        host = self._hosts.get(name)
        if host is not None and host.state in (LATER, AT_DOOR):
            self._look(host)

    # Handing out

    def begin(self, queue: LaneQueue) -> None:
        """Handles what is due, as the engine asks *queue*. In each round it asks the queue in
        memory, then the one on disk. An empty queue leaves what is due to the next.
        """
        if queue is self.queues[-1] or len(queue):
            self._process_due()
        if queue is self.queues[0]:
            self.discovery.round_begins(self.ready)

    def pop(self, queue: LaneQueue) -> Request | None:
        """Returns the next request of *queue*; None if none may go now, and the engine will be
        woken.
        """
        while (item := self._next(queue.number)) is not None:
            lane = self._choose(item) if isinstance(item, Host) else self._to_refuse(item)
            if lane is not None and (request := self._take(lane)) is not None:
                return request
        self._arrange_wake_up()
        return None

    def _next(self, number: int) -> Host | Lane | None:
        """Returns what to look at next: a host, or a lane whose requests fail."""
        self._turns += 1
        first, second = self._ready, self._refused
        if second and not self._turns % self.REFUSALS_EVERY:
            first, second = second, first
        item: Host | Lane | None = first.pop(number)
        if item is not None:
            return item
        if second:
            item = second.pop(number)
        # A lane of the other queue that seems to be refused may be ready.
        if item is None and not self.ready and self._full and not self._refused:
            item = self._full.pop(number)
        return item

    def _choose(self, host: Host) -> Lane | None:
        """Returns the lane of *host* to go now. If there is none, puts the host where an event
        finds it.
        """
        lane, may_wait = host.next_lane(), host.state is FULL
        if lane is not None:
            origin_state = self.known.put_in_force(lane.address.origin)
            if origin_state.state is READY and self.known.host_of(lane) == host.name:
                return lane if self._hold_unless_due(host, lane, may_wait=may_wait) else None
            self._put(lane, origin_state)
        self._settle(host)
        return None

    def _to_refuse(self, lane: Lane) -> Lane | None:
        origin_state = self.known.put_in_force(lane.address.origin)
        if origin_state.state is REFUSED:
            return lane
        self._put(lane, origin_state)
        return None

    def _take(self, lane: Lane) -> Request | None:
        host = lane.host
        request = lane.queue.take(lane)
        if request is not None:
            self._last = request
            if request not in self._out:  # a spider may have yielded one object several times
                out = host or self._host_of(lane)
                out.out += 1
                self._out[request] = out, lane.address.slot, out.let_go_at
            if host is not None:
                host.last = request
                if host.gap:
                    self.known.watch_arrivals(self._arrived)
                    if not host.is_slow_to_arrive:
                        host.not_before = self._clock() + host.gap
        if lane.address.origin is not None:
            self.known.policy_was_used(lane.address.origin)
        lane.order = lane.ticket = next(self._numbers)
        if not lane.count:
            self._left(lane)
        elif request is None:  # the job's file has failed
            if host is not None:
                self._move(host, IDLE)
            return None
        elif host is None:
            self._put(lane, FAILING)
        else:
            host.add(lane)
        if host is not None:
            host.order = lane.order
            self._settle(host)
        return request

    # When

    def _hold_unless_due(self, host: Host, lane: Lane, *, may_wait: bool = False) -> bool:
        """Makes *host* wait if *lane*, its next, may not send a request now. Returns whether it
        may. *may_wait*: one request more than the slot sends at a time may go, and wait there.
        """
        outlook, now = self.known.outlook(lane), self._clock()
        host.gap = outlook.gap
        # A host that has the crawl to itself blocks no other: it may fill the downloader, which
        # sends no more at a time than the slot allows.
        may_be_full = host.out >= outlook.most + may_wait and (outlook.gap or self.lanes > 1)
        if may_be_full and self._hold_if_full(host, lane, outlook.most, now):
            return False
        due_at = max(host.not_before, outlook.due_at - host.lead)
        if due_at <= now:
            host.let_go_at = now
            return True
        if due_at == inf:
            self._move(host, AT_DOOR)
        elif host.state is not LATER or due_at != host.waits_until:
            self._move(host, LATER)
            host.waits_until = due_at
            self._wait_until(due_at, host)
        return False

    def _hold_if_full(self, host: Host, lane: Lane, most: float, now: float) -> bool:
        """Makes *host*, of which enough requests were handed out to fill the slot of *lane*, wait
        if the slot has no room, or if they may be on their way there. Returns whether it does.
        """
        looks_in = host.let_go_at + self.ARRIVES_SECONDS - now
        have_arrived = host.is_slow_to_arrive or looks_in <= 0
        if have_arrived:
            if self.known.has_room(lane):
                host.is_slow_to_arrive = True
                return False
            looks_in = self.LOOKS_AGAIN_SECONDS
        self._move(host, FULL)
        self._wait_until(now + looks_in, host)
        # Not before: Scrapy's slots send all at once that arrive in one turn of the loop.
        if have_arrived and host.out <= most:
            self._full.push((lane.queue.number, lane.priority, host.order), host)
        return True

    def _look(self, host: Host) -> None:
        """Looks again at *host*, which is not ready: something may have let it go."""
        if host.state in (LATER, AT_DOOR):
            lane = host.next_lane()
            stays = lane is not None and self.known.host_of(lane) == host.name
            if lane is not None and stays and not self._hold_unless_due(host, lane):
                return
        self._settle(host)

    def _settle(self, host: Host) -> None:
        """Makes *host* ready if it has lanes; otherwise idle, or forgets it."""
        lane = host.next_lane()
        if lane is None:
            if host.state is not IDLE:
                self._move(host, IDLE)
            if not host.out and self._hosts.get(host.name) is host:
                del self._hosts[host.name]
            return
        self._move(host, READY)
        self._ready.push((lane.queue.number, lane.priority, host.order), host)
        if lane.queue is not self.asked:
            self.known.wake()

    def _move(self, host: Host, state: State) -> None:
        self.ready += (state is READY) - (host.state is READY)
        host.state = state
        host.ticket = next(self._numbers)

    def _host_of(self, lane: Lane) -> Host:
        name = self.known.host_of(lane)
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(name, next(self._numbers))
        return host

    # What robots.txt says

    def _place_all(self, origin: Origin) -> None:
        """Places the lanes that wait for what the robots.txt of *origin* says next."""
        for lane in self._end_wait(origin):
            self._put(lane, self.known.put_in_force(origin))

    def _put(self, lane: Lane, origin_state: OriginState) -> None:
        """Puts *lane* where an event finds it, as robots.txt says *origin_state* of it."""
        state = origin_state.state
        if state is READY:
            host = self._host_of(lane)
            if lane.host is not None:
                lane.host.remove(lane)
            lane.ticket = next(self._numbers)
            host.add(lane)
            if host.state in (IDLE, READY):
                self._settle(host)
            return
        self._take_out(lane, state)
        if state is REFUSED:
            self._refused.push((lane.queue.number, lane.ticket), lane)
            if lane.queue is not self.asked:
                self.known.wake()
        elif (origin := lane.address.origin) is not None:
            self._await(lane, origin)
            if state is HELD:
                self._wait_until(origin_state.until, lane)
            elif not self.known.is_fetching(origin):
                self.discovery.add(lane)

    def _left(self, lane: Lane) -> None:
        """Takes out *lane*, which holds no more requests or falls asleep."""
        self.lanes -= 1
        self._take_out(lane, EMPTY)

    def _take_out(self, lane: Lane, state: State) -> None:
        """Takes *lane* out of its host; it waits in *state* from now on."""
        if lane.host is not None:
            lane.host.remove(lane)
        lane.put_in(state, next(self._numbers))

    def _await(self, lane: Lane, origin: Origin) -> None:
        if self._awaiting.setdefault(origin, lane) is not lane:
            self._also_awaiting.setdefault(origin, []).append(lane)

    def _end_wait(self, origin: Origin) -> list[Lane]:
        """Returns the lanes that waited for a policy of *origin*, which wait no more."""
        first = self._awaiting.pop(origin, None)
        return [] if first is None else [first, *self._also_awaiting.pop(origin, ())]

    # Moments

    def _wait_until(self, moment: float, item: Host | Lane) -> None:
        self._later.push((moment,), item)
        if self.asked is None:
            self.alarm.set(moment)

    def _process_due(self) -> None:
        last, self._last = self._last, None
        for request in self.known.ended(self._out, last):
            self.came_back(request)
        if not self._later:
            return
        now = self._clock()
        while (first := self._later.first()) is not None and first[0] <= now:
            item = self._later.pop()
            if isinstance(item, Host):
                self._settle(item)
            else:
                self._place_all(item.address.origin)

    def _arrange_wake_up(self) -> None:
        """Ensures that the engine is woken, as nothing may go in the queue that it asked."""
        if not self.ready:  # nor in the other queue
            self.discovery.nothing_is_ready()
        first, change = self._later.first(), self.discovery.next_change
        if first is not None:
            self.alarm.set(first[0])
        if change is not None:
            self.alarm.set(change)

    def _ring(self) -> None:
        self._process_due()
        self.discovery.round_begins(self.ready)
        if self.ready:
            self.known.wake()
        else:
            self._arrange_wake_up()
