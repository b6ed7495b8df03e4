"""Requests of scrapy-redis's own queues are taken over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.cluster.requests import Stored

if TYPE_CHECKING:
    from scrapy_robots_plus.cluster.requests import HostQueue

    from .hosts import Hosts
    from .pushing import Serialization
    from .reports import QueueReports

AT_ONCE = 500


def move_all(
    queue: HostQueue, hosts: Hosts, serialization: Serialization, reports: QueueReports
) -> int:
    """Returns how many. Several workers may do so at the same time."""
    moved = 0
    while found := queue.unmoved(AT_ONCE):
        moved += queue.move([_stored(*each, hosts, serialization) for each in found])
    if moved:
        reports.moved(moved, queue.keys.key)
    return moved


def _stored(data: bytes, score: float, hosts: Hosts, serialization: Serialization) -> Stored:
    try:
        request = serialization.read(data)
    except Exception:  # noqa: BLE001 - whoever takes it says what is wrong, and sets it aside
        return Stored("", -score, data)
    return Stored(hosts.host_of(request), request.priority, data)
