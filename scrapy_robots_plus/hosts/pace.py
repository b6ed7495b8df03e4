"""When the next request to a host may leave."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from .backoff import Backoff
from .departures import Departures

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_robots_plus.protocol.origin import Origin


class Pace:
    """What one host has beyond others: a delay, a pause, or requests that it has refused.

    All ports and both schemes of a host name share it. :meth:`due_at` is the one answer; everything
    else is an event. Times are seconds by one monotonic clock, which the caller reads.
    """

    __slots__ = ("_delays", "_phases", "backoff", "departures", "expected_until")

    ON_THE_WAY_SECONDS = 5.0
    """Seconds that a request may take from the middleware to the door."""

    def __init__(self) -> None:
        self._delays: dict[Origin, float] = {}
        self._phases: dict[Request, int | None] = {}
        """Of requests whose answer was not heard; None if the host had refused none, see Throttle.
        """
        self.backoff = Backoff()
        self.departures = Departures()
        self.expected_until = -inf
        """Until then, a request that has passed the middleware may come."""

    # Answers

    def due_at(self) -> float:
        """The moment at which the next request may be handed to its download handler."""
        due, delay = self.backoff.until, self.robots_delay
        if delay:
            due = max(due, self.departures.latest(delay) + delay)
        if self.backoff.delay:
            due = max(due, self.departures.handed_over_at + self.backoff.delay)
        return due

    @property
    def robots_delay(self) -> float:
        """The longest delay in seconds that the host's robots.txt files ask for; 0 for none."""
        return max(self._delays.values()) if self._delays else 0.0

    @property
    def delay(self) -> float:
        """Seconds that all crawls together keep between two requests; 0 for none."""
        return max(self.robots_delay, self.backoff.delay)

    @property
    def shortest_gap(self) -> float | None:
        """The shortest time in seconds between two handovers since the delay was raised; None if
        there were not two.
        """
        gap = self.departures.shortest_gap
        return None if gap == inf else gap

    def phase_of(self, request: Request) -> int | None:
        """The phase of the throttle in which *request* was sent; None if there was none."""
        return self._phases.get(request)

    def beside(self, request: Request) -> int:
        """How many others were sent whose answer was not heard."""
        return len(self._phases) - (request in self._phases)

    def has_effect(self, now: float) -> bool:
        """Whether it delays anything, or may soon."""
        return bool(self._delays) or self.backoff.is_on(now)

    def is_needed(self, now: float) -> bool:
        """Whether a request that comes now, or is expected, would leave too early without it."""
        return now < max(self.expected_until, self.due_at())

    # What robots.txt asks for

    def keep(self, origin: Origin, delay: float) -> None:
        """Keeps *delay* seconds, which the robots.txt of *origin* asks for; 0 for none."""
        if not delay:
            self._delays.pop(origin, None)
            return
        if delay > self.robots_delay:
            self.departures.shortest_gap = inf  # what went before had no need to keep it
        self._delays[origin] = delay

    def expect(self, now: float) -> None:
        """A request has passed the middleware."""
        self.expected_until = now + self.ON_THE_WAY_SECONDS

    def shut_for(self, seconds: float, now: float) -> None:
        """No requests for *seconds* from *now* (Visit-time)."""
        self.backoff.shut_for(seconds, now)

    # What happens to a request

    def handed_over(self, request: Request, now: float) -> None:
        """A download handler gets *request*."""
        throttle, self._phases[request] = self.backoff.throttle, None
        if throttle is not None and throttle.is_on:
            # It may have been let go just before a pause began.
            self._phases[request] = throttle.phase - (now < self.backoff.until)
        if self.backoff.quota is not None:
            self.backoff.quota.handed_over(now)
        self.departures.handed_over(request, now)

    def answered(self, request: Request, now: float) -> bool:
        """The answer to *request*, or its headers, have come. Returns whether :meth:`due_at` may
        have changed.
        """
        return self.departures.answered(request, now)

    def failed(self, request: Request, now: float) -> bool:
        """There will be no answer to *request*. Returns whether :meth:`due_at` may have changed."""
        self.is_over(request)
        return self.departures.failed(request, now)

    def is_over(self, request: Request) -> None:
        """What the answer to *request* says has been heard."""
        self._phases.pop(request, None)

    # What an answer says

    def leave_alone(self, seconds: float, now: float) -> None:
        """No requests for *seconds* from *now*, then a slow start (Retry-After)."""
        self.backoff.leave_alone(seconds, now)

    def went_well(self, now: float) -> None:
        """The host neither asks for patience nor refuses a request."""
        self.backoff.went_well(now)

    def end_backoff(self) -> None:
        """Back to what robots.txt asks for."""
        self.backoff.end()
