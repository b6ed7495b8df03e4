"""The turn of a host's next request among the crawls that keep one pace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from scrapy import Request

from scrapy_robots_plus.crawl.clock import Now

from .pace import Pace
from .shared_pace import Ask, SharedPace


@dataclass(slots=True, eq=False, repr=False)
class TurnAmongCrawls:
    """What is asked of other crawls for the next request to one host, and told them of the last.

    The turn is asked for; until it is given, it is asked for again at the moment that the answer
    names. A turn that is given is used at once, or given back.
    """

    _host: str
    _pace: Pace
    _shared_pace: SharedPace
    _now: Now
    _asked: Ask | None = None
    """The last question, until a request goes or none waits for the answer."""
    ask_at: float | None = -inf
    """The time at which to ask again; None while an answer is on its way."""
    waits_for_others: bool = False
    """Whether the last answer was to wait, as the line notes that has asked."""
    _is_given: bool = False
    """Whether the request that leaves has its turn."""
    _is_untold: bool = False
    """Whether other crawls are still to be told when the last request left. If told while an answer
    is on its way, they would think the host free although the next request may have been let go.
    """

    def is_asked_for(self, request: Request) -> bool:
        """Returns whether an answer is on its way to *request*."""
        return self.ask_at is None and self._asked is not None and self._asked.request is request

    def ask(self, request: Request, on_answer: Callable[[Request, float], None]) -> None:
        """Asks for the turn of *request*. Calls *on_answer*, once, with the seconds to wait, 0 for
        none, unless the turn is given back before.
        """
        departures, delay = self._pace.departures, self._pace.delay
        since, patience = self._now() - departures.latest(delay), departures.patience(delay)
        asked = self._asked = Ask(self._host, delay, patience, since, request)
        self.ask_at = None

        def answered(wait: float) -> None:
            if asked is self._asked:  # otherwise it was given back meanwhile
                self.ask_at = self._now() + wait
                on_answer(request, wait)

        self._shared_pace.ask(asked, answered)

    def use(self) -> None:
        """Records that the request that has its turn is let go."""
        self.ask_at, self.waits_for_others, self._is_given = -inf, False, True

    def give_back(self, *, if_given: bool = False) -> None:
        """Gives back what was asked for: no request waits for it. *if_given*: only a turn that is
        given."""
        if if_given and not self._is_given:
            return
        asked, self._asked = self._asked, None
        self.ask_at, self.waits_for_others, self._is_given = -inf, False, False
        if asked is not None:
            self._shared_pace.unused(asked.host, self._left_ago(asked.delay), asked.delay)
            self.tell_untold()

    def left(self) -> None:
        """Records that a request has left, in its turn or without one."""
        if self._is_given:
            self._is_given = self._is_untold = False
            self._asked = None
        else:
            self.tell_left()

    def tell_left(self) -> None:
        """Tells other crawls when the last request left, as far as known."""
        delay = self._pace.delay
        self._is_untold = bool(delay) and (self.ask_at is None or self._is_given)
        if delay and not self._is_untold:
            self._shared_pace.left(self._host, self._left_ago(delay), delay)

    def tell_untold(self) -> None:
        """Tells other crawls what they could not be told before."""
        if self._is_untold:
            self.tell_left()

    def _left_ago(self, delay: float) -> float:
        return self._now() - self._pace.departures.others_count_from(delay)
