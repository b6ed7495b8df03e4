"""When a job is kept in one file: which settings say so."""

from __future__ import annotations

import logging
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.core.scheduler import Scheduler
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from scrapy_robots_plus import compat
from scrapy_robots_plus.settings.scrapys_own import (
    class_in,
    has_our_priority_queue,
    is_chosen,
    job_folder,
)

from . import FILE_NAME, QUEUE_FOLDER, JobFileError, overview
from .job import Job
from .queues import JobDupeFilter, JobQueue, PickleFifoDiskQueue, PickleLifoDiskQueue
from .recent import recent_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

_QUEUES = ("SCHEDULER_DISK_QUEUE", "SCHEDULER_START_DISK_QUEUE")

_STATE = "active.json"
"""Scrapy's scheduler writes it, into the folder of the queues, when it is closed, and reads it when
a job is resumed. Nothing in it is needed for a job in one file, and a full disk leaves it empty."""
_NO_FILES = (b"", b"[]", b"{}", b'{"%b": []}' % FILE_NAME.encode())
"""What it says without requests in other files; the last is that of a job in one file."""


def keep_job_in_one_file(settings: BaseSettings) -> None:
    """Sets queues and duplicate filter at add-on priority, if there is a job that they fit."""
    folder = _folder(settings)
    if folder is None or not has_our_priority_queue(settings) or is_in_files(folder):
        return
    if any(is_chosen(settings, name) and not _is_ours(settings, name) for name in _QUEUES):
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
    settings, folder = crawler.settings, _folder(crawler.settings)
    if folder is None or crawler.spider is None:  # somebody only looks at the settings
        return
    try:
        _check_settings(settings, folder)
    except JobFileError as error:
        compat.end_crawl(crawler, error)
        raise
    if keeps_one_file(settings):
        Job.of(crawler)
        with suppress(OSError):  # Scrapy says which of its files it cannot read or write
            (folder / QUEUE_FOLDER / _STATE).unlink()
    with suppress(OSError):
        _keep_spider_state(folder / "spider.state")


def keeps_one_file(settings: BaseSettings) -> bool:
    """Whether the queues in use keep the job in one file."""
    return has_our_priority_queue(settings) and all(_is_ours(settings, name) for name in _QUEUES)


def is_in_files(folder: Path) -> bool:
    """Whether the job in *folder* was begun with files, as Scrapy's own queues keep it."""
    if (folder / FILE_NAME).exists():
        return False
    with suppress(OSError):
        if (folder / "requests.seen").stat().st_size > 0:
            return True
    with suppress(OSError):
        return any(map(_holds_requests, (folder / QUEUE_FOLDER).iterdir()))
    return False


def _holds_requests(path: Path) -> bool:
    """Whether *path*, in the folder of the queue, says so."""
    return path.name != _STATE or path.read_bytes() not in _NO_FILES


def _folder(settings: BaseSettings) -> Path | None:
    """That of the job; None if there is none, or no scheduler that this package knows."""
    folder = job_folder(settings)
    if folder is None or Scheduler not in class_in(settings, "SCHEDULER").__mro__:
        return None
    return Path(folder)


def _is_ours(settings: BaseSettings, name: str) -> bool:
    """Whether the queue on disk that *name* says is one of ours, or as the other."""
    queue = class_in(settings, name) or class_in(settings, "SCHEDULER_DISK_QUEUE")
    return issubclass(queue, JobQueue)


def _check_settings(settings: BaseSettings, folder: Path) -> None:
    """Raises JobFileError if the queues in use would not find the requests of the job."""
    path, names = folder / FILE_NAME, " and ".join(_QUEUES)
    needed = (
        f"set {names} from scrapy_robots_plus.job.queues, and no other SCHEDULER_PRIORITY_QUEUE "
        "than that of this package"
    )
    if keeps_one_file(settings):
        if is_in_files(folder):
            what = "does not exist, and the requests of this job are in files of their own"
            to_do = 'Convert the job with "scrapy robots job convert JOBDIR"'
            raise JobFileError(
                path, what, f"{to_do}, or set the SCHEDULER_DISK_QUEUE it began with"
            )
    elif any(_is_ours(settings, name) for name in _QUEUES):
        what = "would hold a part of the requests only: the queues are of two kinds"
        raise JobFileError(path, what, f"To have one file, {needed}")
    elif path.exists():
        held = overview(path, 0)
        if held.stored or held.fingerprints:
            what = "holds the requests of this job, and the queues are of another kind"
            raise JobFileError(path, what, f"To resume it, {needed}; or choose another JOBDIR")
        for each in (path, recent_of(path)):  # the job is in other files from now on
            each.unlink(missing_ok=True)


def _keep_spider_state(path: Path) -> None:
    """Keeps a copy of ``spider.state``. Puts it back if Scrapy has left the file cut off or empty:
    with a full disk, or after a start that failed.
    """
    copy, part = path.with_suffix(".state.kept"), path.with_suffix(".state.part")
    if not path.exists():
        return
    if path.read_bytes().endswith(b"."):
        with suppress(OSError):  # a full disk
            shutil.copyfile(path, part)
            part.replace(copy)
        return
    try:
        shutil.copyfile(copy, path)
        begins_with = "the state that the run before had left"
    except OSError:
        path.unlink()
        begins_with = "an empty state"
    logger.warning("%s is cut off. The spider begins with %s", path, begins_with)
