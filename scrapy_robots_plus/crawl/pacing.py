"""Keeps Crawl-delays: a floor under the delay of whatever downloader slot a request lands in."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.httpobj import urlparse_cached

from scrapy_robots_plus.policy.origin import Origin

from . import compat

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.downloader import Downloader, Slot
    from scrapy.crawler import Crawler


class SlotFloor:
    """The floor under one slot: the longest delay of the origins whose requests go to it.

    The slot's own delay and jitter are kept, to go back to when the floor is lowered.
    """

    def __init__(self) -> None:
        self.delays: dict[Origin, float] = {}
        self._slot: Slot | None = None
        self._own_delay = 0.0
        self._own_jitter = 0.0
        self._set_delay = 0.0

    def apply(self, slot: Slot) -> None:
        """Raises the slot's delay to the floor, so that no jitter goes below it either."""
        if slot is not self._slot:  # new, or made anew after the downloader dropped it
            self._slot = slot
            self._own_jitter = compat.slot_jitter(slot)
            self._own_delay = slot.delay
        elif slot.delay != self._set_delay:  # AutoThrottle, or the project's own code
            self._own_delay = slot.delay
        floor = max(self.delays.values(), default=0.0)
        if self._own_delay * (1 - self._own_jitter) >= floor:
            slot.delay = self._own_delay
            compat.set_slot_jitter(slot, self._own_jitter)
        else:
            slot.delay = max(self._own_delay, floor)
            compat.set_slot_jitter(slot, 0.0)
        self._set_delay = slot.delay


class Pacing:
    """Floors by origin, applied where a request's slot is known.

    A request's slot is known when it reaches the downloader, after the slot is made and before the
    request is queued in it. AutoThrottle lowers the delay at each response; handlers run in the
    order in which they connect, and a middleware connects after the extensions, so ours has the
    last word.
    """

    def __init__(self, crawler: Crawler, size: int) -> None:
        self._crawler = crawler
        self._size = size
        self._slot_of: OrderedDict[Origin, str] = OrderedDict()
        self._floors: dict[str, SlotFloor] = {}
        connect = crawler.signals.connect
        connect(self._apply, signals.request_reached_downloader)
        connect(self._apply, signals.response_downloaded)

    def hold(self, request: Request, origin: Origin, delay: float | None) -> None:
        """Sees to it that *request* is sent no sooner than *delay* seconds after the last to
        *origin*, in whatever slot.

        All requests of an origin with a delay go to the slot of the first: two slots would each
        keep the delay, and the host would get twice the rate.
        """
        _forget_slot_of_redirect(request)
        if delay is None:
            if origin in self._slot_of:
                self._release(origin)
            return
        key = self._slot_of.get(origin)
        if key is None:
            key = self._slot_of[origin] = compat.slot_key(self._downloader, request)
        request.meta[compat.SLOT_META_KEY] = key
        self._floors.setdefault(key, SlotFloor()).delays[origin] = delay
        self._slot_of.move_to_end(origin)
        if len(self._slot_of) > self._size:
            self._release(next(iter(self._slot_of)))

    @property
    def _downloader(self) -> Downloader:
        return compat.engine_of(self._crawler).downloader

    def _release(self, origin: Origin) -> None:
        key = self._slot_of.pop(origin)
        floor = self._floors[key]
        del floor.delays[origin]
        slot = self._downloader.slots.get(key)
        if slot is not None:
            floor.apply(slot)
        if not floor.delays:
            del self._floors[key]

    def _apply(self, request: Request, **_: Any) -> None:
        key: str = request.meta.get(compat.SLOT_META_KEY, "")
        floor = self._floors.get(key)
        if floor is None:
            return
        slot = self._downloader.slots.get(key)
        if slot is not None:
            floor.apply(slot)


def _forget_slot_of_redirect(request: Request) -> None:
    """The downloader writes the slot into the meta, and a redirect takes it along to other hosts.

    A slot that is the name of the host before the redirect is such a one; any other was chosen.
    """
    key = request.meta.get(compat.SLOT_META_KEY)
    before = request.meta.get("redirect_urls")
    if key is None or not before:
        return
    origin = Origin.of(before[-1])
    if origin is not None and key == origin.host != urlparse_cached(request).hostname:
        del request.meta[compat.SLOT_META_KEY]
