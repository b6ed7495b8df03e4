"""The lanes of one queue: created for new hosts, and reopened if an earlier run left them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.hosts.host import Address, Lane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scrapy import Request

    from scrapy_robots_plus.hosts.host import LaneQueue

    from .files import LaneFiles
    from .losses import Losses


class OpenLanes:
    """Lanes by address.

    With a job each lane has files. If there are too many files, lanes of an earlier run are opened
    when others are finished; those left at the end stay in the state of the job.
    """

    def __init__(
        self, queue: LaneQueue, resumed: Callable[[Lane], None], files: LaneFiles, losses: Losses
    ) -> None:
        """*resumed* is called with each lane that an earlier run has left."""
        self._queue = queue
        self._resumed = resumed
        self._files = files
        self._losses = losses
        self._lanes: dict[Address, Lane] = {}
        self._unopened: dict[str, list[int]] = {}
        """Lanes of an earlier run, by name, that were not opened: too many open files."""

    def __iter__(self) -> Iterator[Lane]:
        return iter(self._lanes.values())

    def __contains__(self, address: object) -> bool:
        return address in self._lanes

    def get(self, address: Address) -> Lane | None:
        """The lane at *address*; None if there is none yet."""
        lane = self._lanes.get(address)
        if lane is None and self._unopened and address.name in self._unopened:
            lane = self._resume(address.name, self._unopened.pop(address.name))
        return lane

    def new(self, address: Address, request: Request) -> Lane:
        """A lane with its first request.

        Raises ValueError if the request cannot be written to disk, OSError if none can.
        """
        lane = Lane(address, self._queue, self._files.open(address))
        lane.requests.push(request)
        self._lanes[address] = lane
        return lane

    def remove(self, lane: Lane) -> None:
        """The lane is empty."""
        del self._lanes[lane.address]
        lane.requests.close()
        self._files.remove(lane.address)
        if self._unopened:
            self._open_more()

    def resume(self, state: dict[str, Iterable[int]], held: int | None) -> None:
        """Opens the lanes of a job: *state* is what :meth:`close` returned.

        *held*: how many requests the job held when it was killed; None if it was not killed.
        """
        for name, priorities in state.items():
            told = self._losses.told
            lane = self._resume(name, priorities)
            known = lane or name in self._unopened or told != self._losses.told
            if held is None and not known:
                self._losses.missing(name)
        if held is not None:
            self._losses.killed(held, found=sum(map(len, self)))

    @property
    def version(self) -> int:
        """A number that changes with :meth:`state`."""
        return self._files.changes

    def state(self) -> dict[str, list[int]]:
        """The priorities that have requests, by lane."""
        open_now = {lane.address.name: lane.requests.priorities() for lane in self}
        return {name: found for name, found in open_now.items() if found} | self._unopened

    def close(self) -> dict[str, list[int]]:
        """Closes all files; returns the priorities that have requests, by lane."""
        closed = {lane.address.name: lane.requests.close() for lane in self}
        self._lanes.clear()
        if self._unopened:
            self._losses.unopened(len(self._unopened))
        left = {name: priorities for name, priorities in closed.items() if priorities}
        return {**left, **self._unopened}

    def _resume(self, name: str, priorities: Iterable[int]) -> Lane | None:
        """Opens a lane of an earlier run; None if it is empty or cannot be opened yet."""
        address = Address.named(name)
        try:
            priorities = [int(priority) for priority in priorities]
        except (TypeError, ValueError):  # a damaged state
            return None
        try:
            lane = Lane(address, self._queue, self._files.open(address, priorities))
        except OSError:
            self._unopened[name] = priorities
            return None
        if not len(lane):
            return None
        self._lanes[address] = lane
        self._resumed(lane)
        return lane

    def _open_more(self) -> None:
        """A lane is finished, so that others can be opened."""
        while self._unopened and not self._files.are_too_many:
            name, priorities = self._unopened.popitem()
            self._resume(name, priorities)
            if name in self._unopened:  # too many are open elsewhere
                return
