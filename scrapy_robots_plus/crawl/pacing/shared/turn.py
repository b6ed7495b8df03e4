"""The turn of one downloader slot among all crawls that keep a pace together."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.clock import Alarm

from .shared_pace import GO_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_robots_plus.crawl.clock import CallLater, Now

    from .shared_pace import Ask, SharedPace

ANSWER_SECONDS = 0.01
"""How soon the queue looks again for an answer that has not come yet."""
STALE_SECONDS = 1.0
"""How long after its time a reserved turn is over."""


class Turn:
    """Asks for the next request of a slot, and remembers the answer.

    It asks about one host at a time: that of the first request in the slot, or of the lane that
    wants to send one there.
    """

    __slots__ = (
        "_alarm",
        "_ask_at",
        "_asked_at",
        "_call_later",
        "_calls",
        "_go_on",
        "_has_waited",
        "_is_asking",
        "_is_looked_for",
        "_last",
        "_may_go",
        "_now",
        "_on_wait",
        "_pace",
        "_untold",
    )

    def __init__(
        self,
        pace: SharedPace,
        now: Now,
        call_later: CallLater,
        go_on: Callable[[], bool],
        on_wait: Callable[[], None],
    ) -> None:
        """*go_on* is called when the slot should be looked at again, and returns whether it sends
        a request; *on_wait* is called when a request has to wait for other crawls.
        """
        self._pace = pace
        self._now = now
        self._go_on = go_on
        self._on_wait = on_wait
        self._call_later = call_later
        self._alarm: Alarm | None = None
        """None if no request has had to wait."""
        self._last: Ask | None = None
        """What was asked last; None if there is no turn."""
        self._asked_at = 0.0
        self._ask_at = -inf
        """When to ask again."""
        self._is_asking = self._calls = self._may_go = self._has_waited = False
        self._is_looked_for = False
        """Whether the slot was looked at while the answer was on its way."""
        self._untold: Callable[[], None] | None = None
        """What to tell when the answer is known: the host would seem free while it may not be."""

    @property
    def is_waited_for(self) -> bool:
        """Whether a request waits for its turn."""
        last = self._last
        return last is not None and last.request is not None and not self._may_go

    def may_leave(self, asked: Ask) -> bool:
        """Whether the request may leave now. If not, *go_on* is called when it should be asked
        again.
        """
        self._turn_to(asked.host)
        if self._may_go and self._is_over:
            self.give_back()
        self._is_looked_for = self._is_asking
        if not (self._may_go or self._is_asking):
            is_reserved = self._last is not None and self._last.request is None
            if is_reserved or self._now() >= self._ask_at:
                self._ask(asked)
        return self._may_go

    def due_in(self, asked: Ask) -> float:
        """Seconds until a request should come. A turn is reserved for it, if there is none."""
        now = self._now()
        if self.is_waited_for:
            return max(0.0, self._ask_at - now)
        self._turn_to(asked.host)
        is_held = self._last is not None and now < self._ask_at + STALE_SECONDS
        if not (self._may_go or self._is_asking or is_held):
            self._ask(asked)
        return ANSWER_SECONDS if self._is_asking else max(0.0, self._ask_at - now)

    def used(self) -> bool:
        """A request leaves. Returns whether its turn had come."""
        had_come = self._may_go
        if had_come:
            self._forget()
        return had_come

    def tell_left(self, host: str, ticket: str, ago: float, delay: float) -> None:
        """See :meth:`.SharedPace.left`."""
        if self._is_asking or self._may_go:
            at = self._now() - ago
            self._untold = lambda: self._pace.left(host, ticket, self._now() - at, delay)
        else:
            self._pace.left(host, ticket, ago, delay)

    def give_back(self) -> None:
        """No request waits any more."""
        last = self._last
        if last is not None:
            ago = last.since + self._now() - self._asked_at
            untold = self._untold
            self._forget()
            self._pace.unused(last.host, last.ticket, ago)
            if untold is not None:
                untold()

    @property
    def _is_over(self) -> bool:
        """Whether it is too late for what was allowed."""
        return self._now() >= self._asked_at + GO_SECONDS

    def _turn_to(self, host: str) -> None:
        if self._last is not None and self._last.host != host:
            self.give_back()

    def _ask(self, asked: Ask) -> None:
        self._last, self._asked_at = asked, self._now()
        self._is_asking = self._calls = True
        self._cancel_alarm()
        self._pace.ask(asked, partial(self._answered, asked))
        self._calls = False

    def _answered(self, asked: Ask, wait: float) -> None:
        if asked is not self._last or not self._is_asking:
            return  # given back meanwhile
        self._is_asking = False
        self._ask_at = self._now() + wait
        self._may_go = not wait and asked.request is not None
        if not self._may_go:
            self._tell()
        if wait and asked.request is not None:
            self._wait()
        if not self._calls and (self._may_go or self._is_looked_for):
            self._look_again()

    def _look_again(self) -> None:
        """The answer came late: the slot may have been looked at meanwhile."""
        self._is_looked_for = False
        if self._may_go and self._is_over:
            self.give_back()
        if not self._go_on() and self._may_go:
            self.give_back()

    def _wait(self) -> None:
        if not self._has_waited:
            self._has_waited = True
            self._on_wait()
        if self._alarm is None:
            self._alarm = Alarm(self._time_has_come, self._now, self._call_later)
        self._alarm.set(self._ask_at)

    def _cancel_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()

    def _time_has_come(self) -> None:
        self._ask_at = -inf
        self._go_on()

    def _tell(self) -> None:
        untold, self._untold = self._untold, None
        if untold is not None:
            untold()

    def _forget(self) -> None:
        self._cancel_alarm()
        self._last = self._untold = None
        self._ask_at = -inf
        self._is_asking = self._may_go = self._has_waited = False
