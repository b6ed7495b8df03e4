"""What a user is told about the queue that workers share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.protocol.printable import counted, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.clock import Now
    from scrapy_robots_plus.storage.redis_server import ServerError

    from .host_queue import State

logger = crawl_log(__name__)


class QueueLog:
    """Log lines and stats."""

    def __init__(self, crawler: Crawler) -> None:
        self._log = logger(crawler)
        self._stats = compat.stats_of(crawler)
        self._told_away = self._told_back = False
        self._of_memory = Once()
        self._told_lost = 0

    def failed(self, error: ServerError) -> None:
        """The server did not do what it was asked."""
        self._stats.inc_value(stats.SHARED_QUEUE_ERRORS)
        if self._told_away:  # a server that is full may refuse every second question
            return
        self._told_away = True
        self._log.warning(
            "The queue of requests cannot be used (%s). Until it can, new requests are kept in "
            "memory, and no others are sent. Further errors are counted as %s",
            printable(error),
            stats.SHARED_QUEUE_ERRORS,
        )

    def cannot_begin(self, error: ServerError) -> None:
        """The server will never do what it was asked: the crawl is closed."""
        self._stats.inc_value(stats.SHARED_QUEUE_ERRORS)
        if not self._told_away:
            self._told_away = self._told_back = True
            self._log.error("The queue of requests cannot be used: %s", printable(error))

    def answered(self) -> None:
        """The server does what it is asked."""
        if self._told_away and not self._told_back:
            self._told_back = True
            self._log.info("The queue of requests can be used again")

    def kept(self, number: int) -> None:
        """So many more requests are kept in memory until the server is back."""
        if number:
            self._stats.inc_value(stats.SHARED_QUEUE_KEPT, number)

    def lost(self, number: int) -> None:
        """The crawl ends while the server is away."""
        self._stats.inc_value(stats.QUEUE_LOST, number)
        self._log.error(
            "%s could not be given to the queue of requests before the crawl ended",
            counted(number, "request"),
        )

    def cannot_be_written(self, request: Request, error: Exception) -> None:
        """The serializer cannot write *request*."""
        self._stats.inc_value(stats.QUEUE_KEPT_IN_MEMORY)
        if self._of_memory.is_first():
            self._log.warning(
                "Requests cannot be shared with other workers, such as %s (%s). They stay in "
                "memory, and are lost when this worker is stopped. Their number is in %s",
                printable(request.url),
                printable(str(error) or repr(error)),
                stats.QUEUE_KEPT_IN_MEMORY,
            )

    def cannot_be_read(self, key: str, error: Exception) -> None:
        """A request in the queue is set aside."""
        self._stats.inc_value(stats.QUEUE_SET_ASIDE)
        self._log.error(
            "A request in the queue cannot be read by this spider (%s) and is set aside in %s",
            printable(repr(error)),
            key,
        )

    def moved(self, number: int, key: str) -> None:
        """Requests were taken over from a queue of scrapy-redis."""
        self._stats.inc_value(stats.SHARED_QUEUE_MOVED, number)
        self._log.info("%s moved from the queue %s", counted(number, "request"), key)

    def was_forgotten(self) -> None:
        self._stats.inc_value(stats.SHARED_QUEUE_FORGOTTEN)
        self._log.warning(
            "The server does not know this worker any more: it was not heard of for longer than "
            "ROBOTS_WORKER_LIFETIME, so that other workers have its requests now and some may be "
            "sent twice",
        )

    def data_were_lost(self) -> None:
        """The server came back, or has lost keys."""
        self._stats.inc_value(stats.SHARED_QUEUE_LOSSES)
        self._log.warning(
            "The Redis server of the queue was started again, another one has taken over, or it "
            "has lost keys. Requests that only it had may be lost, and some may be sent twice. "
            "Each host with a delay is left alone for that long once",
        )

    def were_lost(self, number: int, key: str) -> None:
        """In this run or in one before, which nobody has dealt with."""
        if number == self._told_lost:
            return
        self._told_lost = number
        self._stats.set_value(stats.SHARED_QUEUE_LOST, number)
        self._log.warning(
            "%s that waited in Redis were lost there: the server has deleted their keys. The "
            "spider may have to be run again for these pages. Delete the key %s when you have "
            "dealt with it, and this is no longer said",
            counted(number, "request"),
            key,
        )

    def keys_may_be_evicted(self, policy: str) -> None:
        """By the settings of the server."""
        self._log.warning(
            "The Redis server of the queue has maxmemory-policy %s: it deletes requests, and what "
            "was seen, when its memory is full. Set volatile-ttl or noeviction",
            policy,
        )

    def differs(self, name: str, here: str, there: str) -> None:
        """From the workers that were there before."""
        self._log.warning(
            "This worker shares its requests with others, but %s is %s here, and %s there: hosts "
            "get the pace of whoever asks them last. Give all workers the same settings",
            name,
            printable(here),
            printable(there),
        )

    def files_are_not_shared(self) -> None:
        """Though requests are."""
        self._log.warning(
            "Each worker fetches robots.txt files for itself: REDIS_PARAMS names a server in a way "
            "that ROBOTS_STORE has no URL for. Set ROBOTS_STORE to the URL of a Redis server, or "
            "to 'memory'",
        )

    def nothing_to_do(self, seconds: float, waiting: int, why: str) -> None:
        """Though requests wait."""
        self._log.info(
            "This worker has had nothing to do for %d s, while %s: %s",
            seconds,
            f"{counted(waiting, 'request')} wait" if waiting != 1 else "1 request waits",
            why,
        )

    def cleared_under(self, others: int) -> None:
        self._log.warning(
            "SCHEDULER_FLUSH_ON_START removes the requests that this worker shares with %s: "
            "set it for the first worker only",
            counted(others, "other worker"),
        )

    def not_cleared(self, others: int) -> None:
        self._log.info(
            "The queue of requests is left to %s that it is shared with",
            counted(others, "other worker"),
        )


class Standstill:
    """Says after a minute why a worker has nothing to do while requests wait, and again each time
    that took twice as long.
    """

    SECONDS = 60.0

    def __init__(self, log: QueueLog, now: Now) -> None:
        self._log = log
        self._now = now
        self._since = now()
        self._say_after = self.SECONDS

    def look(self, waiting: int, parked: int, state: Callable[[], State | None]) -> None:
        """Called several times a second. *waiting*: how many requests wait, 0 for a worker that has
        something to do. *parked*: how many of them do so here, for a robots.txt.
        """
        if not waiting:
            self._since, self._say_after = self._now(), self.SECONDS
            return
        passed = self._now() - self._since
        if passed >= self._say_after:
            self._say_after *= 2
            self._log.nothing_to_do(passed, waiting, _why(state(), parked))


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
