"""Between a downloader slot and its turn: which host the next request goes to, and when it left."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl import compat
from scrapy_robots_plus.crawl.requests import valid_origin_of

from .shared_pace import Ask

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.core.downloader import Slot

    from scrapy_robots_plus.crawl.pacing.departures import Departures
    from scrapy_robots_plus.policy.origin import Origin

    from .sharing import Sharing


class SlotTurn:
    """Holds the next request of a slot until other crawls leave it the host.

    The slot's own delay has passed by then. Requests without a delay are not held.
    """

    __slots__ = ("_clock", "_delay_of", "_departures", "_sharing", "_slot", "_ticket", "_turn")

    def __init__(
        self, sharing: Sharing, departures: Departures, delay_of: Callable[[Origin], float]
    ) -> None:
        """*delay_of* returns the delay to keep for an origin, in seconds; 0 for none."""
        self._sharing = sharing
        self._departures = departures
        self._delay_of = delay_of
        self._clock = sharing.clock.slots
        self._turn = sharing.turn(self._go_on)
        self._ticket = sharing.ticket()
        self._slot: Slot | None = None

    def adopt(self, slot: Slot) -> None:
        self._slot = slot

    @property
    def is_waited_for(self) -> bool:
        """Whether a request waits for other crawls."""
        return self._turn.is_waited_for

    def due_in(self, origin: Origin) -> float:
        """Seconds until a request to *origin* should come; reserves a turn for it."""
        asked = self._question(origin, None)
        return 0.0 if asked is None else self._turn.due_in(asked)

    def may_begin(self, under_way: int) -> bool:
        """Whether the downloader may send the first request in the queue, see
        :func:`.watch_transfers`.
        """
        slot = self._slot
        if slot is None or not slot.queue or under_way >= slot.concurrency:
            return True
        request, _ = slot.queue[0]
        asked = self._question(valid_origin_of(request), request)
        return asked is None or self._turn.may_leave(asked)

    def handed_over(self, request: Request) -> None:
        """A download handler has received *request*."""
        if not self._turn.used():
            self.tell_left(request)

    def tell_left(self, request: Request) -> None:
        """It is known better when the last request has left; *request* is one of the slot."""
        asked = self._question(valid_origin_of(request), None)
        if asked is not None:
            self._turn.tell_left(asked.host, asked.ticket, asked.since, asked.delay)

    def give_back(self) -> None:
        """No request waits any more."""
        self._turn.give_back()

    def end(self) -> None:
        """There is no delay to keep any more: what waits may go."""
        waits = self.is_waited_for
        self.give_back()
        if waits and self._slot is not None:
            self._sharing.clock.call_later(0, partial(self._sharing.look_again, self._slot))

    def _question(self, origin: Origin | None, request: Request | None) -> Ask | None:
        """None if there is no delay to keep."""
        delay = 0.0 if origin is None else self._delay_of(origin)
        if origin is None or not delay:
            return None
        since = self._clock() - self._departures.latest(delay)
        patience = self._departures.patience(delay)
        return Ask(origin.host, self._ticket, delay, patience, since, request)

    def _go_on(self) -> bool:
        """Whether the first request in the queue goes to a download handler, now or soon."""
        slot = self._slot
        if slot is None or not slot.queue:
            self.give_back()
            return False
        first = slot.queue[0]
        now = self._clock()
        if slot.lastseen + compat.least_delay(slot.delay, compat.slot_jitter(slot)) <= now:
            # The delay that was drawn has passed: it is not drawn again.
            slot.lastseen = min(slot.lastseen, now - compat.longest_delay(slot))
        self._sharing.look_again(slot)
        return not slot.queue or slot.queue[0] is not first
