"""Keeps delays: a floor under the delay of whatever downloader slot a request lands in."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.httpobj import urlparse_cached

from scrapy_robots_plus.policy.origin import Origin

from . import compat
from .backoff import wait_asked_for
from .slot_floor import SlotFloor

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.downloader import Downloader
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from .policy import Policy
    from .settings import RobotsSettings


class Pacing:
    """Floors by origin, applied where a request's slot is known.

    A request's slot is known when it reaches the downloader, after the slot is made and before the
    request is queued in it. AutoThrottle lowers the delay at each response; handlers run in the
    order in which they connect, and a middleware connects after the extensions, so ours has the
    last word.
    """

    TRIM_SECONDS = 1.0
    """How often it is looked, at the most, what is not needed any more."""

    def __init__(self, crawler: Crawler, settings: RobotsSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._stats = compat.stats_of(crawler)
        self._slot_of: OrderedDict[Origin, str] = OrderedDict()
        self._floors: dict[str, SlotFloor] = {}
        self._trim_at = 0.0
        crawler.signals.connect(self._response_downloaded, signals.response_downloaded)
        self._listens_to_requests = False

    def slot_of(self, origin: Origin) -> str | None:
        """The slot that all requests of *origin* go to; None where it has no delay."""
        return self._slot_of.get(origin)

    def hold(self, request: Request, origin: Origin, policy: Policy) -> None:
        """Sees to it that *request* is sent no sooner than the policy's delay after the last to
        *origin*, in whatever slot, and in its visiting hours.

        All requests of an origin with a delay go to the slot of the first: two slots would each
        keep the delay, and the host would get twice the rate.
        """
        if slot_is_left_over(request):
            del request.meta[compat.SLOT_META_KEY]
        delay = policy.delay
        closed_for = policy.closed_for
        key = self._slot_of.get(origin)
        if delay is None and not closed_for:
            if key is None:
                return
            if not self._floors[key].backoff.is_on(compat.slot_clock()):
                self._release(origin)
                return
        if key is None:
            key = compat.slot_key(self._downloader, request)
        request.meta[compat.SLOT_META_KEY] = key
        now = compat.slot_clock()
        floor = self._take(origin, key, delay or 0.0)
        floor.used_at = now
        if closed_for:
            floor.backoff.until = max(floor.backoff.until, now + closed_for)
        self._trim(now)

    @property
    def holds(self) -> bool:
        """Whether any origin has a slot that its requests have to go to."""
        return bool(self._slot_of)

    def pin(self, request: Request, origin: Origin) -> None:
        """Undoes what middlewares after ours did to the slot of a request that is held."""
        key = self._slot_of.get(origin)
        if key is not None:
            request.meta[compat.SLOT_META_KEY] = key

    @property
    def _downloader(self) -> Downloader:
        return compat.engine_of(self._crawler).downloader

    def _floor(self, key: str) -> SlotFloor:
        if not self._listens_to_requests:
            # Only from the first delay on, so that a crawl without delays does not pay for it.
            self._listens_to_requests = True
            self._crawler.signals.connect(
                self._request_reached_downloader, signals.request_reached_downloader
            )
        return self._floors.setdefault(key, SlotFloor())

    def _take(self, origin: Origin, key: str, delay: float) -> SlotFloor:
        """From now on, all requests of *origin* go to the slot *key*."""
        floor = self._floor(key)
        self._slot_of[origin] = key
        self._slot_of.move_to_end(origin)
        floor.delays[origin] = delay
        return floor

    def _release(self, origin: Origin) -> None:
        key = self._slot_of.pop(origin)
        floor = self._floors[key]
        del floor.delays[origin]
        self._apply(key, floor)

    def _trim(self, now: float) -> None:
        """Gives back what is not needed, from the least recently used on, where it is too much."""
        most = self._settings.cache_size
        if max(len(self._slot_of), len(self._floors)) <= most or now < self._trim_at:
            return
        self._trim_at = now + self.TRIM_SECONDS
        slots = self._downloader.slots
        for origin, key in list(self._slot_of.items()):
            if len(self._slot_of) <= most:
                break
            if not self._floors[key].is_needed(slots.get(key), now):
                self._release(origin)
        for key, floor in list(self._floors.items()):
            if len(self._floors) <= most:
                break
            if not floor.delays and not floor.is_needed(slots.get(key), now):
                floor.backoff.delay = 0.0
                self._apply(key, floor)

    def _apply(self, key: str, floor: SlotFloor) -> None:
        slot = self._downloader.slots.get(key)
        if slot is not None:
            floor.apply(slot)
        if floor.is_idle:
            del self._floors[key]

    def _request_reached_downloader(self, request: Request) -> None:
        key: str = request.meta.get(compat.SLOT_META_KEY, "")
        floor = self._floors.get(key)
        if floor is not None:
            self._apply(key, floor)

    def _response_downloaded(self, response: Response, request: Request) -> None:
        key: str = request.meta.get(compat.SLOT_META_KEY, "")
        floor = self._floors.get(key)
        if len(self._floors) > self._settings.cache_size:
            self._trim(compat.slot_clock())
        if floor is None and response.status < 400:
            return
        now = compat.slot_clock()
        wait = self._wait(request, response)
        if wait:
            floor = self._floor(key)
            origin = Origin.of(request.url)
            if origin is not None and origin not in self._slot_of:
                # The host is to be left alone, not a slot of it. No delay holds besides.
                self._take(origin, key, 0.0)
            floor.backoff.hold(wait, now)
            self._stats.inc_value("robotstxt/retry_after")
        elif floor is not None:
            floor.backoff.went_well(now)
        if floor is not None:
            self._apply(key, floor)
            slot = self._downloader.slots.get(key)
            if slot is not None:
                floor.answered(slot)

    def _wait(self, request: Request, response: Response) -> float:
        """Seconds for which a response asks to leave its host alone, within bounds."""
        if not self._settings.retry_after:
            return 0.0
        wait = wait_asked_for(request, response, time.time())
        return min(wait, self._settings.retry_after_max)


def slot_is_left_over(request: Request) -> bool:
    """Whether the slot in the meta is that of the host that redirected to this one.

    The downloader writes the slot into the meta, and a redirect takes it along to other hosts.
    A slot that is the name of the host before the redirect is such a one; any other was chosen.
    """
    key = request.meta.get(compat.SLOT_META_KEY)
    before = request.meta.get("redirect_urls")
    if key is None or not before:
        return False
    origin = Origin.of(before[-1])
    return origin is not None and key == origin.host != urlparse_cached(request).hostname


def chosen_slot(request: Request) -> str | None:
    """The slot in the meta, unless it is a left-over."""
    key: str | None = request.meta.get(compat.SLOT_META_KEY)
    return None if key is None or slot_is_left_over(request) else key
