"""The queues that are measured."""

from __future__ import annotations

from typing import Any, NamedTuple

_PLUS: dict[str, Any] = {"ADDONS": {"scrapy_robots_plus.Addon": 300}}
_PLAIN = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
_BY_HOST = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"}


class Kind(NamedTuple):
    """A queue, by the settings that choose it; all others are at their defaults."""

    title: str
    settings: dict[str, Any]
    on_disk: bool = False
    """Whether there is a ``JOBDIR``."""
    ours: bool = False
    """Whether it waits for robots.txt files."""
    parses: bool = True
    """Whether it looks into URLs."""


KINDS = {
    "memory": Kind("RobotsPriorityQueue, in memory", _PLUS, ours=True, parses=False),
    "memory-by-host": Kind("DownloaderAwarePriorityQueue, in memory", _BY_HOST),
    "memory-plain": Kind("ScrapyPriorityQueue, in memory", _PLAIN, parses=False),
    "disk": Kind("RobotsPriorityQueue, JOBDIR", _PLUS, on_disk=True, ours=True),
    "disk-by-host": Kind("DownloaderAwarePriorityQueue, JOBDIR", _BY_HOST, on_disk=True),
    "disk-plain": Kind("ScrapyPriorityQueue, JOBDIR", _PLAIN, on_disk=True),
}
