"""A request that this worker has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Lease:
    """What the server knows of it. Times are by the monotonic clock."""

    id: bytes
    """Empty if the server no longer counts it as this worker's."""
    host: str
    holds: bool
    """Whether no worker gets another request to the host until this one has left."""
    since: float
    asked: bool = False
    """Whether its slot has asked for its turn, and will tell when it left."""
    sent_by: float | None = None
    """When it counts as sent, whatever its slot knows."""

    def void(self) -> None:
        self.id, self.holds = b"", False
