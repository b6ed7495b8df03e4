"""The least delay of one downloader slot, whatever else sets its delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import compat
from .backoff import Backoff

if TYPE_CHECKING:
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
    ON_ITS_WAY = 0.1
    """Seconds, or a fifth of the delay if that is less, within which a request is taken to have
    been sent when it was answered.

    The downloader counts from when it begins to connect; the host, from when the request arrives.
    Under load the first may be slow to come and the next one quick.
    """

    def __init__(self) -> None:
        self.delays: dict[Origin, float] = {}
        self.used_at = 0.0
        """When a request was last told to go to the slot."""
        self.backoff = Backoff()
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
        now = compat.slot_clock()
        floor = max(self.delays.values(), default=0.0)
        floor = max(floor, self.backoff.delay, self.LEAST_WHILE_HELD * (self.backoff.until > now))
        if self._own_delay * (1 - self._own_jitter) >= floor:
            slot.delay = self._own_delay
            compat.set_slot_jitter(slot, self._own_jitter)
        else:
            slot.delay = max(self._own_delay, floor)
            compat.set_slot_jitter(slot, 0.0)
        self._set_delay = slot.delay
        if self.backoff.until > now:
            slot.lastseen = max(slot.lastseen, self.backoff.until - slot.delay)

    def answered(self, slot: Slot) -> None:
        """A request of the slot was answered."""
        if self.delays:
            latest = slot.lastseen + min(self.ON_ITS_WAY, slot.delay / 5)
            slot.lastseen = max(slot.lastseen, min(compat.slot_clock(), latest))

    @property
    def is_idle(self) -> bool:
        """Whether it does nothing to its slot."""
        return not (self.delays or self.backoff.is_on(compat.slot_clock()))

    def is_needed(self, slot: Slot | None, now: float) -> bool:
        """Whether a request that waits, or the next one, would go too early without the floor."""
        if now < max(self.used_at + self.ON_THE_WAY_SECONDS, self.backoff.until):
            return True
        if slot is None:
            return False
        return bool(slot.active or slot.queue) or now < slot.lastseen + slot.delay
