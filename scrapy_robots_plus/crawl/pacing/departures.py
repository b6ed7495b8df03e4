"""When a request left at the latest: no download handler says so, but the answers tell."""

from __future__ import annotations

from collections import deque
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request


class Departures:
    """The requests of one downloader slot, from handing over to answer.

    What is known is when a request is handed to a download handler. Then a browser may start, a
    name be looked up, a proxy or a TLS handshake take its time; the host sees the request when all
    that is over. A delay that counts from the handing over is too short by what the next request,
    with everything in place, does not need again.

    An answer tells: the request had arrived before it, and earlier by the time that the host takes
    to answer. For that, half of what its fastest answer took as a whole is a careful guess. So

    * a request that was answered left no later than its answer came, less that half;
    * a request that was not answered may not have left yet, unless the fastest answer takes as
      long as the delay: such a host is slow to answer rather than to reach.

    The second is a wait for something that may be long in coming, so it has a bound: once the
    host has shown how fast it answers, the next request waits for one delay more, or for up to
    three if the first answer took that long. From then on the host sees the delay as long as two
    requests do not differ by more than that in how long connecting takes, and a page that is slow
    costs no more than that.

    Times are seconds by the clock of downloader slots; *delay* is the one to be kept.
    """

    KEPT = 8
    """How many answers are remembered: a host that was slow once may be fast again."""
    LONGEST = 15.0
    """Seconds that connecting is taken to last at most."""
    DELAYS_WAITED = 3
    """Delays for which an answer is waited for at most where connecting may take that long."""

    def __init__(self) -> None:
        self._under_way: dict[Request, float] = {}
        self._newest: Request | None = None
        """The request handed over last, until it is answered."""
        self._handed_over_at = -inf
        self._left_by = -inf
        """No later than this all those left that were answered."""
        self._took: deque[float] = deque(maxlen=self.KEPT)
        """Seconds that the latest answers took, but for the first: connecting was part of it."""
        self._first_took: float | None = None
        """The same of the first."""
        self._waited_in_vain = False

    def handed_over(self, request: Request, now: float) -> None:
        """A download handler has got *request*."""
        self._waited_in_vain = self._waited_in_vain or bool(self._under_way)
        self._under_way[request] = now
        self._newest = request
        self._handed_over_at = now

    def answered(self, request: Request, now: float) -> None:
        """The answer to *request*, or the head of it, has come."""
        took = self._end(request, now)
        if took is None:
            return
        if self._first_took is None:
            self._first_took = took
        else:
            self._took.append(took)

    def failed(self, request: Request, now: float) -> None:
        """There will be no answer to *request*. Nothing happens where it was answered."""
        self._end(request, now)

    def latest(self, delay: float) -> float:
        """No later than this the newest request left, unless it is answered later still."""
        known = max(self._handed_over_at, self._left_by)
        if self._newest is None or self._fastest >= delay:
            return known
        return max(known, self._handed_over_at + self._patience(delay))

    @property
    def _fastest(self) -> float:
        return min(self._took, default=0.0)

    def _patience(self, delay: float) -> float:
        """Seconds beyond the delay to wait for an answer."""
        if not (self._took or self._waited_in_vain):
            return self.LONGEST
        connecting = min(self._first_took or 0.0, self.DELAYS_WAITED * delay)
        return min(max(delay, connecting), self.LONGEST)

    def _end(self, request: Request, now: float) -> float | None:
        """Seconds that *request* was under way; None where it was not."""
        began = self._under_way.pop(request, None)
        if began is None:
            return None
        took = now - began
        connecting = took - min(took, self._fastest) / 2
        self._left_by = max(self._left_by, began + min(connecting, self.LONGEST))
        if request is self._newest:
            self._newest = None
        return took
