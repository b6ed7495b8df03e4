"""The delay of a downloader slot with its jitter: a value, which ``slot_floor.py`` decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.crawl import compat

if TYPE_CHECKING:
    from scrapy.core.downloader import Slot


class SlotDelay(NamedTuple):
    """How soon a slot sends one request after another."""

    delay: float
    """Seconds."""
    jitter: float
    """The largest part of the delay that is subtracted or added at random."""

    @classmethod
    def of(cls, slot: Slot) -> SlotDelay:
        return cls(slot.delay, compat.slot_jitter(slot))

    @property
    def least(self) -> float:
        """The shortest delay that can be drawn."""
        return compat.least_delay(self.delay, self.jitter)

    def at_least(self, floor: float) -> SlotDelay:
        """This delay, or one without jitter if jitter could draw a delay below *floor*."""
        return self if self.least >= floor else SlotDelay(max(self.delay, floor), 0.0)

    def apply(self, slot: Slot) -> None:
        slot.delay = self.delay
        compat.set_slot_jitter(slot, self.jitter)
