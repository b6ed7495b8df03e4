"""Keeps delays: puts a floor under the delay of any downloader slot that a request goes to."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from scrapy import signals

from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.crawl.compat import ClosingWatch
from scrapy_robots_plus.crawl.requests import slot_is_left_over
from scrapy_robots_plus.policy.origin import Origin

from .backoff import HeldAtClosing, wait_asked_for
from .slot_floor import SlotFloor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.core.downloader import Downloader
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_robots_plus.crawl.clock import Clock
    from scrapy_robots_plus.crawl.policies.policy import Policy
    from scrapy_robots_plus.crawl.settings import RobotsSettings


class Pacing:
    """One floor for each slot that needs one, applied once a request's slot is known.

    All requests to an origin with a delay go to one slot. It is known when the request reaches the
    downloader, after the slot is made and before the request is queued in it. AutoThrottle lowers
    the delay at each response; handlers run in the order in which they connect, and a middleware
    connects after the extensions, so ours has the last word.
    """

    TRIM_SECONDS = 1.0
    """Minimum seconds between two searches for floors that are no longer needed."""

    def __init__(self, crawler: Crawler, settings: RobotsSettings, clock: Clock) -> None:
        self._crawler = crawler
        self._settings = settings
        self._clock = clock
        self._stats = compat.stats_of(crawler)
        self._slot_of: OrderedDict[Origin, str] = OrderedDict()
        self._floors: dict[str, SlotFloor] = {}
        self._trim_at = 0.0
        crawler.signals.connect(self._response_downloaded, signals.response_downloaded)
        self._listens_to_requests = False
        self._closing_watch = ClosingWatch(crawler, self._fail_waiting)

    # For the middleware and the queue

    def slot_of(self, origin: Origin) -> str | None:
        """The slot that all requests of *origin* go to; None if they may go to any."""
        return self._slot_of.get(origin)

    def shortest_gap(self, origin: Origin) -> float | None:
        """The shortest time in seconds between two requests of the slot of *origin*; None if it has
        no delay, or was not sent two.
        """
        key = self._slot_of.get(origin)
        return None if key is None else self._floors[key].shortest_gap

    @property
    def assigns_slots(self) -> bool:
        """Whether any origin has a slot that its requests must go to."""
        return bool(self._slot_of)

    def assign_slot(self, request: Request, origin: Origin, policy: Policy) -> None:
        """Ensures that *request* is sent at least the policy's delay after the last request to
        *origin*, in any slot, and during its visiting hours.

        All requests of an origin with a delay go to the slot of the first: two slots would each
        keep the delay, and the host would get twice the rate.
        """
        if slot_is_left_over(request):
            del request.meta[compat.SLOT_META_KEY]
        delay, opens_in = policy.delay, policy.opens_in
        key = self._slot_of.get(origin)
        if delay is None and not opens_in:
            if key is None:
                return
            if not self._floors[key].backs_off:
                self._release(origin)
                return
        if key is None:
            key = compat.slot_key(self._downloader, request)
        request.meta[compat.SLOT_META_KEY] = key
        floor = self._tie(origin, key, delay or 0.0)
        floor.expect()
        if opens_in:
            floor.shut_for(opens_in)
            self._closing_watch.start()
        self._trim()

    def pin(self, request: Request, origin: Origin) -> None:
        """Undoes changes by later middlewares to the slot of a request that is held."""
        key = self._slot_of.get(origin)
        if key is not None:
            request.meta[compat.SLOT_META_KEY] = key

    # What happens to a request in its slot

    def _request_reached_downloader(self, request: Request) -> None:
        key: str = request.meta.get(compat.SLOT_META_KEY, "")
        floor = self._floors.get(key)
        if floor is not None:
            self._apply(key, floor)

    def _headers_received(self, request: Request, **_: object) -> None:
        floor = self._floors.get(request.meta.get(compat.SLOT_META_KEY, ""))
        if floor is not None:
            floor.answered(request)

    def _response_downloaded(self, response: Response, request: Request) -> None:
        key: str = request.meta.get(compat.SLOT_META_KEY, "")
        self._trim()
        wait = self._wait(request, response)
        if wait:
            self._stats.inc_value(stats.RETRY_AFTER)
            self._leave_alone(request, key, wait)
        floor = self._floors.get(key)
        if floor is not None:
            floor.answered(request)
            if not wait:
                floor.went_well()
            self._apply(key, floor)

    def _wait(self, request: Request, response: Response) -> float:
        """Seconds for which a response asks for no requests, within limits."""
        if not self._settings.retry_after:
            return 0.0
        wait = wait_asked_for(request, response, self._clock.wall())
        return min(wait, self._settings.retry_after_max)

    def _leave_alone(self, request: Request, key: str, wait: float) -> None:
        """Sends nothing to the host of *request*, in any slot, until the wait is over."""
        origin = Origin.of(request.url)
        keys = {key}
        if origin is not None:
            if origin not in self._slot_of:
                self._tie(origin, key, 0.0)  # there is no other delay
            keys |= {self._slot_of[origin], *self._slots_with(origin)}
        for each in keys:
            floor = self._floor_for(each)
            floor.leave_alone(wait)
            self._apply(each, floor)
        self._closing_watch.start()

    def _fail_waiting(self) -> None:
        """The spider closes: a Retry-After or visiting hours must not keep it open."""
        held = [key for key, floor in self._floors.items() if floor.backs_off]
        for slot in filter(None, map(self._downloader.slots.get, held)):
            waiting = list(slot.queue)
            slot.queue.clear()  # first: a callback may queue another one
            for _, waiter in waiting:
                waiter.errback(HeldAtClosing())

    # Floors

    def _tie(self, origin: Origin, key: str, delay: float) -> SlotFloor:
        """From now on, all requests of *origin* go to the slot *key*."""
        floor = self._floor_for(key)
        self._slot_of[origin] = key
        self._slot_of.move_to_end(origin)
        floor.keep(origin, delay)
        return floor

    def _release(self, origin: Origin) -> None:
        """Requests of *origin* may go to any slot again."""
        key = self._slot_of.pop(origin)
        floor = self._floors[key]
        floor.release(origin)
        self._apply(key, floor)

    def _floor_for(self, key: str) -> SlotFloor:
        if not self._listens_to_requests:
            # Only from the first delay on, so that a crawl without delays pays nothing.
            self._listens_to_requests = True
            connect = self._crawler.signals.connect
            connect(self._request_reached_downloader, signals.request_reached_downloader)
            connect(self._headers_received, signals.headers_received)
        if key not in self._floors:
            self._floors[key] = SlotFloor(self._clock.slots)
        return self._floors[key]

    def _apply(self, key: str, floor: SlotFloor) -> None:
        slot = self._downloader.slots.get(key)
        if slot is not None:
            floor.apply(slot)
        if floor.is_idle:
            del self._floors[key]

    def _trim(self) -> None:
        """Drops unneeded floors if there are too many, the least recently used first."""
        most = self._settings.cache_size
        if len(self._slot_of) <= most and len(self._floors) <= most:
            return
        now = self._clock.slots()
        if now < self._trim_at:
            return
        self._trim_at = now + self.TRIM_SECONDS
        for origin, key in list(self._slot_of.items()):
            if len(self._slot_of) > most and not self._is_needed(key):
                self._release(origin)
        for key, floor in list(self._floors.items()):
            if len(self._floors) > most and not floor.has_origins and not self._is_needed(key):
                floor.end_backoff()
                self._apply(key, floor)

    def _is_needed(self, key: str) -> bool:
        return self._floors[key].is_needed(self._downloader.slots.get(key))

    @property
    def _downloader(self) -> Downloader:
        return compat.engine_of(self._crawler).downloader

    def _slots_with(self, origin: Origin) -> Iterator[str]:
        """The slots in which requests to *origin* are queued."""
        for key, slot in self._downloader.slots.items():
            if any(_goes_to(origin, request) for request, _ in slot.queue):
                yield key


def _goes_to(origin: Origin, request: Request) -> bool:
    try:
        return Origin.of(request.url) == origin
    except ValueError:  # its port is not a number: it will fail
        return False
