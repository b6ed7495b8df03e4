"""Requests in scrapy-redis's own queues are taken over."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .host_queue import HostQueue, Stored

AT_ONCE = 500
"""Requests of one step. Each step is complete or does not happen."""


def move_all(queue: HostQueue, stored: Callable[[bytes, float], Stored]) -> int:
    """Returns how many were moved. Several workers may do so at the same time.

    *stored* makes what is pushed from the data and the score of a request.
    """
    moved = 0
    while found := queue.unmoved(AT_ONCE):
        moved += queue.move([stored(*each) for each in found])
    return moved
