"""The folder of a job (``JOBDIR``): which one, and whether the settings fit what is in it.

The records of robots.txt files are in the same folder, where ``origins/crawl_store.py`` keeps them.
"""

from __future__ import annotations

import logging
import shutil
from contextlib import suppress
from pathlib import Path

from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from scrapy_robots_plus import compat
from scrapy_robots_plus.settings.scrapys_own import class_in, has_our_priority_queue, job_folder

from . import FILE_NAME, QUEUE_FOLDER, JobFileError, overview
from .job import Job
from .recent_steps import recent_of

logger = logging.getLogger(__name__)

_STATE = "active.json"
"""The file, in the folder of the queues, that Scrapy's scheduler writes when it is closed and reads
when a job is resumed. A job in one file does not need it, and a full disk leaves it empty."""
_NO_FILES = (b"", b"[]", b"{}", b'{"%b": []}' % FILE_NAME.encode())
"""The contents of ``active.json`` if no requests are in files; the last, of a job in one file."""


def folder_for(crawler: Crawler) -> Path | None:
    """Returns the folder of the job that *crawler* begins or resumes; None if it has none.

    Unsets ``JOBDIR`` for a command that looks at one page, unless it was set on the command line:
    the requests and fingerprints of a job belong to the project's crawls.
    """
    settings = crawler.settings
    priority = settings.getpriority("JOBDIR") or 0
    if looks_at_one_page(crawler) and priority < SETTINGS_PRIORITIES["cmdline"]:
        settings.set("JOBDIR", None, priority)
    return folder_of_job(settings)


def looks_at_one_page(crawler: Crawler) -> bool:
    """Returns whether this is ``scrapy shell``, ``fetch``, ``view`` or ``parse``, not a crawl.

    These commands replace the ``start()`` of the spider; the shell sets a duplicate filter of its
    own.
    """
    start = getattr(crawler.spidercls, "start", None)
    command = SETTINGS_PRIORITIES["command"]
    in_shell = crawler.settings.getpriority("DUPEFILTER_CLASS") == command
    return in_shell or (getattr(start, "__module__", None) or "").startswith("scrapy.commands.")


def open_job(crawler: Crawler) -> None:
    """Opens the file of the crawl's job, if it has one, before anything else of the crawl begins.

    Raises JobFileError, which stops the crawl, if the file cannot be used or the settings do not
    fit the job. Nothing in the folder has changed then; if a start fails later, Scrapy empties
    ``spider.state``.
    """
    settings, folder = crawler.settings, folder_of_job(crawler.settings)
    if folder is None or crawler.spider is None:  # a command that only reads the settings
        return
    try:
        _check_settings(settings, folder)
    except JobFileError as error:
        compat.end_crawl(crawler, error)
        raise
    if has_our_priority_queue(settings):
        Job.of(crawler)
        with suppress(OSError):  # Scrapy says which of its files it cannot read or write
            (folder / QUEUE_FOLDER / _STATE).unlink()
    with suppress(OSError):
        _keep_spider_state(folder / "spider.state")


def is_in_files(folder: Path) -> bool:
    """Returns whether the job in *folder* was begun with files, as Scrapy's own queues keep it."""
    if (folder / FILE_NAME).exists():
        return False
    with suppress(OSError):
        if (folder / "requests.seen").stat().st_size > 0:
            return True
    with suppress(OSError):
        paths = (folder / QUEUE_FOLDER).iterdir()
        return any(path.name != _STATE or path.read_bytes() not in _NO_FILES for path in paths)
    return False


def folder_of_job(settings: BaseSettings) -> Path | None:
    """Returns ``JOBDIR``; None if it is unset, or ``SCHEDULER`` does not derive from Scrapy's."""
    folder = job_folder(settings)
    if folder is None or Scheduler not in class_in(settings, "SCHEDULER").__mro__:
        return None
    return Path(folder)


def _check_settings(settings: BaseSettings, folder: Path) -> None:
    """Raises JobFileError if the queue in use would not find the requests of the job."""
    path = folder / FILE_NAME
    if has_our_priority_queue(settings):
        if is_in_files(folder):
            what = "does not exist, and the requests of this job are in files of their own"
            to_do = 'Convert the job with "scrapy robots job convert JOBDIR", or resume it with '
            raise JobFileError(path, what, f"{to_do}the SCHEDULER_PRIORITY_QUEUE it began with")
    elif path.exists():
        held = overview(path, 0)
        if held.stored or held.fingerprints:
            what = "holds this job, but SCHEDULER_PRIORITY_QUEUE is not "
            what += "RobotsPriorityQueue or a subclass of it"
            to_do = "To resume it, set that and the queues of Scrapy's own that it began with"
            raise JobFileError(path, what, f"{to_do}; or choose another JOBDIR")
        for each in (path, recent_of(path)):  # the job is in other files from now on
            each.unlink(missing_ok=True)


def _keep_spider_state(path: Path) -> None:
    """Copies ``spider.state``, or puts the copy back if Scrapy left the file cut off or empty.

    Scrapy does so if the disk is full, or after a start that failed.
    """
    copy, part = path.with_suffix(".state.kept"), path.with_suffix(".state.part")
    if not path.exists():
        return
    if path.read_bytes().endswith(b"."):  # as every complete pickle
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
