"""The pace that crawls in one process keep together."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from scrapy_robots_plus.cluster.pace.hosts import Hosts

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_robots_plus.crawl.clock import Now

    from .shared_pace import Ask

_of_groups: WeakValueDictionary[str, Hosts] = WeakValueDictionary()
"""Each lives as long as a crawl that uses it."""


def hosts_of(group: str) -> Hosts:
    """What all crawls of *group* in this process share, until the last of them ends."""
    return _of_groups.setdefault(group, Hosts())


class PaceInProcess:
    """Of all crawls with the same *hosts*; see :class:`.SharedPace`."""

    def __init__(self, hosts: Hosts, now: Now) -> None:
        self._hosts = hosts
        self._now = now

    def ask(self, asked: Ask, answer: Callable[[float], None]) -> None:
        patience = None if asked.request is None else asked.patience
        now = self._now()
        turns = self._hosts.of(asked.host, now)
        answer(turns.ask(asked.ticket, asked.delay, patience, now))

    def left(self, host: str, ticket: str, ago: float, delay: float) -> None:
        now = self._now()
        self._hosts.of(host, now).left(ticket, ago, delay, now)

    def unused(self, host: str, ticket: str, ago: float) -> None:
        now = self._now()
        self._hosts.of(host, now).unused(ticket, ago, now)

    def leave_alone(self, host: str, seconds: float) -> None:
        now = self._now()
        self._hosts.of(host, now).leave_alone(seconds, now)

    def close(self) -> None:
        self._hosts = Hosts()
