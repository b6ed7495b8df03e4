"""Where the requests of lanes are kept: in memory, or in a folder per lane inside a job."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.pqueues import ScrapyPriorityQueue

from scrapy_robots_plus.crawl import compat

from .in_memory import MemoryOrder, RequestsInMemory
from .lane_requests import LaneRequests, OpenFiles

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler
    from scrapy.pqueues import QueueProtocol

    from scrapy_robots_plus.hosts.host import Address, Requests

    from .losses import Losses


class LaneFiles:
    """Opens the requests of lanes: of new lanes, and of those left by an earlier run."""

    def __init__(
        self,
        crawler: Crawler,
        downstream: type[QueueProtocol],
        start_queue: type[QueueProtocol] | None,
        folder: str,
        losses: Losses,
    ) -> None:
        """*folder*: the job's; empty for a queue in memory."""
        self._crawler = crawler
        self._downstream = downstream
        self._start_queue = start_queue
        self._folder = folder
        self._memory_order = None if folder else MemoryOrder.of(downstream, start_queue)
        self._losses = losses
        self._open = OpenFiles()
        self._most = compat.most_queue_files()

    @property
    def are_too_many(self) -> bool:
        """Whether no more files may be opened, so that some are left for pages and robots.txt."""
        return bool(self._folder) and self._open.count >= self._most

    @property
    def changes(self) -> int:
        """How often a file was opened or closed."""
        return self._open.changes

    def open(self, address: Address, priorities: Iterable[int] = ()) -> Requests:
        """*priorities*: those for which an earlier run has left requests.

        Raises OSError if there are too many open files.
        """
        if self._memory_order is not None:
            return RequestsInMemory(self._memory_order)
        if self.are_too_many:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        self._clear(address, priorities)
        queue = ScrapyPriorityQueue.from_crawler(
            self._crawler,
            self._downstream,
            f"{self._folder}/{compat.path_safe(address.name)}",
            start_queue_cls=self._start_queue,
        )
        return LaneRequests(address.name, queue, self._losses, self._open, priorities)

    def remove(self, address: Address) -> None:
        """The lane is empty, and its files are closed."""
        if self._folder:
            with suppress(OSError):  # not empty: the queues left files behind
                self._path(address).rmdir()

    def _path(self, address: Address) -> Path:
        return Path(self._folder, compat.path_safe(address.name))

    def _clear(self, address: Address, priorities: Iterable[int]) -> None:
        """Moves away files that a killed job left at the path of a new lane.

        No state lists them, so nobody would read them, and a truncated file cannot be opened.
        """
        if not self._folder or not (folder := self._path(address)).exists():
            return
        named = compat.part_names(priorities)
        if not named:
            self._losses.set_aside(folder)
        elif folder.is_dir():
            for path in folder.iterdir():
                if path.name not in named:
                    self._losses.set_aside(path)
