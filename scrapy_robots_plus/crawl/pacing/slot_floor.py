"""The minimum delay of one downloader slot, whatever else sets its delay."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl import compat

from .backoff import Backoff
from .departures import Departures
from .shared.slot_turn import SlotTurn
from .slot_delay import SlotDelay

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.core.downloader import Slot

    from scrapy_robots_plus.policy.origin import Origin

    from .shared.sharing import Sharing
    from .throttle import Throttle


class SlotFloor:
    """The floor under one slot: the longest delay of the origins whose requests go to it.

    The slot's own delay is remembered, and restored when the floor is lowered.
    """

    ON_THE_WAY_SECONDS = 5.0
    """Seconds that a request may take from our middleware to its slot."""

    LEAST_WHILE_LEFT_ALONE = 0.001
    """Seconds. The downloader ignores the time of a slot without a delay."""

    def __init__(self, sharing: Sharing) -> None:
        self._clock = sharing.clock.slots
        self._delays: dict[Origin, float] = {}
        self._expected_at = 0.0
        self._backoff = Backoff()
        self._departures = Departures()
        self.turn = SlotTurn(sharing, self._departures, self._shared_delay)
        self._phases: dict[Request, int] = {}
        """The requests under way that were sent since the host has refused one, see Throttle."""
        self.refusals = 0
        """How many times in a row it has refused requests."""
        self._slot: Slot | None = None
        self._own = SlotDelay(0.0, 0.0)
        self._set_delay = 0.0
        self._sent_at = 0.0
        self._set_lastseen = 0.0

    # What it must keep

    def keep(self, origin: Origin, delay: float) -> None:
        """Keeps *delay* seconds between requests for *origin*, until it is released."""
        if delay > self.delay:
            self._departures.shortest_gap = inf  # what went before had no need to keep it
        self._delays[origin] = delay

    def release(self, origin: Origin) -> None:
        """*origin* no longer uses the slot."""
        del self._delays[origin]

    def leave_alone(self, seconds: float) -> None:
        """Sends nothing for *seconds*, then starts slowly (Retry-After)."""
        self._backoff.leave_alone(seconds, self._clock())

    def shut_for(self, seconds: float) -> None:
        """Sends nothing for *seconds* (Visit-time)."""
        self._backoff.shut_for(seconds, self._clock())

    def refused(self, request: Request, make: Callable[[], Throttle]) -> bool:
        """The host has refused *request*: the slot's pace is throttled, by one that *make* returns.

        Returns whether that is news, see :meth:`.Throttle.refused`.
        """
        throttle = self._backoff.throttle = self._backoff.throttle or make()
        is_news = throttle.refused(self._phases.get(request), self._clock())
        self.refusals += is_news
        return is_news

    def went_well(self, request: Request) -> None:
        """An answer without Retry-After: the host can be asked faster again."""
        self._backoff.went_well(self._clock(), self._phases.get(request))
        self.refusals = 0

    def end_backoff(self) -> None:
        """Returns to the usual delay, whatever the host has asked for."""
        self._backoff.end()
        self.refusals = 0

    def expect(self) -> None:
        """A request is on its way to the slot."""
        self._expected_at = self._clock()

    def delay_of(self, origin: Origin) -> float:
        """The delay in seconds that it keeps for *origin*."""
        return self._delays[origin]

    # Whether it does anything

    @property
    def is_throttled(self) -> bool:
        """Whether its host has refused requests lately."""
        return self._backoff.throttle is not None

    @property
    def has_origins(self) -> bool:
        """Whether any origin sends its requests to the slot."""
        return bool(self._delays)

    @property
    def backs_off(self) -> bool:
        """Whether its host is paused or asked slowly, or has been lately."""
        return self._backoff.is_on(self._clock())

    @property
    def holds(self) -> bool:
        """Whether its host is paused or asked slowly."""
        return self._backoff.holds(self._clock())

    @property
    def paused_for(self) -> float:
        """Seconds until requests may be sent again; 0 if they may."""
        return max(0.0, self._backoff.until - self._clock())

    @property
    def is_idle(self) -> bool:
        """Whether it has no effect on its slot."""
        return not (self.has_origins or self.backs_off)

    def is_needed(self, slot: Slot | None) -> bool:
        """Whether a waiting request, or the next one, would be sent too early without the floor."""
        now = self._clock()
        if now < max(self._expected_at + self.ON_THE_WAY_SECONDS, self._backoff.until):
            return True
        if slot is None:
            return False
        return bool(slot.active or slot.queue) or now < slot.lastseen + slot.delay

    # What it does to its slot

    @property
    def delay(self) -> float:
        """The longest delay in seconds that robots.txt files ask for; 0 if none does."""
        return max(self._delays.values(), default=0.0)

    @property
    def shortest_gap(self) -> float | None:
        """The shortest time in seconds between two requests of the slot, as handed to a download
        handler, since its delay was raised; None if there were not two.
        """
        gap = self._departures.shortest_gap
        return None if gap == inf else gap

    def apply(self, slot: Slot) -> None:
        """Raises the slot's delay to the floor, so that jitter cannot go below it either."""
        if slot is not self._slot:  # new, or recreated after the downloader dropped it
            self._adopt(slot)
        elif slot.delay != self._set_delay:  # AutoThrottle, or the project's own code
            self._own = self._own._replace(delay=slot.delay)
        self._own.at_least(self._least_delay()).apply(slot)
        self._set_delay = slot.delay
        self._postpone()

    def answered(self, request: Request) -> None:
        """The answer to a request of the slot, or its headers, have arrived."""
        if self._departures.answered(request, self._clock()):
            self.turn.tell_left(request)
        self._postpone()

    def _shared_delay(self, origin: Origin) -> float:
        """Seconds that all crawls together keep between requests to *origin*."""
        return max(self._delays.get(origin, 0.0), self._backoff.delay)

    def _least_delay(self) -> float:
        is_left_alone = self._clock() < self._backoff.until
        least = self.LEAST_WHILE_LEFT_ALONE if is_left_alone else 0.0
        return max(self.delay, self._backoff.delay, least)

    def _adopt(self, slot: Slot) -> None:
        self._slot = slot
        self._own = SlotDelay.of(slot)
        self._sent_at = self._set_lastseen = slot.lastseen
        self.turn.adopt(slot)
        compat.watch_transfers(slot, self._handed_over, self._ended, self.turn.may_begin)

    def _postpone(self) -> None:
        """Ensures that the slot sends nothing too early, whatever its jitter.

        The downloader counts from ``lastseen``, with a delay that varies a little each time.
        """
        slot = self._slot
        if slot is None:
            return
        if slot.lastseen != self._set_lastseen:
            self._sent_at = slot.lastseen
        not_before = self._backoff.until
        if self.delay:
            not_before = max(not_before, self._departures.latest(self.delay) + self.delay)
        least = SlotDelay.of(slot).least
        slot.lastseen = self._set_lastseen = max(self._sent_at, not_before - least)

    def _handed_over(self, request: Request) -> None:
        now = self._clock()
        throttle = self._backoff.throttle
        if throttle is not None and now >= self._backoff.until - self.LEAST_WHILE_LEFT_ALONE:
            # The downloader may have taken another one from its queue just before the pause began.
            self._phases[request] = throttle.phase
        self._departures.handed_over(request, now)
        self.turn.handed_over(request)
        self._postpone()

    def _ended(self, request: Request) -> None:
        self._phases.pop(request, None)
        if self._departures.failed(request, self._clock()):
            self.turn.tell_left(request)
        if self._slot is not None and self.delay:
            self._postpone()
            # The next request may go before the slot's timer fires. The downloader sets a new one.
            self._slot.close()
