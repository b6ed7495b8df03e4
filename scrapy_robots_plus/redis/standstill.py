"""Why a worker has nothing to do while requests wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.printable import counted

if TYPE_CHECKING:
    from scrapy_robots_plus.crawl.clock import Now

    from .host_queue import State
    from .queue_log import QueueLog
    from .session import Session


class Standstill:
    """Says so after a minute, and again each time that took twice as long."""

    SECONDS = 60.0

    def __init__(self, session: Session, log: QueueLog, now: Now) -> None:
        self._session = session
        self._log = log
        self._now = now
        self._is_over()

    def look(self, *, has_work: bool, waiting: int, parked: int) -> None:
        """Called several times a second. *parked*: how many of those that wait do so here, for a
        robots.txt.
        """
        if has_work or not waiting:
            self._is_over()
            return
        passed = self._now() - self._since
        if passed >= self._say_after:
            self._say_after *= 2
            self._log.nothing_to_do(passed, waiting, _why(self._session.state(), parked))

    def _is_over(self) -> None:
        self._since, self._say_after = self._now(), self.SECONDS


def _why(state: State | None, parked: int) -> str:
    if state is None:
        return "the Redis server cannot be used"
    if parked:
        return f"{counted(parked, 'request')} here for a robots.txt that is being fetched"
    if state.wait:
        return f"the first host may be asked in {state.wait:,.0f} s"
    if state.wait is None:
        held = counted(state.held, "host")
        return f"{held} to which other workers have a request under way that has not left yet"
    return "a host may be asked now, and this worker is to get a request to it soon"
