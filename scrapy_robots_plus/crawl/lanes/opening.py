"""Which lanes a queue has: in memory, with files of their own, or in the one file of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.python import global_object_name

from scrapy_robots_plus.crawl.jobs.job import Job
from scrapy_robots_plus.crawl.jobs.queues import JobQueue
from scrapy_robots_plus.crawl.jobs.renaming import name_lanes

from .files import LaneFiles
from .open_lanes import OpenLanes
from .stored_lanes import IN_ONE_FILE, StoredLanes
from .stored_requests import StoredOrder

if TYPE_CHECKING:
    from typing import Any

    from scrapy.crawler import Crawler
    from scrapy.pqueues import QueueProtocol

    from .lane import LaneQueue
    from .losses import Losses
    from .stored_lanes import WatchesLanes

_QUEUES = "SCHEDULER_DISK_QUEUE and SCHEDULER_START_DISK_QUEUE"


def open_lanes(
    queue: LaneQueue,
    watcher: WatchesLanes,
    crawler: Crawler,
    queues: tuple[type[QueueProtocol], type[QueueProtocol] | None],
    folder: str,
    state: Any,
    losses: Losses,
) -> OpenLanes | StoredLanes:
    """*queues*: the classes of queues on disk or in memory, that of start requests last; *folder*:
    that of the job's queue, empty for a queue in memory; *state*: what a queue of the
    job's last run returned when it was closed.

    Raises ValueError if the requests of the job are somewhere else, and JobFileError if its file
    cannot be used.
    """
    downstream, start_queue = queues
    if state and not isinstance(state, dict):
        raise ValueError(
            f"The state {state!r} of the job was written by a queue that does not "
            "separate hosts. Resume it with the SCHEDULER_PRIORITY_QUEUE that it started with."
        )
    if not issubclass(downstream, JobQueue):
        _check_files(state, start_queue)
        files = LaneFiles(crawler, downstream, start_queue, folder, losses)
        return OpenLanes(queue, files, losses)
    if start_queue is not None and not issubclass(start_queue, JobQueue):
        raise ValueError(_mixed(downstream, start_queue))
    job = Job.of(crawler)
    named_before = name_lanes(job, "hosts", watcher.name_of)
    if state and state != IN_ONE_FILE and not named_before:
        raise ValueError(
            "The requests of this job are in files of their own, and "
            f"{global_object_name(downstream)} keeps them in one file. Convert the job with "
            f'"scrapy robots job convert JOBDIR", or set {_QUEUES} to those it was begun with.'
        )
    return StoredLanes(queue, watcher, StoredOrder(job, downstream, start_queue))


def _check_files(state: Any, start_queue: type[QueueProtocol] | None) -> None:
    if state == IN_ONE_FILE:
        raise ValueError(
            f"The requests of this job are in the file {next(iter(IN_ONE_FILE))}. Resume it with "
            f"{_QUEUES} from scrapy_robots_plus.queues, as it was begun."
        )
    if start_queue is not None and issubclass(start_queue, JobQueue):
        raise ValueError(_mixed(start_queue, "the other"))


def _mixed(ours: type, other: object) -> str:
    name = other if isinstance(other, str) else global_object_name(other)
    return (
        f"{_QUEUES} must be of the same kind: {global_object_name(ours)} keeps all requests of a "
        f"job in one file, {name} in many."
    )
