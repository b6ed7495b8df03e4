"""The pace of a host: when the next request to it may leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from .departures import Departures

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_robots_plus.protocol.crawl_delay import VisitTime
    from scrapy_robots_plus.protocol.origin import Origin

    from .throttle import Throttle


@dataclass(slots=True, eq=False, repr=False)
class Pace:
    """The pace of one host that has a delay, visiting hours or a pause, or has refused requests.

    All ports and both schemes of a host name share it. The next request leaves at :meth:`due_at` at
    the earliest; whatever may change that is told as an event. Visiting hours, the slot's own delay
    and turns among crawls come on top, in :class:`.HostLine`. Times are seconds by one monotonic
    clock, which the caller reads.
    """

    robots_delay: float = 0.0
    """The longest delay in seconds that the host's robots.txt files ask for; 0 for none."""
    visits: dict[Origin, VisitTime] = field(default_factory=dict)
    """The visiting hours of the origins that have some: each holds its own requests only."""
    throttle: Throttle | None = None
    """The throttle of the host; None if it has refused nothing."""
    phases: dict[Request, int] = field(default_factory=dict)
    """The phase of the throttle in which each request was sent, until its answer is heard."""
    departures: Departures = field(default_factory=Departures)
    _delays: dict[Origin, float] = field(default_factory=dict)
    _shut_until: float = 0.0

    # Answers

    def due_at(self) -> float:
        """Returns the earliest moment at which a download handler may get the next request."""
        due, delay, gap = self.pause_until, self.robots_delay, self._gap
        if delay:
            due = max(due, self.departures.latest(delay) + delay)
        if gap:
            due = max(due, self.departures.handed_over_at + gap)
        return due

    @property
    def pause_until(self) -> float:
        """The end of a pause that the host asks for or was given; in the past if there is none."""
        if self.throttle is None:
            return self._shut_until
        return max(self._shut_until, self.throttle.until)

    @property
    def _gap(self) -> float:
        """Seconds between requests while the host is asked less often; 0 for none."""
        return 0.0 if self.throttle is None else self.throttle.gap

    @property
    def delay(self) -> float:
        """Seconds that all crawls together keep between two requests to the host; 0 for none."""
        return max(self.robots_delay, self._gap)

    def is_held(self, now: float) -> bool:
        """Returns whether there is a pause, or the host is asked less often."""
        return bool(self._gap) or self.pause_until > now

    def has_effect(self, now: float) -> bool:
        """Returns whether the pace delays anything, or may soon."""
        is_on = self.throttle is not None and self.throttle.is_on
        return is_on or bool(self._delays or self.visits) or self.is_held(now)

    def opens_in(self, origin: Origin, wall: float) -> float:
        """Returns the seconds from *wall* (since the epoch) to the visiting hours of *origin*; 0
        during them, or if it has none.
        """
        visits = self.visits.get(origin)
        return visits.begins_in(wall) if visits else 0.0

    def has_closed(self, wall: float) -> bool:
        """Returns whether any origin is outside its visiting hours at *wall*."""
        return any(each.begins_in(wall) for each in self.visits.values())

    # What robots.txt asks for

    def keep(self, origin: Origin, delay: float, visits: VisitTime | None = None) -> None:
        """Sets what the robots.txt of *origin* asks for: a delay in seconds, 0 for none, and
        visiting hours.
        """
        if delay == self._delays.get(origin, 0.0) and visits == self.visits.get(origin):
            return  # the usual case; a host may have thousands of origins
        old, longest = self._delays.pop(origin, 0.0), self.robots_delay
        self.visits.pop(origin, None)
        if delay:
            self._delays[origin] = delay
        if visits:
            self.visits[origin] = visits
        if delay > longest:
            self.robots_delay = delay
            self.departures.shortest_gap = inf  # earlier requests did not have to keep it
        elif old == longest:  # only then, or the time grew with the square of the origins
            self.robots_delay = max(self._delays.values(), default=0.0)

    def shut_for(self, seconds: float, now: float) -> None:
        """Holds requests for *seconds* from *now* (Retry-After), and no longer."""
        self._shut_until = max(self._shut_until, now + seconds)

    def end_pauses(self) -> None:
        """Ends all pauses, as the host is given up: a request that still goes there is not held."""
        self._shut_until, self.throttle = 0.0, None

    # What happens to a request

    def handed_over(self, request: Request, now: float) -> None:
        """Records that a download handler gets *request*."""
        throttle = self.throttle
        if throttle is not None and throttle.is_on:
            # It may have been let go just before a pause began.
            self.phases[request] = throttle.phase - (now < self.pause_until)
        self.departures.handed_over(request, now)

    def failed(self, request: Request, now: float) -> bool:
        """Records that *request* will get no answer. Returns whether :meth:`due_at` may have
        changed.
        """
        self.phases.pop(request, None)
        return self.departures.failed(request, now)
