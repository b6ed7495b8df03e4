"""The file of a job."""

from __future__ import annotations

import sqlite3
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from scrapy_robots_plus.storage.sqlite.file import FAULTS

from .keeper import Keeper
from .tables.open_job import LOSSES, losses_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import TracebackType

    from typing_extensions import Self

    from .tables.rows import AsideRequest, Contents, LaneRow, Taken

_T = TypeVar("_T")
_P = ParamSpec("_P")


def _guarded(
    work: Callable[Concatenate[JobFile, _P], _T],
) -> Callable[Concatenate[JobFile, _P], _T]:
    """Does *work* again after a damaged file was mended. Raises JobFileError for other faults."""

    @wraps(work)
    def guarded(self: JobFile, /, *arguments: _P.args, **named: _P.kwargs) -> _T:
        self._keeper.check()
        while True:
            try:
                return work(self, *arguments, **named)
            except (*FAULTS, OverflowError) as error:  # noqa: PERF203 - what the loop is for
                self._keeper.mend(error)

    return guarded


class JobFile:
    """All requests of a job, in lanes, those under way, and the fingerprints of all seen.

    Everything goes into one transaction until :meth:`commit`: at any moment, the file on disk is
    as it was after some commit, whatever happens to the process. Priorities are those of Scrapy's
    queues: the lowest number is the most urgent.

    Each method raises JobFileError when the file cannot be used any longer: the disk is full, or
    it was replaced. The file stays as it was after the last commit. A damaged file is mended with
    all that can be read; see :attr:`lost`.
    """

    def __init__(self, path: Path | str) -> None:
        """Opens the file at *path*, or creates it.

        Raises JobFileError if it is in use, not ours, too new or not writable.
        """
        self._keeper = Keeper(Path(path))
        self.path = self._keeper.path
        self.was_killed = self._keeper.job.was_killed
        """Whether the last run did not close the file."""
        self.newly_aside: list[AsideRequest] = self._keeper.newly_aside
        """Set aside when this run began: each was under way, alone, at the last kill."""

    @property
    def held(self) -> int:
        """Requests that wait in lanes."""
        return self._keeper.job.waiting

    @property
    def last(self) -> int:
        """Requests that wait until nothing else is left: see :meth:`take_last`."""
        return self._keeper.job.states.last

    @property
    def aside(self) -> int:
        """Requests that are set aside: see :meth:`set_aside`."""
        return self._keeper.job.states.aside

    @property
    def under_way(self) -> int:
        """Requests taken and not ended."""
        return self._keeper.job.states.under_way

    @property
    def stored(self) -> int:
        """Requests in any state: waiting, under way, set aside."""
        return self._keeper.job.stored

    @property
    def lost(self) -> int:
        """Requests that could not be read from a damaged file, as far as they could be counted."""
        return self._keeper.lost

    @property
    def recovered(self) -> int:
        """Requests that were under way when the last run was killed."""
        return self._keeper.recovered

    @property
    def troubles(self) -> list[str]:
        """What a user must know: damage, and what became of it. Log it and clear it."""
        return self._keeper.troubles

    @property
    def asleep(self) -> int:
        """How many lanes are asleep."""
        return self._keeper.job.lanes.asleep

    @_guarded
    def add(
        self, lane: str, priority: int, data: bytes, *, starts: bool = False, hard_ends: int = 0
    ) -> None:
        """*data* waits in *lane*. A new lane is asleep.

        *hard_ends*: those of the request so far, if it is one of the last. Raises ValueError for
        what cannot be stored: more than 1 GB, a name that is not Unicode, a priority of more than
        64 bits.
        """
        self._keeper.job.add(lane, priority, data, starts, hard_ends)

    @_guarded
    def take(self, lane: str, priority: int, *, starts: bool, newest: bool) -> Taken | None:
        """The newest or oldest that waits; it is under way from now on. None if there is none.

        If it was under way at two kills or more, commit before it is sent. If :attr:`group` is 1,
        send nothing else: if the process is killed while it is under way, the next run sets it
        aside.
        """
        return self._keeper.job.take(lane, priority, starts, newest)

    @_guarded
    def peek(self, lane: str, priority: int, *, starts: bool, newest: bool) -> bytes | None:
        """The data of what :meth:`take` would return."""
        return self._keeper.job.peek(lane, priority, starts, newest)

    @_guarded
    def take_last(self) -> Taken | None:
        """One of those that were under way at two kills or more, to be added to a lane again.

        Only when nothing else waits and nothing is under way.
        """
        return self._keeper.job.take_last()

    @property
    def group(self) -> int:
        """How many of the last may be under way at a time: fewer after each kill."""
        return self._keeper.job.states.group

    @_guarded
    def end(self, id_: int) -> None:
        """The request that was under way is dealt with."""
        self._keeper.job.end(id_)

    @_guarded
    def give_back(self, id_: int) -> None:
        """The request that was under way waits again, at its old place."""
        self._keeper.job.give_back(id_)

    @_guarded
    def set_aside(self, id_: int) -> None:
        """The request that was under way is not handed out any more."""
        self._keeper.job.set_aside(id_)

    @_guarded
    def retry(self, ids: Collection[int] | None = None) -> list[AsideRequest]:
        """Those that are set aside, all or these, wait again at their old places; returns them."""
        return self._keeper.job.retry(ids)

    @_guarded
    def accept_losses(self) -> list[str]:
        """What damage has taken, and each run has told. No run will from now on."""
        losses = losses_of(self._keeper.job)
        self._keeper.job.set_note(LOSSES, "")
        return losses

    @_guarded
    def shrink(self) -> None:
        """Gives free space back to the disk. Takes time, and as much space again meanwhile."""
        self._keeper.write()
        self._keeper.job.shrink()

    @_guarded
    def see(self, fingerprint: bytes) -> bool:
        """Whether it was new. It is in the same transaction as what follows."""
        return self._keeper.job.see(fingerprint)

    @_guarded
    def forget(self, fingerprint: bytes) -> None:
        """The request with this fingerprint could not be stored."""
        self._keeper.job.forget(fingerprint)

    @_guarded
    def contents(self, lane: str) -> Contents:
        """What waits in *lane*."""
        return self._keeper.job.lanes.contents(lane)

    @_guarded
    def wake(self, most: int) -> list[LaneRow]:
        """Up to *most* lanes that are asleep, in turn. They are awake from now on."""
        return self._keeper.job.wake(most)

    @_guarded
    def wake_one(self, lane: str) -> None:
        """This one is awake from now on, if it holds a request."""
        self._keeper.job.wake_one(lane)

    @_guarded
    def sleep(self, lane: str) -> None:
        """It has its turn after all of its priority that are asleep now, if it holds a request."""
        self._keeper.job.sleep(lane)

    @_guarded
    def holds(self, lane: str) -> bool:
        """Whether a request waits in *lane*."""
        return self._keeper.job.lanes.holds(lane)

    @_guarded
    def note(self, key: str) -> str | None:
        """What :meth:`set_note` has kept for *key*."""
        return self._keeper.job.note(key)

    @_guarded
    def set_note(self, key: str, value: str) -> None:
        """*value* is kept with the requests."""
        self._keeper.job.set_note(key, value)

    @_guarded
    def commit(self) -> None:
        """Everything since the last commit outlives a kill from now on, together.

        Never call it between :meth:`see` and the :meth:`add` that belongs to it.
        """
        self._keeper.commit()

    @_guarded
    def search(self) -> None:
        """Call it when requests are held, but no lane holds them: the file must be damaged.

        Mends it; all lanes that hold a request are asleep then.
        """
        self._keeper.mend(sqlite3.DatabaseError("requests are missing"))
        self._keeper.job.lanes.all_asleep()

    def close(self) -> None:
        """Commits and closes. The next run finds what is under way now waiting."""
        if self._keeper.is_open:
            self._close()

    @_guarded
    def _close(self) -> None:
        self._keeper.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
