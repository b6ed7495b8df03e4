"""Scrapy's queues of requests, and whether they persist until the next run of a job.

Needed by 2.14 to 2.19: how ``ScrapyPriorityQueue`` keeps its requests is private. All can go when
public names tell which queues it has, and which comes next.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from scrapy import pqueues
from scrapy.core.scheduler import Scheduler

from .crawler import engine_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler


def scheduler_persists(crawler: Crawler) -> bool:
    """Whether requests given to the scheduler now persist until the next crawl.

    Then Scrapy's scheduler has a queue on disk, and that of scrapy-redis has ``persist``. Any other
    is assumed to persist: if it does not, only requests that would be dropped anyway are lost.
    """
    slot = engine_of(crawler)._slot  # noqa: SLF001
    if slot is None:
        return False
    scheduler: Any = slot.scheduler
    if getattr(type(scheduler), "enqueue_request", None) is Scheduler.enqueue_request:
        return getattr(scheduler, "dqs", None) is not None
    return bool(getattr(scheduler, "persist", True))


path_safe = pqueues._path_safe  # noqa: SLF001
"""The name on disk of a downloader slot, so that jobs can be resumed by either queue."""


def fits_on_disk(request: Request, crawler: Crawler) -> bool:
    """Whether Scrapy's disk queues take *request*: they cannot name a callback that is a lambda."""
    try:
        pickle.dumps(request.to_dict(spider=crawler.spider), protocol=4)
    except Exception:  # noqa: BLE001 - objects in its meta may raise anything
        return False
    return True


class Part(NamedTuple):
    """One of the queues in a ``ScrapyPriorityQueue``: requests of one priority."""

    priority: int
    starts: bool
    """Whether it holds start requests."""
    queue: pqueues.QueueProtocol

    @property
    def name(self) -> str:
        """The name of its file or folder."""
        return part_name(self.priority, starts=self.starts)


def part_name(priority: int, *, starts: bool) -> str:
    return f"{priority}s" if starts else str(priority)


def part_names(priorities: Iterable[int]) -> set[str]:
    return {
        part_name(priority, starts=starts) for priority in priorities for starts in (False, True)
    }


def parts_of(queue: pqueues.ScrapyPriorityQueue) -> list[Part]:
    parts = [Part(priority, False, part) for priority, part in queue.queues.items()]
    starts = queue._start_queues.items()  # noqa: SLF001
    return parts + [Part(priority, True, part) for priority, part in starts]


def count_parts(queue: pqueues.ScrapyPriorityQueue) -> int:
    return len(queue.queues) + len(queue._start_queues)  # noqa: SLF001


def part_in_turn(queue: pqueues.ScrapyPriorityQueue) -> Part | None:
    """The part that ``pop()`` will take a request from."""
    priority = best_priority(queue)
    for starts, parts in enumerate((queue.queues, queue._start_queues)):  # noqa: SLF001
        if priority in parts:
            return Part(priority, bool(starts), parts[priority])
    return None


def open_part(queue: pqueues.ScrapyPriorityQueue, priority: int, *, starts: bool) -> None:
    """Opens a part left by an earlier run. Raises whatever opening a damaged file raises."""
    if starts and queue._start_queue_cls is None:  # noqa: SLF001
        return
    parts = queue._start_queues if starts else queue.queues  # noqa: SLF001
    make = queue._sqfactory if starts else queue.qfactory  # noqa: SLF001
    part = make(priority)
    if not len(part):
        part.close()
        return
    parts[priority] = part
    queue.curprio = best_priority(queue)


def take_out(queue: pqueues.ScrapyPriorityQueue, part: Part) -> None:
    """Takes *part* out of *queue*, which holds it."""
    parts = queue._start_queues if part.starts else queue.queues  # noqa: SLF001
    del parts[part.priority]
    rest = (*queue.queues, *queue._start_queues)  # noqa: SLF001
    queue.curprio = min(rest, default=None)


def best_priority(queue: pqueues.ScrapyPriorityQueue) -> int:
    """The priority of the request that *queue* would pop; the lowest number is the most urgent.

    ``curprio`` still has the priority of the last request if start requests are left
    (https://github.com/scrapy/scrapy/pull/7267).
    """
    starts = queue._start_queues  # noqa: SLF001
    if queue.curprio is not None and (queue.curprio in queue.queues or queue.curprio in starts):
        return queue.curprio
    return min((*queue.queues, *starts), default=0)


def next_request(queue: pqueues.ScrapyPriorityQueue) -> Request | None:
    """The request that *queue* would pop, left in the queue; None if it cannot tell.

    ``ScrapyPriorityQueue.peek()`` only looks at ``curprio``, and at start requests first
    (https://github.com/scrapy/scrapy/pull/7267).
    """
    part = part_in_turn(queue)
    try:
        found: Request | None = cast("Any", part.queue).peek() if part is not None else None
    except Exception:  # noqa: BLE001 - optional in Scrapy's protocol; or it cannot be read from disk
        return None
    return found
