"""Scrapy's queues of requests, and whether they persist until the next run of a job.

Needed by 2.14 to 2.19: how ``ScrapyPriorityQueue`` keeps its requests is private. All can go when
public names tell which queues it has, and which comes next.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from scrapy import pqueues
from scrapy.core.scheduler import Scheduler

from .crawler import engine_of

if TYPE_CHECKING:
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


def priorities_of(queue: pqueues.ScrapyPriorityQueue) -> list[int]:
    """Those that have requests."""
    parts = (*queue.queues.items(), *queue._start_queues.items())  # noqa: SLF001
    return sorted({priority for priority, part in parts if len(part)})


def count_parts(queue: pqueues.ScrapyPriorityQueue) -> int:
    return len(queue.queues) + len(queue._start_queues)  # noqa: SLF001


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
    priority = best_priority(queue)
    parts = (each.get(priority) for each in (queue.queues, queue._start_queues))  # noqa: SLF001
    part: Any = next(filter(None, parts), None)
    try:
        found: Request | None = part.peek() if part is not None else None
    except Exception:  # noqa: BLE001 - optional in Scrapy's protocol; or it cannot be read from disk
        return None
    return found
