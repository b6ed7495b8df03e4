"""A robots.txt request in a download handler: limited in time, and can be cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import CancelledError

from scrapy_robots_plus import compat

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from scrapy.http import Response
    from twisted.internet.defer import Deferred

    from scrapy_robots_plus.crawl.clock import Clock


class TimeAllowed:
    """What is left of ``ROBOTS_FETCH_TIMEOUT``, for all requests of one fetch together.

    Only time in a download handler counts, not time spent waiting in a slot or in a middleware of
    the project.
    """

    def __init__(self, seconds: float, clock: Clock) -> None:
        self.seconds = seconds
        self.clock = clock
        self.stood_still = False
        """Whether the process itself did nothing for a while when the time was up."""
        self._used = 0.0

    @property
    def left(self) -> float:
        """Seconds; 0 or less when the time is up."""
        return self.seconds - self._used

    def use(self, seconds: float) -> None:
        self._used += seconds

    def begin_anew(self) -> None:
        """Nothing of it has been used."""
        self._used = 0.0
        self.stood_still = False


class Download:
    """One request in a download handler."""

    LENIENCY = 0.5
    """Seconds in which a handler may end an overdue request by itself, as Scrapy's own do."""
    LATE = 1.0
    """Seconds by which an alarm rings too late only if the process stood still: a callback blocked
    it, or somebody stopped it. A busy machine is late by less."""

    def __init__(self, time: TimeAllowed) -> None:
        self._time = time
        self._running: Deferred[Response] | None = None
        self._expired_at: float | None = None
        self._is_called_off = False

    @property
    def seconds_left(self) -> float:
        """For ``download_timeout``, where 0 would mean no timeout."""
        return max(self._time.left, 0.001)

    async def run(self, download: Coroutine[Any, Any, Response]) -> Response:
        """The response of *download*. Raises TimeoutError when the time is up.

        Some handlers restart ``download_timeout`` with each byte, so it is not enough.
        """
        clock = self._time.clock
        began = clock.monotonic()
        running = self._running = compat.run_in_background(download)
        allowed = self.seconds_left + self.LENIENCY
        alarm = clock.call_later(allowed, self._expire)
        try:
            response = await compat.wait_for(running)
        except BaseException as error:
            if self._expired_at is None:
                if self._is_called_off and isinstance(error, compat.CANCELLED):
                    # The downloader handles it: that of asyncio is no Exception.
                    raise CancelledError from None
                raise
        else:
            # The HTTP/2 handler returns an empty body when it is cancelled.
            if self._expired_at is None:
                return response
        finally:
            alarm.cancel()
            ended = clock.monotonic()
            self._time.use(ended - began)
            # Handlers may take their time to end a request that has expired.
            if (self._expired_at or ended) > began + allowed + self.LATE:
                self._time.stood_still = True
        raise TimeoutError(f"not complete within {self._time.seconds:g} s")

    def call_off(self) -> None:
        """Cancels the download and its connection. Does nothing if it has ended."""
        self._is_called_off = True
        if self._running is not None:
            self._running.cancel()

    def _expire(self) -> None:
        self._expired_at = self._time.clock.monotonic()
        self.call_off()
