"""The least delay of one downloader slot, whatever else sets its delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl import compat

from .backoff import Backoff
from .departures import Departures

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.core.downloader import Slot

    from scrapy_robots_plus.policy.origin import Origin


class SlotFloor:
    """The floor under one slot: the longest delay of the origins whose requests go to it.

    The slot's own delay and jitter are kept, to go back to when the floor is lowered.
    """

    ON_THE_WAY_SECONDS = 5.0
    """For how long a request may be between our middleware and its slot."""

    LEAST_WHILE_HELD = 0.001
    """Seconds. The downloader does not look at the time of a slot without a delay."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """*clock*: that of downloader slots."""
        self._clock = clock
        self.delays: dict[Origin, float] = {}
        self.used_at = 0.0
        """When a request was last told to go to the slot."""
        self.backoff = Backoff()
        self._departures = Departures()
        self._slot: Slot | None = None
        self._own_delay = 0.0
        self._own_jitter = 0.0
        self._set_delay = 0.0
        self._sent_at = 0.0
        self._set_lastseen = 0.0

    @property
    def delay(self) -> float:
        """Seconds from one request to the next that robots.txt files ask for; 0 if none does."""
        return max(self.delays.values(), default=0.0)

    def apply(self, slot: Slot) -> None:
        """Raises the slot's delay to the floor, so that no jitter goes below it either."""
        if slot is not self._slot:  # new, or made anew after the downloader dropped it
            self._adopt(slot)
        elif slot.delay != self._set_delay:  # AutoThrottle, or the project's own code
            self._own_delay = slot.delay
        is_held = self.backoff.until > self._clock()
        floor = max(self.delay, self.backoff.delay, self.LEAST_WHILE_HELD * is_held)
        if compat.least_delay(self._own_delay, self._own_jitter) >= floor:
            slot.delay = self._own_delay
            compat.set_slot_jitter(slot, self._own_jitter)
        else:
            slot.delay = max(self._own_delay, floor)
            compat.set_slot_jitter(slot, 0.0)
        self._set_delay = slot.delay
        self._postpone(slot)

    def answered(self, request: Request) -> None:
        """The answer to a request of the slot has come, or its head has."""
        self._departures.answered(request, self._clock())
        if self._slot is not None:
            self._postpone(self._slot)

    @property
    def is_idle(self) -> bool:
        """Whether it does nothing to its slot."""
        return not (self.delays or self.backoff.is_on(self._clock()))

    def is_needed(self, slot: Slot | None, now: float) -> bool:
        """Whether a request that waits, or the next one, would go too early without the floor."""
        if now < max(self.used_at + self.ON_THE_WAY_SECONDS, self.backoff.until):
            return True
        if slot is None:
            return False
        return bool(slot.active or slot.queue) or now < slot.lastseen + slot.delay

    def _adopt(self, slot: Slot) -> None:
        self._slot = slot
        self._own_jitter = compat.slot_jitter(slot)
        self._own_delay = slot.delay
        self._sent_at = self._set_lastseen = slot.lastseen
        compat.watch_transfers(slot, self._handed_over, self._ended)

    def _postpone(self, slot: Slot) -> None:
        """Sees to it that the slot sends nothing before it may, whatever its jitter does.

        The downloader counts from ``lastseen``, with a delay that is a little less or more each
        time.
        """
        if slot.lastseen != self._set_lastseen:
            self._sent_at = slot.lastseen
        not_before = self.backoff.until
        if self.delay:
            not_before = max(not_before, self._departures.latest(self.delay) + self.delay)
        least = compat.least_delay(slot.delay, compat.slot_jitter(slot))
        slot.lastseen = self._set_lastseen = max(self._sent_at, not_before - least)

    def _handed_over(self, request: Request) -> None:
        self._departures.handed_over(request, self._clock())
        if self._slot is not None:
            self._postpone(self._slot)

    def _ended(self, request: Request) -> None:
        self._departures.failed(request, self._clock())
        if self._slot is not None and self.delay:
            self._postpone(self._slot)
            # The next may go sooner than the slot's timer says. The downloader sets a new one.
            self._slot.close()
