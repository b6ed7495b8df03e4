"""The requests of one lane. Some of its files may be unreadable."""

from __future__ import annotations

import errno
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from scrapy_robots_plus.crawl import compat

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request
    from scrapy.pqueues import ScrapyPriorityQueue

    from scrapy_robots_plus.crawl.compat import Part


class TellsLosses(Protocol):
    """Handles files that cannot be read: :class:`.losses.Losses`."""

    def requests(self, name: str, lost: int, error: Exception | None) -> None:
        """*lost* requests of the lane *name* are gone: the data in its file is not a request."""

    def file(self, name: str, path: Path, lost: int | None, error: Exception | None) -> None:
        """Nothing more can be read from *path*, which should have held *lost* requests."""


class OpenFiles:
    """How many files the lanes of a queue have open."""

    count = 0
    changes = 0
    """How often it has changed."""

    def add(self, number: int) -> None:
        """So many more are open."""
        self.count += number
        self.changes += bool(number)


class LaneRequests:
    """A ``ScrapyPriorityQueue`` that continues when one of its files is damaged.

    It has a queue for each priority, with a file or folder each. If one fails, Scrapy's classes
    raise on every call. Here it is removed and reported to *losses*, and the others continue.
    """

    def __init__(
        self,
        name: str,
        queue: ScrapyPriorityQueue,
        losses: TellsLosses,
        files: OpenFiles,
        priorities: Iterable[int] = (),
    ) -> None:
        """*priorities*: those for which an earlier run has left requests.

        Raises OSError if there are too many open files.
        """
        self._name = name
        self._queue = queue
        self._losses = losses
        self._all_files = files
        self._files = 0
        self._count = 0
        for priority in priorities:
            for starts in (False, True):
                self._open(priority, starts=starts)
        self._count_files()

    def __len__(self) -> int:
        return self._count

    @property
    def priority(self) -> int:
        """The priority of the next request; the lowest number is the most urgent."""
        return compat.best_priority(self._queue)

    def push(self, request: Request) -> None:
        """Raises ValueError if the request cannot be written to disk, OSError if none can."""
        try:
            self._queue.push(request)
        except BaseException:
            self._drop_empty()
            raise
        self._count += 1
        self._count_files()

    def pop(self) -> Request | None:
        """The next request that can be read; None if none is left."""
        request, lost, error = None, 0, None
        while self._count and request is None:
            try:
                request = self._queue.pop()
            except Exception as exception:  # noqa: BLE001 - files may contain anything
                error = exception
            if request is None:
                lost += self._look_after(error)
            else:
                self._count -= 1
            self._count_files()
        if lost:
            self._losses.requests(self._name, lost, error)
        return request

    def peek(self) -> Request | None:
        """The next request, left in the queue; None if the queue cannot tell."""
        return compat.next_request(self._queue)

    def priorities(self) -> list[int]:
        """Those that have requests."""
        parts = compat.parts_of(self._queue)
        return sorted({part.priority for part in parts if _length(part)})

    def close(self) -> list[int]:
        """Closes the files; returns the priorities that have requests."""
        priorities = set()
        for part in compat.parts_of(self._queue):
            held = _length(part)
            if held:
                priorities.add(part.priority)
            try:
                part.queue.close()
            except Exception as error:  # noqa: BLE001 - the other files must be closed
                if held:
                    self._losses.requests(self._name, held, error)
        self._count = 0
        self._all_files.add(-self._files)
        self._files = 0
        return sorted(priorities)

    def _open(self, priority: int, *, starts: bool) -> None:
        try:
            compat.open_part(self._queue, priority, starts=starts)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
                self.close()
                raise
            path = Path(self._queue.key, compat.part_name(priority, starts=starts))
            self._losses.file(self._name, path, None, error)
        else:
            self._count = self._recount()

    def _look_after(self, error: Exception | None) -> int:
        """Handles a request that could not be read. Returns how many are lost without a file."""
        left = self._recount()
        lost, self._count = self._count - left, left
        part = compat.part_in_turn(self._queue)
        if not lost and part is not None and compat.count_parts(self._queue) == self._files:
            self._set_aside(part, error)  # no progress, and there never will be
        return lost

    def _set_aside(self, part: Part, error: Exception | None) -> None:
        held = _length(part)
        compat.take_out(self._queue, part)
        self._count -= held
        with suppress(Exception):
            part.queue.close()
        self._losses.file(self._name, Path(self._queue.key, part.name), held, error)

    def _drop_empty(self) -> None:
        """Removes the empty queue that a failed push has created."""
        for part in compat.parts_of(self._queue):
            if not _length(part):
                compat.take_out(self._queue, part)
                with suppress(Exception):
                    part.queue.close()

    def _count_files(self) -> None:
        files = compat.count_parts(self._queue)
        self._all_files.add(files - self._files)
        self._files = files

    def _recount(self) -> int:
        return sum(_length(part) for part in compat.parts_of(self._queue))


def _length(part: Part) -> int:
    """The length that the queue reports; 0 if it cannot tell."""
    try:
        return len(part.queue)
    except Exception:  # noqa: BLE001 - a database, for example
        return 0
