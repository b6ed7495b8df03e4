"""Keeps delays: puts a floor under the delay of any downloader slot that a request goes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals

from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.crawl.compat import ClosingWatch
from scrapy_robots_plus.crawl.requests import TAP_META_KEY, origin_of, slot_is_left_over

from .backoff import HeldAtClosing, wait_asked_for
from .floors import Floors
from .refusals import Refusals
from .shared.sharing import Sharing
from .slowing import Slowing

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_robots_plus.crawl.clock import Clock
    from scrapy_robots_plus.crawl.policies.policy import Policy
    from scrapy_robots_plus.crawl.settings import RobotsSettings
    from scrapy_robots_plus.policy.origin import Origin

    from .given_up import GivenUp
    from .shared.shared_pace import SharedPace


class Pacing:
    """One floor for each slot that needs one, applied once a request's slot is known.

    All requests to an origin with a delay go to one slot. It is known when the request reaches the
    downloader, after the slot is made and before the request is queued in it. AutoThrottle lowers
    the delay at each response; handlers run in the order in which they connect, and a middleware
    connects after the extensions, so ours has the last word.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: RobotsSettings,
        clock: Clock,
        given_up: GivenUp,
        pace: SharedPace,
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._clock = clock
        self._stats = compat.stats_of(crawler)
        most = settings.cache_size
        self._closing_watch = ClosingWatch(crawler, self._fail_waiting)
        start = self._closing_watch.start
        self._sharing = Sharing(pace, clock, self._look_again, self._must_wait)
        self._floors = Floors(crawler, most, self._sharing, self._listen_to_requests)
        self._refusals = Refusals(most)
        self._given_up = given_up
        self._slowing = Slowing(crawler, settings, clock, self._floors, given_up, start)
        crawler.signals.connect(self._response_downloaded, signals.response_downloaded)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    # For the middleware and the queue

    def slot_of(self, origin: Origin) -> str | None:
        """The slot that all requests of *origin* go to; None if they may go to any."""
        return self._floors.slot_of(origin)

    def shortest_gap(self, origin: Origin) -> float | None:
        """The shortest time in seconds between two requests of the slot of *origin*; None if it has
        no delay, or was not sent two.
        """
        floor = self._floors.of(origin)
        return None if floor is None else floor.shortest_gap

    def turn_in(self, key: str, origin: Origin) -> float:
        """Seconds until a request to *origin* should go to the slot *key*: other crawls have their
        turns before it. A turn is reserved for it.
        """
        floor = self._floors.get(key)
        return 0.0 if floor is None else floor.turn.due_in(origin)

    def share(self, pace: SharedPace) -> None:
        """Keeps *pace* together with other crawls. Called before any request is sent."""
        self._sharing.pace = pace

    @property
    def assigns_slots(self) -> bool:
        """Whether any origin has a slot that its requests must go to."""
        return bool(self._floors)

    def assign_slot(self, request: Request, origin: Origin, policy: Policy) -> None:
        """Ensures that *request* is sent at least the policy's delay after the last request to
        *origin*, in any slot, and during its visiting hours.

        All requests of an origin with a delay go to the slot of the first: two slots would each
        keep the delay, and the host would get twice the rate.
        """
        if slot_is_left_over(request):
            del request.meta[compat.SLOT_META_KEY]
        delay, opens_in = policy.delay, policy.opens_in
        key, floor = self._floors.slot_of(origin), self._floors.of(origin)
        if delay is None and not opens_in:
            if floor is None:
                return
            if not floor.backs_off:
                self._floors.release(origin)
                return
        if key is None:
            key = compat.slot_key(self._floors.downloader, request)
        request.meta[compat.SLOT_META_KEY] = key
        floor = self._floors.tie(origin, key, delay or 0.0)
        floor.expect()
        if opens_in:
            floor.shut_for(opens_in)
            self._closing_watch.start()
        self._floors.trim()

    def pin(self, request: Request, origin: Origin) -> None:
        """Undoes changes by later middlewares to the slot of a request that is held."""
        key = self._floors.slot_of(origin)
        if key is not None:
            request.meta[compat.SLOT_META_KEY] = key

    # What happens to a request in its slot

    def _listen_to_requests(self) -> None:
        """Only from the first delay on, so that a crawl without delays pays nothing."""
        connect = self._crawler.signals.connect
        connect(self._request_reached_downloader, signals.request_reached_downloader)
        connect(self._headers_received, signals.headers_received)

    def _request_reached_downloader(self, request: Request) -> None:
        key: str = request.meta.get(compat.SLOT_META_KEY, "")
        floor = self._floors.get(key)
        if floor is not None:
            self._floors.apply(key, floor)

    def _headers_received(self, request: Request, **_: object) -> None:
        floor = self._floors.get(request.meta.get(compat.SLOT_META_KEY, ""))
        if floor is not None:
            floor.answered(request)

    def _response_downloaded(self, response: Response, request: Request) -> None:
        key: str = request.meta.get(compat.SLOT_META_KEY, "")
        self._floors.trim()
        if TAP_META_KEY not in request.meta:  # that of a robots.txt says nothing about pages
            key = self._listen_to_answer(response, request, key)
        floor = self._floors.get(key)
        if floor is not None:
            floor.answered(request)
            self._floors.apply(key, floor)

    def _listen_to_answer(self, response: Response, request: Request, key: str) -> str:
        """Leaves the host alone, or asks it more often; returns the slot of its next requests."""
        wait = self._wait(request, response)
        is_refused = self._slowing.is_on and self._refusals.refuses(response, key)
        if is_refused:
            key = self._slowing.refused(request, response, key)
            self._share_pause(request, key)
        if wait:
            self._stats.inc_value(stats.RETRY_AFTER)
            self._leave_alone(request, key, wait)
        floor = self._floors.get(key)
        if floor is not None and not (wait or is_refused):
            floor.went_well(request)
        return key

    def _wait(self, request: Request, response: Response) -> float:
        """Seconds for which a response asks for no requests, within limits."""
        if not self._settings.retry_after:
            return 0.0
        wait = wait_asked_for(request, response, self._clock.wall())
        return min(wait, self._settings.retry_after_max)

    def _leave_alone(self, request: Request, key: str, wait: float) -> None:
        """Sends nothing to the host of *request*, in any slot, until the wait is over."""
        origin = origin_of(request)
        keys = {key}
        if origin is not None and origin in self._given_up:
            return
        if origin is not None:
            tied = self._floors.slot_of(origin)
            if tied is None:
                self._floors.tie(origin, key, 0.0)  # there is no other delay
            keys |= {tied or key, *self._floors.slots_with(origin)}
        for each in keys:
            floor = self._floors.make(each)
            floor.leave_alone(wait)
            self._floors.apply(each, floor)
        self._share_pause(request, key)
        self._closing_watch.start()

    def _share_pause(self, request: Request, key: str) -> None:
        """Tells the crawls that share the pace for how long the host of *request* is left alone."""
        origin, floor = origin_of(request), self._floors.get(key)
        if origin is not None and floor is not None and floor.paused_for:
            self._sharing.pace.leave_alone(origin.host, floor.paused_for)

    # The end of waiting

    def _fail_waiting(self) -> None:
        """The spider closes: a host that is left alone must not keep it open, nor other crawls."""
        for key in {*self._floors.backing_off(), *self._floors.waiting_for_turns()}:
            self._floors.fail_queued(key, HeldAtClosing)

    def _must_wait(self) -> None:
        """A request waits for other crawls."""
        self._stats.inc_value(stats.SHARED_PACE_WAITS)
        self._closing_watch.start()

    def _look_again(self, slot: Slot) -> None:
        compat.look_again(self._floors.downloader, slot)

    async def _spider_closed(self) -> None:
        self._floors.give_turns_back()
        closed = self._sharing.pace.close()
        if closed is not None:
            await compat.wait_for(closed)
