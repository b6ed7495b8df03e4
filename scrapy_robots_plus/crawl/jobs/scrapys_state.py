"""How Scrapy's own priority queues find the requests of a job in its file.

They read ``active.json``, which the scheduler writes when it is closed. So it is written anew from
the job's file before they read it: after a kill it is out of date.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue

from scrapy_robots_plus.crawl import compat
from scrapy_robots_plus.crawl.settings import job_folder, queue_class

from .queues import QUEUE_FOLDER
from .renaming import name_lanes

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from .job import Job

_STATE = "active.json"


def restore_state(crawler: Crawler, job: Job) -> None:
    """Names the lanes as the priority queue in use names its folders, and writes its state."""
    queue = queue_class(crawler.settings)
    if issubclass(queue, DownloaderAwarePriorityQueue):
        name_lanes(job, "slots", lambda request: compat.path_safe(_slot(crawler, request)))
        state: Any = _by_slot(crawler, job)
    elif issubclass(queue, ScrapyPriorityQueue):
        name_lanes(job, "none", lambda _: "")
        state = _priorities(job, "")
    else:  # RobotsPriorityQueue, which reads the file; or one that nothing is known of
        return
    folder = Path(job_folder(crawler.settings) or "", QUEUE_FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _STATE).write_text(json.dumps(state), encoding="utf-8")


def _by_slot(crawler: Crawler, job: Job) -> dict[str, list[int]]:
    state = {}
    for lane in job.lanes.names():
        request = _any_request(job, lane)
        if request is not None:
            state[_slot(crawler, request)] = _priorities(job, lane)
    return state


def _any_request(job: Job, lane: str) -> Request | None:
    """One of *lane*; None if none of them can be read."""
    for priority, starts in job.lanes.contents(lane):
        request = job.peek(lane, priority, starts=starts, newest=False)
        if request is not None:
            return request
    return None


def _priorities(job: Job, lane: str) -> list[int]:
    return sorted({priority for priority, _ in job.lanes.contents(lane)})


def _slot(crawler: Crawler, request: Request) -> str:
    return compat.slot_key(compat.engine_of(crawler).downloader, request)
