"""Which lanes a queue has: in memory, with files of their own, or in the one file of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from .files import LaneFiles
from .open_lanes import OpenLanes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from scrapy.crawler import Crawler
    from scrapy.pqueues import QueueProtocol

    from scrapy_robots_plus.hosts.host import Lane, LaneQueue

    from .losses import Losses
    from .stored_lanes import StoredLanes, WatchesLanes


def open_lanes(
    queue: LaneQueue,
    watcher: WatchesLanes,
    resumed: Callable[[Lane], None],
    crawler: Crawler,
    queues: tuple[type[QueueProtocol], type[QueueProtocol] | None],
    folder: str,
    state: Any,
    losses: Losses,
) -> OpenLanes | StoredLanes:
    """*queues*: the classes of queues on disk or in memory, that of start requests last; *folder*:
    that of the job's queue, empty for a queue in memory; *state*: what a queue of the
    job's last run returned when it was closed.

    Raises ValueError for the state of a queue that does not separate hosts, and JobFileError if the
    file of the job cannot be used.
    """
    downstream, start_queue = queues
    if folder and (stored := _stored_lanes(queue, watcher, crawler, queues)):
        return stored
    if state and not isinstance(state, dict):
        raise ValueError(
            f"The state {state!r} of the job was written by a queue that does not "
            "separate hosts. Resume it with the SCHEDULER_PRIORITY_QUEUE that it started with."
        )
    files = LaneFiles(crawler, downstream, start_queue, folder, losses)
    return OpenLanes(queue, resumed, files, losses)


def _stored_lanes(
    queue: LaneQueue,
    watcher: WatchesLanes,
    crawler: Crawler,
    queues: tuple[type[QueueProtocol], type[QueueProtocol] | None],
) -> StoredLanes | None:
    """None if the requests of the job are not in one file."""
    from scrapy_robots_plus.crawl.jobs.job import Job
    from scrapy_robots_plus.crawl.jobs.queues import JobQueue
    from scrapy_robots_plus.crawl.jobs.renaming import name_lanes

    from .stored_lanes import StoredLanes
    from .stored_requests import StoredOrder

    downstream, start_queue = queues
    if not issubclass(downstream, JobQueue):
        return None
    job = Job.of(crawler)
    name_lanes(job, "hosts", watcher.name_of)
    order = StoredOrder(job, downstream, cast("type[JobQueue] | None", start_queue))
    return StoredLanes(queue, watcher, order)
