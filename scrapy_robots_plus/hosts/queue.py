"""The scheduler's queue: it hands out a request only when its host is ready."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from scrapy_robots_plus.crawl.crawl import Crawl, is_of_this_package
from scrapy_robots_plus.settings.scrapys_own import class_in, job_folder

from .host import Lane
from .lanes import Lanes, Order
from .turns import Hosts, hosts_of

if TYPE_CHECKING:
    from scrapy.pqueues import QueueProtocol
    from typing_extensions import Self

    from .stored_lanes import StoredLanes


def unknown_queue(settings: BaseSettings) -> str | None:
    """Returns the setting that names a request queue other than Scrapy's own, which
    :class:`RobotsPriorityQueue` does not take; None if there is none.
    """
    for kind in ("MEMORY", "DISK") if job_folder(settings) else ("MEMORY",):
        names = f"SCHEDULER_{kind}_QUEUE", f"SCHEDULER_START_{kind}_QUEUE"
        queue, start_queue = (class_in(settings, name) for name in names)
        if Order.of(queue, start_queue) is None:
            return names[Order.of(queue, None) is not None]
    return None


class RobotsPriorityQueue:
    """Priority queue (``SCHEDULER_PRIORITY_QUEUE``): ready hosts take turns, the others wait here.

    The order within a lane is that of ``ScrapyPriorityQueue``; of the lanes of a host, the one with
    the most urgent request comes first. The requests of a job are in one file. Raises ValueError
    for request queues, such as ``SCHEDULER_MEMORY_QUEUE``, other than Scrapy's own: only the order
    of these counts here.
    """

    def __init__(
        self,
        crawler: Crawler,
        downstream_queue_cls: type[QueueProtocol],
        key: str,
        startprios: dict[str, Iterable[int]] | None = None,
        *,
        start_queue_cls: type[QueueProtocol] | None = None,
        hosts: Hosts | None = None,
    ) -> None:
        self.crawler = crawler
        self._taken: Request | None = None
        """The request that :meth:`pop` has taken from its lane, until it is handed out."""
        self._stranded: list[Request] = []
        """Requests that an error of this package has left in no lane."""
        self._hosts = hosts = hosts or hosts_of(crawler)
        self.number = len(hosts.queues)
        """The place among the queues of a crawl: the one with the lowest number is asked first."""
        self._length = 0
        hosts.queues.append(self)
        self._stored: StoredLanes | None = None
        order = Order.of(downstream_queue_cls, start_queue_cls)
        if order is None:
            kind = "DISK" if key else "MEMORY"
            raise ValueError(
                f"SCHEDULER_{kind}_QUEUE is {downstream_queue_cls}, "
                f"SCHEDULER_START_{kind}_QUEUE is {start_queue_cls}. "
                "RobotsPriorityQueue takes those of scrapy.squeues only."
            )
        self._lanes = Lanes(self, order)
        if key:
            from scrapy_robots_plus.job import FILE_NAME

            from .stored_lanes import StoredLanes

            if startprios and FILE_NAME not in startprios:
                raise ValueError(
                    f"The state {startprios!r} of the job was written by another queue. Resume it "
                    'with that, or use "scrapy robots job convert JOBDIR".'
                )
            self._lanes = self._stored = StoredLanes(self, hosts, crawler, order)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *arguments: Any, **named: Any) -> Self:
        """Creates the queue. Called by Scrapy."""
        return cls(crawler, *arguments, **named)

    def __len__(self) -> int:
        return self._length if self._stored is None else self._stored.job.file.held

    def __iter__(self) -> Iterator[Lane]:
        """Iterates over the lanes that hold requests, except those that are asleep."""
        return iter(self._lanes)

    @property
    def lanes_asleep(self) -> int:
        """How many lanes only the job's file knows."""
        return self._lanes.asleep

    def push(self, request: Request) -> None:
        """Queues *request*; raises ValueError, like Scrapy's queues, if it cannot be written.

        Scrapy's scraper does not recover from other exceptions (2.14 to 2.19).
        """
        try:
            if self._stored is not None and self._stored.job.keeps_back(request):
                return
            lane, before = self._put(request)
        except Exception as error:  # most often, the request cannot be written
            if is_of_this_package(error):
                Crawl.of(self.crawler).errors.tell("the queue", error)
                self._stranded.append(request)
                return
            if self._stored is not None:
                self._stored.job.stays_in_memory(request, error)
            raise ValueError(str(error)) from error
        self._length += 1
        try:
            self._hosts.discovery.request_came_in()
            if lane is None:
                return
            if before is None:
                self._hosts.enter(lane)
            elif lane.host is None or lane.priority < before:
                self._hosts.grew(lane, is_urgent=lane.priority < before)
        except Exception as error:  # noqa: BLE001 - the request is in the queue all the same
            Crawl.of(self.crawler).errors.tell("the queue", error)

    def _put(self, request: Request) -> tuple[Lane | None, int | None]:
        """Puts *request* into its lane. Returns the lane, None if it sleeps on with the request in
        it; and the priority that it had before, None if it is new.
        """
        address = self._hosts.known.address(request)
        lane = self._lanes.get(address)
        if lane is None:
            return self._lanes.new(address, request), None
        before = lane.priority
        lane.push(request)
        return lane, before

    def pop(self) -> Request | None:
        """Returns the next request of a ready host; None if none is ready now.

        The engine is woken when one becomes ready.
        """
        self._hosts.asked = self
        try:
            if self._stored is not None:
                return self._stored.pop()
            self._hosts.begin(self)
            return self._hosts.pop(self) if self._length else None  # with a job, mostly empty
        except Exception as error:  # noqa: BLE001 - Scrapy would never ask again
            Crawl.of(self.crawler).errors.tell("the queue", error)
            if self._taken is not None:
                self._stranded.append(self._taken)
            return None
        finally:
            self._hosts.asked = None
            self._taken = None

    @property
    def state_version(self) -> int:
        """A number that changes whenever :meth:`state` does: it never does. Needed by schedulers of
        Scrapy that write the state while a job runs (https://github.com/scrapy/scrapy/pull/8152).
        """
        return 0

    def state(self) -> dict[str, list[int]]:
        """Returns what :meth:`close` would return now."""
        return self._lanes.state()

    def close(self) -> dict[str, list[int]]:
        """Closes the queues; returns the state to resume from."""
        # What an error has left in no lane is written to the job, so that the next run finds it.
        while self._stored is not None and self._stranded:
            request = self._stranded.pop()
            try:
                self._put(request)
            except Exception as error:  # noqa: BLE001 - the same again, or another
                self._stored.job.stays_in_memory(request, error)
        state = self._lanes.state()
        self._lanes.close()
        self._length = 0
        self._hosts.close()
        return state

    def take(self, lane: Lane) -> Request | None:
        """Takes the next request out of *lane*; None if none can be read."""
        held = lane.count
        request = self._taken = lane.pop()
        left = lane.count
        self._length -= held - left
        if not left:
            self._lanes.remove(lane)
        return request
