"""When a job is kept in one file: which settings say so."""

from __future__ import annotations

import json
import logging
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.core.scheduler import Scheduler
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from scrapy_robots_plus import compat
from scrapy_robots_plus.settings.scrapys_own import class_in, is_chosen, job_folder

from . import FILE_NAME, QUEUE_FOLDER, JobFileError, overview
from .job import Job
from .queues import STATE, JobDupeFilter, JobQueue, PickleFifoDiskQueue, PickleLifoDiskQueue

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

_QUEUES = ("SCHEDULER_DISK_QUEUE", "SCHEDULER_START_DISK_QUEUE")


def keep_job_in_one_file(settings: BaseSettings) -> None:
    """Sets queues and duplicate filter at add-on priority, if there is a job that they fit."""
    folder = job_folder(settings)
    if folder is None or Scheduler not in class_in(settings, "SCHEDULER").__mro__:
        return
    chosen = [class_in(settings, name) for name in _QUEUES if is_chosen(settings, name)]
    if is_in_files(folder) or not all(map(_is_ours_or_none, chosen)):
        return
    settings.set("SCHEDULER_DISK_QUEUE", PickleLifoDiskQueue, "addon")
    settings.set("SCHEDULER_START_DISK_QUEUE", PickleFifoDiskQueue, "addon")
    settings.set("DUPEFILTER_CLASS", JobDupeFilter, "addon")


def looks_at_one_page(crawler: Crawler, settings: BaseSettings) -> bool:
    """Whether this is ``scrapy shell``, ``fetch``, ``view`` or ``parse``, and not a crawl.

    They run a spider whose ``start()`` they have replaced; the shell has a duplicate filter of its
    own.
    """
    start = getattr(crawler.spidercls, "start", None)
    command = SETTINGS_PRIORITIES["command"]
    in_shell = settings.getpriority("DUPEFILTER_CLASS") == command
    return in_shell or (getattr(start, "__module__", None) or "").startswith("scrapy.commands.")


def leave_job_alone(settings: BaseSettings) -> None:
    """Unsets a ``JOBDIR`` of the project: its requests and what it has seen are of its crawls."""
    priority = settings.getpriority("JOBDIR") or 0
    if job_folder(settings) is not None and priority < SETTINGS_PRIORITIES["cmdline"]:
        settings.set("JOBDIR", None, priority)


def open_job(crawler: Crawler) -> None:
    """Opens the file of the job if there is one, before anything else of the crawl begins.

    If it cannot be used, or the settings do not fit to the job, raises JobFileError, which stops
    the crawl. Nothing in the folder has changed then: a start that fails later makes Scrapy empty
    ``spider.state``.
    """
    settings, folder = crawler.settings, job_folder(crawler.settings)
    if crawler.spider is None:  # somebody only looks at the settings
        return
    if folder is None or Scheduler not in class_in(settings, "SCHEDULER").__mro__:
        return
    try:
        _check_settings(settings, Path(folder))
    except JobFileError as error:
        compat.end_crawl(crawler, error)
        raise
    if keeps_one_file(settings):
        Job.of(crawler)
        _forget_state(settings)
    _keep_spider_state(folder)


def _check_settings(settings: BaseSettings, folder: Path) -> None:
    """Raises JobFileError if the queues in use would not find the requests of the job."""
    path, disk = folder / FILE_NAME, class_in(settings, "SCHEDULER_DISK_QUEUE")
    queues = {disk, class_in(settings, "SCHEDULER_START_DISK_QUEUE") or disk}
    names = f"{' and '.join(_QUEUES)} from scrapy_robots_plus.job.queues"
    if len({issubclass(queue, JobQueue) for queue in queues}) == 2:
        what = "would hold a part of the requests only: the queues on disk are of two kinds"
        raise JobFileError(path, what, f"Set {names}, or none of them")
    if keeps_one_file(settings) and is_in_files(str(folder)):
        what = "does not exist, and the requests of this job are in files of their own"
        to_do = 'Convert the job with "scrapy robots job convert JOBDIR"'
        raise JobFileError(path, what, f"{to_do}, or set the SCHEDULER_DISK_QUEUE it began with")
    if not keeps_one_file(settings) and path.exists():
        held = overview(path, 0)
        if held.stored or held.fingerprints:
            what = "holds the requests of this job, and SCHEDULER_DISK_QUEUE is of another kind"
            raise JobFileError(path, what, f"Set {names}, as it was begun, or another JOBDIR")


def _forget_state(settings: BaseSettings) -> None:
    """Removes ``active.json`` if nobody needs it, or nobody can read it."""
    path = Path(job_folder(settings) or "", QUEUE_FOLDER, STATE)
    with suppress(OSError):
        scrapys = (DownloaderAwarePriorityQueue, ScrapyPriorityQueue)
        queue = class_in(settings, "SCHEDULER_PRIORITY_QUEUE")
        if not issubclass(queue, scrapys) or not _is_json(path):
            path.unlink()


def _keep_spider_state(folder: str) -> None:
    """Keeps a copy of ``spider.state``. Puts it back if Scrapy has left the file cut off or empty:
    with a full disk, or after a start that failed.
    """
    path = Path(folder, "spider.state")
    copy = path.with_name(f"{path.name}.kept")
    with suppress(FileNotFoundError):
        if path.read_bytes().endswith(b"."):
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


def keeps_one_file(settings: BaseSettings) -> bool:
    """Whether the queue on disk is one of ours."""
    return issubclass(class_in(settings, "SCHEDULER_DISK_QUEUE"), JobQueue)


def is_in_files(folder: str) -> bool:
    """Whether the job in *folder* was begun with files, as Scrapy's own queues keep it."""
    if Path(folder, FILE_NAME).exists():
        return False
    seen, queue = Path(folder, "requests.seen"), Path(folder, QUEUE_FOLDER)
    try:
        if seen.exists() and seen.stat().st_size > 0:
            return True
        return any(map(_holds_requests, queue.iterdir()))
    except OSError:
        return False


def _is_ours_or_none(queue: type | None) -> bool:
    return queue is None or issubclass(queue, JobQueue)


def _holds_requests(path: Path) -> bool:
    """Whether *path*, in the folder of the queue, says so. An empty state is two brackets."""
    return path.name != STATE or path.stat().st_size > len("[]")
