"""The latest times at which requests left: no download handler reports it, but answers show it."""

from __future__ import annotations

from collections import deque
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request


class Departures:
    """The requests to one host, from handover to answer.

    Only the time of the handover to a download handler is known. After it, a callback may block the
    loop before anything is written, a browser may start, a name may be resolved, a proxy or a TLS
    handshake may take time; only then does the host see the request. A delay counted from the
    handover is too short if the next request needs less time.

    An answer tells more: the request arrived before it, earlier by the time that the host took to
    answer. Half of the total time of the host's fastest answer is a cautious estimate of that. So

    * an answered request left no later than its answer arrived, minus that half;
    * an unanswered request may not have left yet, unless the fastest answer takes as long as the
      delay: such a host is slow to answer rather than slow to reach.

    Answers may take long, so the wait for them is limited. Once the host has shown how fast it
    answers, the next request waits for one more delay, or for up to three if the first answer took
    that long. From then on the host sees the delay unless the connection times of two requests
    differ by more than that, and a slow page costs no more than that.

    Times are seconds by one clock; *delay* is the delay to keep, in seconds.
    """

    KEPT = 8
    """How many answer times are remembered: a host may become slower."""
    LONGEST = 15.0
    """The longest time in seconds that connecting is assumed to take."""
    DELAYS_WAITED = 3
    """The most delays to wait for an answer, if connecting may take that long."""

    def __init__(self) -> None:
        self._under_way: dict[Request, float] = {}
        self._newest: Request | None = None
        """The last request handed over, until it is answered."""
        self.handed_over_at = -inf
        """The time of the last handover."""
        self._left_by = -inf
        """The time by which all answered requests had left, as estimated."""
        self._answered_by = -inf
        """The time by which all answered requests had left, however long connecting took."""
        self._took: deque[float] = deque(maxlen=self.KEPT)
        """Seconds that the latest answers took, except the first, which included connecting."""
        self._first_took: float | None = None
        """Seconds that the first answer took, including connecting; None before it."""
        self._waited_in_vain = False
        self.shortest_gap = inf
        """The fewest seconds between two handovers since this was last set to infinity."""

    def handed_over(self, request: Request, now: float) -> None:
        """Records that a download handler has received *request*."""
        self._waited_in_vain = self._waited_in_vain or bool(self._under_way)
        self._under_way[request] = now
        self._newest = request
        self.shortest_gap = min(self.shortest_gap, now - self.handed_over_at)
        self.handed_over_at = now

    def was_held_up(self, request: Request, now: float) -> bool:
        """Records that *request* has left only *now*, as something blocked the loop before it could
        be written. Returns whether that is news.
        """
        if request is not self._newest:
            return False
        self._under_way[request] = self.handed_over_at = now
        return True

    def answered(self, request: Request, now: float) -> bool:
        """Records the answer to *request*, or its headers; returns whether that is news."""
        took = self._end(request, now)
        if took is None:
            return False
        if self._first_took is None:
            self._first_took = took
        else:
            self._took.append(took)
        return True

    def failed(self, request: Request, now: float) -> bool:
        """Records that *request* will not be answered; returns whether that is news."""
        return self._end(request, now) is not None

    def latest(self, delay: float) -> float:
        """Returns when the newest request left at the latest, unless it is answered even later."""
        known = max(self.handed_over_at, self._left_by)
        if self._newest is None:
            return known
        return max(known, self.handed_over_at + self.patience(delay))

    def others_count_from(self, delay: float) -> float:
        """Returns the time from which other crawls count the delay.

        Their next request may need less time to connect than all requests of this crawl. So they
        count from the last answer, unless the host is slow to answer.
        """
        latest = self.latest(delay)
        return latest if self._fastest >= delay else max(latest, self._answered_by)

    def patience(self, delay: float) -> float:
        """Returns for how many seconds an unanswered request may not have left yet."""
        if self._fastest >= delay:
            return 0.0
        if not (self._took or self._waited_in_vain):
            return self.LONGEST
        connecting = min(self._first_took or 0.0, self.DELAYS_WAITED * delay)
        return min(max(delay, connecting), self.LONGEST)

    @property
    def _fastest(self) -> float:
        return min(self._took, default=0.0)

    def _end(self, request: Request, now: float) -> float | None:
        """Ends *request*. Returns the seconds that it was under way; None if it was not."""
        began = self._under_way.pop(request, None)
        if began is None:
            return None
        took = now - began
        connecting = took - min(took, self._fastest) / 2
        self._left_by = max(self._left_by, began + min(connecting, self.LONGEST))
        self._answered_by = max(self._answered_by, began + min(took, self.LONGEST))
        if request is self._newest:
            self._newest = None
        return took
