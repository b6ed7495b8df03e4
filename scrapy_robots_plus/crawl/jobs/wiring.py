"""When a job is kept in one file: which settings say so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.core.scheduler import Scheduler
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.misc import load_object

from scrapy_robots_plus.crawl.settings import job_folder, scheduler_class
from scrapy_robots_plus.frontier import FILE_NAME

from .dupefilter import JobDupeFilter
from .queues import QUEUE_FOLDER, JobQueue, PickleFifoDiskQueue, PickleLifoDiskQueue

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

_QUEUE = "SCHEDULER_DISK_QUEUE"
_START_QUEUE = "SCHEDULER_START_DISK_QUEUE"


def keep_job_in_one_file(settings: BaseSettings) -> None:
    """Sets queues and duplicate filter at add-on priority, if there is a job that they fit."""
    folder = job_folder(settings)
    if folder is None or Scheduler not in scheduler_class(settings).__mro__:
        return
    if is_in_files(folder) or not _may_set(settings, _QUEUE):
        return
    if not _may_set(settings, _START_QUEUE) and settings[_START_QUEUE]:
        return
    settings.set(_QUEUE, PickleLifoDiskQueue, "addon")
    settings.set(_START_QUEUE, PickleFifoDiskQueue, "addon")
    settings.set("DUPEFILTER_CLASS", JobDupeFilter, "addon")


def is_in_files(folder: str) -> bool:
    """Whether the job in *folder* was begun with files, as Scrapy's own queues keep it."""
    if Path(folder, FILE_NAME).exists():
        return False
    seen, queue = Path(folder, "requests.seen"), Path(folder, QUEUE_FOLDER)
    try:
        return (seen.exists() and seen.stat().st_size > 0) or any(queue.iterdir())
    except OSError:
        return False


def _may_set(settings: BaseSettings, name: str) -> bool:
    """Whether the project leaves the choice to us, or chose one of our classes."""
    if (settings.getpriority(name) or 0) < SETTINGS_PRIORITIES["addon"]:
        return True
    chosen = settings[name]
    return bool(chosen) and issubclass(load_object(chosen), JobQueue)
