"""When a request was sent at the latest: no download handler says so, but the answers show it."""

from __future__ import annotations

from collections import deque
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request


class Departures:
    """The requests to one host, from handover to answer.

    Only the handover to a download handler is known. After it, a browser may start, a name may be
    resolved, a proxy or a TLS handshake may take time; only then does the host see the request. A
    delay counted from the handover is too short if the next request needs less of that time.

    An answer tells more: the request arrived before it, by the time that the host takes to answer.
    Half of the total time of its fastest answer is a cautious estimate for that. So

    * an answered request left no later than its answer arrived, minus that half;
    * an unanswered request may not have left yet, unless the fastest answer takes as long as the
      delay: such a host is slow to answer rather than slow to reach.

    Waiting for such an answer may take long, so the wait is limited. Once the host has shown how
    fast it answers, the next request waits for one more delay, or for up to three if the first
    answer took that long. From then on the host sees the delay as long as the connection times of
    two requests do not differ by more than that, and a slow page costs no more than that.

    Times are seconds by one clock; *delay* is the one to keep.
    """

    KEPT = 8
    """How many answers are remembered: a slow host may become fast again."""
    LONGEST = 15.0
    """Seconds that connecting is assumed to take at most."""
    DELAYS_WAITED = 3
    """How many delays to wait for an answer at most, if connecting may take that long."""

    def __init__(self) -> None:
        self._under_way: dict[Request, float] = {}
        self._newest: Request | None = None
        """The last request handed over, until it is answered."""
        self.handed_over_at = -inf
        """The last handover."""
        self._left_by = -inf
        """All answered requests left no later than this."""
        self._answered_by = -inf
        """They surely did, however long it took to connect."""
        self._took: deque[float] = deque(maxlen=self.KEPT)
        """Seconds that the latest answers took, except the first, which included connecting."""
        self._first_took: float | None = None
        """The same for the first answer."""
        self._waited_in_vain = False
        self.shortest_gap = inf
        """The shortest time between two handovers since it was last set to infinity."""

    def handed_over(self, request: Request, now: float) -> None:
        """A download handler has received *request*."""
        self._waited_in_vain = self._waited_in_vain or bool(self._under_way)
        self._under_way[request] = now
        self._newest = request
        self.shortest_gap = min(self.shortest_gap, now - self.handed_over_at)
        self.handed_over_at = now

    def answered(self, request: Request, now: float) -> bool:
        """The answer to *request*, or its headers, have arrived. Returns whether that is news."""
        took = self._end(request, now)
        if took is None:
            return False
        if self._first_took is None:
            self._first_took = took
        else:
            self._took.append(took)
        return True

    def failed(self, request: Request, now: float) -> bool:
        """There will be no answer to *request*. Returns whether that is news."""
        return self._end(request, now) is not None

    def latest(self, delay: float) -> float:
        """The newest request left no later than this, unless its answer comes later still."""
        known = max(self.handed_over_at, self._left_by)
        if self._newest is None:
            return known
        return max(known, self.handed_over_at + self.patience(delay))

    def surely(self, delay: float) -> float:
        """The same for other crawls: their next request may need less time to connect than all
        requests of this one. Unless the host is slow to answer, they count from the answer.
        """
        latest = self.latest(delay)
        return latest if self._fastest >= delay else max(latest, self._answered_by)

    def patience(self, delay: float) -> float:
        """For how many seconds a request that is not answered may not have left."""
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
        """Seconds that *request* was under way; None if it was not."""
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
