"""What a job's file hands out."""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32

SUSPECT_AFTER = 2
"""Kills at which a request was under way, until it has to wait for the end."""


class Taken(NamedTuple):
    """A request that is under way from now on, until ``end()`` or ``give_back()``."""

    id: int
    data: bytes
    hard_ends: int
    """How many times the process was killed while this request was under way."""

    @property
    def is_suspect(self) -> bool:
        """Whether it may be the cause of these kills: then it is sent last."""
        return self.hard_ends >= SUSPECT_AFTER


Contents = dict[tuple[int, bool], int]
"""How many requests wait in a lane, by priority and whether they are start requests."""


class LaneRow(NamedTuple):
    """A lane that holds requests."""

    name: str
    priority: int
    """Of its most urgent request. The lowest number is the most urgent, as in Scrapy's queues."""
    contents: Contents


class AsideRequest(NamedTuple):
    """A request that was under way, alone, when the process was killed for the third time."""

    id: int
    lane: str
    data: bytes
    hard_ends: int


class Row(NamedTuple):
    """A request in the file, whatever its state. The crc covers all but the hard ends."""

    id: int
    lane: str
    priority: int
    starts: int
    data: bytes
    crc: int
    hard_ends: int = 0

    @property
    def is_whole(self) -> bool:
        """Whatever types damage has given to the columns."""
        return isinstance(self.data, bytes) and self.crc == checksum(
            self.id, self.lane, self.priority, self.starts, self.data
        )


def checksum(id_: int, lane: str, priority: int, starts: int, data: bytes) -> int:
    head = f"{id_} {priority} {int(starts)} {lane}".encode()
    return crc32(data, crc32(head))
