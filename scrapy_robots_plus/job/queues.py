"""Disk queues and a duplicate filter for Scrapy that keep a job in one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.dupefilters import RFPDupeFilter
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import guarded
from scrapy_robots_plus.settings.scrapys_own import class_in, job_folder

from . import QUEUE_FOLDER, rank_of
from .job import Job
from .written import marshalled, pickled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from . import Contents

STATE = "active.json"
"""In the folder of Scrapy's queues, which find the requests of a job by it. The scheduler writes it
when it is closed: after a kill it is out of date, and after a full disk it is empty. So it is
written anew from the job's file before they read it."""


class JobQueue:
    """The requests of one lane with one priority, in the job's file.

    Scrapy's priority queues make one for each path below the job's ``requests.queue``: its folder
    is the name of the lane, its last part the priority, with an ``s`` for start requests.
    ``RobotsPriorityQueue`` makes none: it reads the file by lanes.
    """

    newest_first: ClassVar[bool]

    @staticmethod
    def dumps(fields: Any) -> bytes:
        """Turns the fields of a request into bytes."""
        raise NotImplementedError

    def __init__(self, crawler: Crawler, key: str) -> None:
        self._job = Job.of(crawler)
        folder = Path(job_folder(crawler.settings) or "", QUEUE_FOLDER)
        *lane, part = Path(key).relative_to(folder).parts
        self._lane = "/".join(lane)
        self._rank = rank_of(int(part.removesuffix("s")), part.endswith("s"))
        self._length = self._count()

    @classmethod
    def from_crawler(cls, crawler: Crawler, key: str, *_: Any, **__: Any) -> Self:
        """As Scrapy's priority queues make their queues."""
        return cls(crawler, key)

    def __len__(self) -> int:
        return self._length

    def push(self, request: Request) -> None:
        """Raises ValueError if the request cannot be written."""
        try:
            self._job.add(self._lane, self._rank, request, type(self).dumps)
        except Exception as error:
            self._job.stays_in_memory(request, error)
            raise ValueError(str(error)) from error
        self._length += 1

    def pop(self) -> Request | None:
        """The next request, which stays in the file until the engine has dealt with it."""
        request = self._job.take(self._lane, self._rank, newest=self.newest_first)
        self._length = self._length - 1 if request is not None else self._count()
        return request

    def peek(self) -> Request | None:
        """The next request, left in the file."""
        return self._job.peek(self._lane, self._rank, newest=self.newest_first)

    def close(self) -> None:
        """Nothing to do: the file is closed with the crawl."""

    def _count(self) -> int:
        return self._job.contents(self._lane).get(self._rank, 0)


class PickleLifoDiskQueue(JobQueue):
    """As Scrapy's queue of this name: the newest request first, written with :mod:`pickle`."""

    newest_first = True
    dumps = staticmethod(pickled)


class PickleFifoDiskQueue(JobQueue):
    """As Scrapy's queue of this name: the oldest request first, written with :mod:`pickle`."""

    newest_first = False
    dumps = staticmethod(pickled)


class MarshalLifoDiskQueue(JobQueue):
    """As Scrapy's queue of this name: the newest request first, written with :mod:`marshal`."""

    newest_first = True
    dumps = staticmethod(marshalled)


class MarshalFifoDiskQueue(JobQueue):
    """As Scrapy's queue of this name: the oldest request first, written with :mod:`marshal`."""

    newest_first = False
    dumps = staticmethod(marshalled)


class JobDupeFilter(RFPDupeFilter):
    """``DUPEFILTER_CLASS``: Scrapy's own, but the fingerprints are in the job's file.

    A fingerprint is written together with its request, so that neither is ever without the other.
    Without ``JOBDIR``, or for a crawler that does not crawl yet, it is Scrapy's own.
    """

    _job: Job | None = None
    crawler: Crawler | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """If the job's file cannot be used, raises JobFileError, which stops the crawl."""
        folder, debug = job_folder(crawler.settings), crawler.settings.getbool("DUPEFILTER_DEBUG")
        is_crawl = crawler.spider is not None
        path = None if is_crawl else folder
        dupefilter = cls(path, debug, fingerprinter=crawler.request_fingerprinter)
        if folder is not None and is_crawl:
            dupefilter._job = Job.of(crawler)
            dupefilter.crawler = crawler
            _restore_state(crawler, dupefilter._job)
        return dupefilter

    def request_seen(self, request: Request) -> bool:
        """Whether a request with the same fingerprint has been seen, in this or an earlier run."""
        if self._job is None:
            return super().request_seen(request)
        return self._is_seen(request, self._job)

    @guarded("the duplicate filter of the job", otherwise=False)
    def _is_seen(self, request: Request, job: Job) -> bool:
        return not job.see(request, self.fingerprinter.fingerprint(request))


def _restore_state(crawler: Crawler, job: Job) -> None:
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
    for lane, contents in job.wake(-1).items():
        for rank in contents:
            request = job.peek(lane, rank, newest=False)
            if request is not None:
                yield _slot(crawler, request), _priorities(contents)
                break


def _priorities(contents: Contents) -> list[int]:
    return sorted({rank >> 1 for rank in contents})


def _slot(crawler: Crawler, request: Request) -> str:
    return compat.slot_key(compat.engine_of(crawler).downloader, request)
