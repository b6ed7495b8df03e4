"""The steps done since a job's file was last written, in a file beside it.

SQLite writes whole pages, and most pages that a request touches have no other changes: 20 to 45 kB
for each request, if each is to survive a kill. Here each step is a few bytes at the end of a file.
Only once in tens of thousands of steps do all of them go to the pages together.
"""

from __future__ import annotations

import errno
import marshal
import os
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from io import FileIO

    from scrapy_robots_plus.storage.sqlite_file import Identity

Done = tuple[Any, ...]
"""One step: its kind, of :class:`Step`, then the values it was done with."""

MOST_OCTETS = 64 << 20
MOST_STEPS = 500_000
"""The limit of steps, which a start after a kill repeats, at some microseconds each."""

_HEAD = Struct(">2I")
"""The head of each block: its length and checksum."""


class Step:
    """Kinds of steps with requests, fingerprints and notes. Numbers, as marshal knows no enums."""

    ADD = 1
    MOVE = 2
    """A request moved to another :class:`~scrapy_robots_plus.job.schema.RequestState`."""
    END = 3
    SEE = 4
    NOTE = 5
    DAMAGE = 6
    """Damage was found: the job's file must be mended before it is used."""


class Found(NamedTuple):
    """The contents of a file of steps."""

    generation: int | None
    """The generation of the job's file that the steps follow; None if it cannot be read."""
    file: Identity | None
    """The identity of the job's file that the steps follow: a copy has another."""
    done: list[Done]
    is_whole: bool
    """Whether nothing is damaged. A block that a kill has cut off is no damage."""

    @property
    def damage(self) -> str:
        """The damage for which the last run gave the job's file up; empty if there was none."""
        return next((what for step, what, *_ in self.done[-1:] if step == Step.DAMAGE), "")


def recent_of(path: Path) -> Path:
    """Returns the path of the file of steps, beside the job's file at *path*."""
    return path.with_name(f"{path.name}-recent")


def read_recent(path: Path) -> Found:
    """Reads the steps in the file at *path*, up to the first block that is damaged."""
    data = path.read_bytes() if path.exists() else b""
    blocks, at, is_whole = list[list[Any]](), 0, True
    while at + _HEAD.size <= len(data):
        size, crc = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        block = data[at : at + size]
        if not size or crc32(block) != crc:  # a power failure may leave zeros
            is_whole = len(block) < size
            break
        blocks.append(marshal.loads(block))  # noqa: S302 - our own, with a checksum
        at += size
    generation, *file = blocks[0] if blocks else [None]
    done = [each for block in blocks[1:] for each in block]
    return Found(generation, tuple(file) or None, done, is_whole and bool(blocks))


class RecentSteps:
    """A writer of steps. Raises OSError if it cannot write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: FileIO | None = None
        self._octets = 0
        self._steps = 0

    @property
    def has_begun(self) -> bool:
        """Whether the file says what its steps follow."""
        return self._octets > 0

    @property
    def has_room(self) -> bool:
        """Whether more steps may be added: the file of steps is not full, and was not deleted."""
        is_full = self._octets > MOST_OCTETS or self._steps > MOST_STEPS
        return not is_full and self.path.exists()

    def begin(self, generation: int, file: Identity | None) -> None:
        """Drops all steps: they are in the job's *file*, which now has this *generation*."""
        self.close()
        self._octets = self._steps = 0
        self._file = self.path.open("wb", buffering=0)
        self._append([generation, *(file or ())])

    def write(self, done: list[Done]) -> None:
        """Appends the steps *done*, which survive a kill from now on, and clears that list."""
        if done:
            self._append(done)
            self._steps += len(done)
            done.clear()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __del__(self) -> None:
        self.close()

    def _append(self, content: list[Any]) -> None:
        block = marshal.dumps(content)
        data = _HEAD.pack(len(block), crc32(block)) + block
        if self._file is None or self._file.write(data) != len(data):
            if self._file is not None:  # a note may find the room that this does not
                self._file.seek(self._file.truncate(self._octets))
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._octets += len(data)
