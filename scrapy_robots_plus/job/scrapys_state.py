"""What Scrapy keeps beside the file of a job.

Its own priority queues find the requests of a job by ``active.json``, which the scheduler writes
when it is closed. So it is written anew from the job's file before they read it: after a kill it is
out of date, and after a full disk it is empty, as is ``spider.state``.
"""

from __future__ import annotations

import json
import logging
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue

from scrapy_robots_plus import compat
from scrapy_robots_plus.settings.scrapys_own import class_in, job_folder

from . import QUEUE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from . import Contents
    from .job import Job

logger = logging.getLogger(__name__)

STATE = "active.json"
"""In the folder of Scrapy's queues."""

_PICKLE_ENDS = b"."


def forget_state(settings: BaseSettings) -> None:
    """Removes ``active.json`` if nobody needs it, or nobody can read it."""
    path = Path(job_folder(settings) or "", QUEUE_FOLDER, STATE)
    with suppress(OSError):
        scrapys = (DownloaderAwarePriorityQueue, ScrapyPriorityQueue)
        queue = class_in(settings, "SCHEDULER_PRIORITY_QUEUE")
        if not issubclass(queue, scrapys) or not _is_json(path):
            path.unlink()


def keep_spider_state(folder: str) -> None:
    """Keeps a copy of ``spider.state``. Puts it back if Scrapy has left the file cut off or empty:
    with a full disk, or after a start that failed.
    """
    path = Path(folder, "spider.state")
    copy = path.with_name(f"{path.name}.kept")
    with suppress(FileNotFoundError):
        if path.read_bytes().endswith(_PICKLE_ENDS):
            with suppress(OSError):  # a full disk
                shutil.copyfile(path, copy.with_suffix(".part"))
                copy.with_suffix(".part").replace(copy)
            return
        logger.warning("%s is cut off. %s", path, _instead(path, copy))


def _instead(path: Path, copy: Path) -> str:
    try:
        shutil.copyfile(copy, path)
    except OSError:
        path.unlink()
        return "The spider begins with an empty state"
    return "The spider begins with the state that the run before had left"


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True


def restore_state(crawler: Crawler, job: Job) -> None:
    """Names the lanes as the priority queue in use names its folders, and writes its state."""
    queue = class_in(crawler.settings, "SCHEDULER_PRIORITY_QUEUE")
    if issubclass(queue, DownloaderAwarePriorityQueue):
        job.name_lanes("slots", lambda request: compat.path_safe(_slot(crawler, request)))
        state: Any = dict(_by_slot(crawler, job))
    elif issubclass(queue, ScrapyPriorityQueue):
        job.name_lanes("none", lambda _: "")
        state = _priorities(job.contents(""))
    else:  # RobotsPriorityQueue, which reads the file; or one that nothing is known of
        return
    folder = Path(job_folder(crawler.settings) or "", QUEUE_FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / STATE).write_text(json.dumps(state), encoding="utf-8")


def _by_slot(crawler: Crawler, job: Job) -> Iterator[tuple[str, list[int]]]:
    """The priorities of each lane, with the slot that one of its requests tells."""
    for lane in job.names():
        contents = job.contents(lane)
        for rank in contents:
            request = job.peek(lane, rank, newest=False)
            if request is not None:
                yield _slot(crawler, request), _priorities(contents)
                break


def _priorities(contents: Contents) -> list[int]:
    return sorted({rank >> 1 for rank in contents})


def _slot(crawler: Crawler, request: Request) -> str:
    return compat.slot_key(compat.engine_of(crawler).downloader, request)
