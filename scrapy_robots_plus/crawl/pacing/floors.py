"""The floors of a crawl: one for each slot that needs one, and the origins that are tied to it."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl import compat
from scrapy_robots_plus.crawl.requests import valid_origin_of

from .slot_floor import SlotFloor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.core.downloader import Downloader
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.policy.origin import Origin

    from .shared.sharing import Sharing


class Floors:
    """At most *most* of them, unless more are needed: the least recently used go first."""

    TRIM_SECONDS = 1.0
    """Minimum seconds between two searches for floors that are no longer needed."""

    def __init__(
        self, crawler: Crawler, most: int, sharing: Sharing, first_made: Callable[[], None]
    ) -> None:
        """*first_made* is called before there is any floor."""
        self._crawler = crawler
        self._most = most
        self._sharing = sharing
        self._clock = sharing.clock.slots
        self._first_made: Callable[[], None] | None = first_made
        self._slot_of: OrderedDict[Origin, str] = OrderedDict()
        self._floors: dict[str, SlotFloor] = {}
        self._trim_at = 0.0

    def __bool__(self) -> bool:
        """Whether any origin is tied to a slot."""
        return bool(self._slot_of)

    def slot_of(self, origin: Origin) -> str | None:
        """The slot that *origin* is tied to; None if its requests may go to any."""
        return self._slot_of.get(origin)

    def get(self, key: str) -> SlotFloor | None:
        return self._floors.get(key)

    def of(self, origin: Origin) -> SlotFloor | None:
        """The floor of the slot that *origin* is tied to."""
        key = self._slot_of.get(origin)
        return None if key is None else self._floors[key]

    def tie(self, origin: Origin, key: str, delay: float) -> SlotFloor:
        """From now on, all requests of *origin* go to the slot *key*, *delay* seconds apart."""
        before = self._slot_of.get(origin)
        if before is not None and before != key:
            self.release(origin)
        floor = self.make(key)
        self._slot_of[origin] = key
        self._slot_of.move_to_end(origin)
        floor.keep(origin, delay)
        return floor

    def release(self, origin: Origin) -> None:
        """Requests of *origin* may go to any slot again."""
        key = self._slot_of.pop(origin)
        floor = self._floors[key]
        floor.release(origin)
        self.apply(key, floor)

    def make(self, key: str) -> SlotFloor:
        """The floor of the slot *key*, made if there is none."""
        if self._first_made is not None:
            first_made, self._first_made = self._first_made, None
            first_made()
        if key not in self._floors:
            self._floors[key] = SlotFloor(self._sharing)
        return self._floors[key]

    def apply(self, key: str, floor: SlotFloor) -> None:
        """Puts *floor* under its slot, if that exists; drops it if it does nothing."""
        slot = self.downloader.slots.get(key)
        if slot is not None:
            floor.apply(slot)
        if floor.is_idle:
            floor.turn.end()
            del self._floors[key]

    def trim(self) -> None:
        """Drops unneeded floors if there are too many."""
        if len(self._slot_of) <= self._most and len(self._floors) <= self._most:
            return
        now = self._clock()
        if now < self._trim_at:
            return
        self._trim_at = now + self.TRIM_SECONDS
        for origin, key in list(self._slot_of.items()):
            if len(self._slot_of) > self._most and not self._is_needed(key):
                self.release(origin)
        for key, floor in list(self._floors.items()):
            if len(self._floors) > self._most and not (floor.has_origins or self._is_needed(key)):
                floor.end_backoff()
                self.apply(key, floor)

    def backing_off(self) -> Iterator[str]:
        """The slots whose hosts are left alone or asked slowly."""
        return (key for key, floor in self._floors.items() if floor.holds)

    def waiting_for_turns(self) -> Iterator[str]:
        """The slots in which a request waits for other crawls."""
        return (key for key, floor in self._floors.items() if floor.turn.is_waited_for)

    def give_turns_back(self) -> None:
        """The crawl is over."""
        for floor in self._floors.values():
            floor.turn.give_back()

    def slots_with(self, origin: Origin) -> Iterator[str]:
        """The slots in which requests to *origin* are queued."""
        for key, slot in self.downloader.slots.items():
            if any(valid_origin_of(request) == origin for request, _ in slot.queue):
                yield key

    def fail_queued(self, key: str, error: type[Exception], origin: Origin | None = None) -> None:
        """The requests queued in a slot, or those of one *origin*, end in an *error*."""
        slot = self.downloader.slots.get(key)
        if slot is None:
            return
        slot.close()  # its timer: the others need not wait for what has ended
        failing = [
            each for each in slot.queue if origin is None or valid_origin_of(each[0]) == origin
        ]
        for each in failing:  # first: a callback may queue another one
            slot.queue.remove(each)
        for _, waiter in failing:
            waiter.errback(error())

    def _is_needed(self, key: str) -> bool:
        return self._floors[key].is_needed(self.downloader.slots.get(key))

    @property
    def downloader(self) -> Downloader:
        return compat.engine_of(self._crawler).downloader
