"""Disk queues for ``SCHEDULER_DISK_QUEUE`` and ``SCHEDULER_START_DISK_QUEUE``: one file for a job.

They are named as those of :mod:`scrapy.squeues`, and work with any ``SCHEDULER_PRIORITY_QUEUE``.
"""

from __future__ import annotations

from .job.queues import (
    MarshalFifoDiskQueue,
    MarshalLifoDiskQueue,
    PickleFifoDiskQueue,
    PickleLifoDiskQueue,
)

__all__ = [
    "MarshalFifoDiskQueue",
    "MarshalLifoDiskQueue",
    "PickleFifoDiskQueue",
    "PickleLifoDiskQueue",
]
