"""The requests of one lane, some of which may be in files that cannot be read."""

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
    """What becomes of files that cannot be read: :class:`.losses.Losses`."""

    def requests(self, name: str, lost: int, error: Exception | None) -> None:
        """*lost* requests of the lane *name* are gone: what was read from its file is none."""

    def file(self, name: str, path: Path, lost: int | None, error: Exception | None) -> None:
        """Nothing more can be read from *path*, which should have held *lost* requests."""


class OpenFiles:
    """How many files the lanes of a queue have open."""

    count = 0


class LaneRequests:
    """A ``ScrapyPriorityQueue`` that goes on where one of its files is damaged.

    It has a queue for each priority, with a file or folder each. Where one fails, Scrapy's classes
    raise each time they are asked. Here it is taken out and told to *losses*, and the others go on.
    """

    def __init__(
        self,
        name: str,
        queue: ScrapyPriorityQueue,
        losses: TellsLosses,
        files: OpenFiles,
        priorities: Iterable[int] = (),
    ) -> None:
        """*priorities*: those that a former crawl has left requests of.

        Raises OSError where there are too many open files.
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
        """That of the next request; the lowest number is the most urgent."""
        return compat.best_priority(self._queue)

    def push(self, request: Request) -> None:
        """Raises ValueError where the request cannot be put on disk, OSError where nothing can."""
        try:
            self._queue.push(request)
        except BaseException:
            self._drop_empty()
            raise
        self._count += 1
        self._count_files()

    def pop(self) -> Request | None:
        """The next request that can be read; None where there is none left."""
        request, lost, error = None, 0, None
        while self._count and request is None:
            try:
                request = self._queue.pop()
            except Exception as exception:  # noqa: BLE001 - files hold what they hold
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
        """The next request, left where it is; None where the queue cannot tell."""
        return compat.next_request(self._queue)

    def close(self) -> list[int]:
        """Closes the files; returns the priorities of which there are requests."""
        priorities = set()
        for part in compat.parts_of(self._queue):
            held = _length(part)
            if held:
                priorities.add(part.priority)
            try:
                part.queue.close()
            except Exception as error:  # noqa: BLE001 - the other files are to be closed
                if held:
                    self._losses.requests(self._name, held, error)
        self._count = 0
        self._all_files.count -= self._files
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
        """There was no request. Returns how many are gone with it, of no file that is kept."""
        left = self._recount()
        lost, self._count = self._count - left, left
        part = compat.part_in_turn(self._queue)
        if not lost and part is not None and compat.count_parts(self._queue) == self._files:
            self._set_aside(part, error)  # nothing has changed, and nothing ever will
        return lost

    def _set_aside(self, part: Part, error: Exception | None) -> None:
        held = _length(part)
        compat.take_out(self._queue, part)
        self._count -= held
        with suppress(Exception):
            part.queue.close()
        self._losses.file(self._name, Path(self._queue.key, part.name), held, error)

    def _drop_empty(self) -> None:
        """After a push that failed: of a queue made for it."""
        for part in compat.parts_of(self._queue):
            if not _length(part):
                compat.take_out(self._queue, part)
                with suppress(Exception):
                    part.queue.close()

    def _count_files(self) -> None:
        files = compat.count_parts(self._queue)
        self._all_files.count += files - self._files
        self._files = files

    def _recount(self) -> int:
        return sum(_length(part) for part in compat.parts_of(self._queue))


def _length(part: Part) -> int:
    """How many requests there are, by what the queue says of itself; 0 where it cannot tell."""
    try:
        return len(part.queue)
    except Exception:  # noqa: BLE001 - a data base, say
        return 0
