"""Breaks a function of the package in the middle of a crawl, as a new version of Scrapy may."""

from __future__ import annotations

from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, Any

import scrapy

from tests.sending import TimedSpider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.crawler import Crawler

PACKAGE = "scrapy_robots_plus"
CODE = """\
def broken(*arguments, **named):
    global calls
    calls += 1
    if first <= calls <= last:
        raise AttributeError("'Slot' object has no attribute 'taken_away'")
    return function(*arguments, **named)
"""
"""What is raised has its last frame in a module of the package."""


def broken(function: Callable[..., Any], first: int, last: float) -> Callable[..., Any]:
    names: dict[str, Any] = {"__name__": f"{PACKAGE}.broken", "function": function}
    names |= {"calls": 0, "first": first, "last": last}
    exec(CODE, names)
    made: Callable[..., Any] = names["broken"]
    return made


def owner_of(path: str) -> tuple[Any, str]:
    """The class or module that has the last name of *path*, such as ``compat:sleep``."""
    module, _, names = path.partition(":")
    owner: Any = import_module(f"{PACKAGE}.{module}")
    *classes, name = names.split(".")
    for each in classes:
        owner = getattr(owner, each)
    return owner, name


class WholeSpider(TimedSpider):
    """Two pages deep."""

    def request(self, url: str, **arguments: Any) -> scrapy.Request:
        return scrapy.Request(url, **arguments)

    def parse(self, response: scrapy.http.Response) -> Iterator[scrapy.Request]:
        super().parse(response)
        if response.url.endswith("/page"):
            yield self.request(f"{response.url}/next")


class BreakingSpider(WholeSpider):
    """In a process of its own: what it breaks stays broken."""

    path = ""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        owner, name = owner_of(self.path)
        setattr(owner, name, broken(getattr(owner, name), 6, 6))


class BreaksPop(BreakingSpider):
    path = "hosts.turns:Hosts.begin"


class BreaksPush(BreakingSpider):
    path = "hosts.queue:RobotsPriorityQueue._put"


class BreaksJudge(BreakingSpider):
    path = "requests.judge:Judge.judge"


class BreaksBridge(WholeSpider):
    """Breaks a function of compat for good, from its third call on."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *arguments: Any, **named: Any) -> BreaksBridge:
        owner, name = owner_of(f"compat:{crawler.settings['BRIDGE']}")
        setattr(owner, name, broken(getattr(owner, name), 3, inf))
        return super().from_crawler(crawler, *arguments, **named)
