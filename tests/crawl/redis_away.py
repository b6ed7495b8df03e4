"""A crawl whose Redis goes away and comes back, and what is to hold of each such crawl."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus import RobotsDisallowed
from tests.redis_server import RedisServer
from tests.sending import TimedSpider, is_page_of
from tests.waiting import pause, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    import pytest
    import scrapy
    from scrapy.crawler import Crawler

    from tests.sites import Sites

PASSWORD = "s3cret-of-the-crawl"
BEGINS_AFTER = 5
"""Pages."""
DELAY = 0.2
SLOW = f"User-agent: *\nDisallow: /private/\nCrawl-delay: {DELAY}\n"
FAST = "User-agent: *\nDisallow: /private/\n"

Act = Callable[[RedisServer], None]


@dataclass(frozen=True)
class Fault:
    """What happens to a server, and how it is mended."""

    begin: Act
    end: Act


FAULTS = {
    "stopped": Fault(RedisServer.stop, RedisServer.start),
    "killed": Fault(RedisServer.kill, RedisServer.start),
    "paused": Fault(RedisServer.pause, RedisServer.resume),
    "out of memory": Fault(RedisServer.run_out_of_memory, lambda server: server.limit_memory(0)),
    "read-only": Fault(RedisServer.follow, RedisServer.lead),
    "empty": Fault(RedisServer.fail_over_to_an_empty_one, lambda server: None),
}


def noticed(fault: str, part: str) -> bool:
    """Whether *part* is told of *fault*: an empty server answers as well as any other, and one that
    is full keeps the pace.
    """
    return fault != "empty" and (fault, part) != ("out of memory", "pace")


class AwaySpider(TimedSpider):
    """Asks for page after page, until its Redis went away, came back, and was used again."""

    server: RedisServer | None = None
    fault: Fault
    is_noticed = True
    lasts = 0.0
    """Seconds at least."""
    pages = 200
    """Of each kind, at most."""
    sites: Sites

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.noticed_at = self.ended_at = 0.0
        self.used_before = 0
        self.hosts = [self.sites.host(SLOW)]
        """The first has a delay. The others are asked for one page that is open, and one that is
        closed."""

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for number in range(self.pages):
            if self.is_used_again:
                break
            self.hosts.append(self.sites.host(FAST))
            yield self.request(self.hosts[0].url(f"/{number}"))
            yield self.request(self.hosts[-1].url("/"))
            yield self.request(self.hosts[-1].url("/private/"))
            await pause(DELAY)

    async def watch(self, crawler: Crawler) -> None:
        """Makes the fault happen, if there is to be one."""
        if self.server is None:
            return
        await until(lambda: len(self.got) >= BEGINS_AFTER)
        self.fault.begin(self.server)
        if self.is_noticed:
            await until(lambda: errors(crawler))
        self.noticed_at = time.monotonic()
        await pause(self.lasts)
        self.fault.end(self.server)
        self.used_before = used(self.server)
        self.ended_at = time.monotonic()

    @property
    def is_used_again(self) -> bool:
        server = self.server
        return server is not None and bool(self.ended_at) and used(server) > self.used_before


def used(server: RedisServer) -> int:
    """Commands that others gave it."""
    return sum(server.usage().commands.values())


def errors(crawler: Crawler) -> int:
    """What was counted of Redis being away."""
    stats = crawler.stats.get_stats()
    return sum(
        value
        for name, value in stats.items()
        if name.startswith("robotstxt/") and name.endswith("errors")
    )


@contextmanager
def threads_that_talk_to_redis(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[int]]:
    """The threads in which a connection was opened, asked or waited for, but for those of the
    test's own clients, who name their user.
    """
    from redis.connection import AbstractConnection

    threads: set[int] = set()
    with monkeypatch.context() as patch:
        for name in ("connect", "send_packed_command", "read_response"):
            patch.setattr(AbstractConnection, name, _noting(AbstractConnection, name, threads))
        yield threads


def _noting(owner: type, name: str, threads: set[int]) -> Callable[..., Any]:
    original = getattr(owner, name)

    def noting(*arguments: Any, **named: Any) -> Any:
        if arguments[0].username is None:
            threads.add(threading.get_ident())
        return original(*arguments, **named)

    return noting


def assert_it_went_well(crawler: Crawler) -> None:
    """Rules were kept, no page was lost, none fetched twice, and the spider noticed nothing."""
    spider = crawler.spider
    assert crawler.stats.get_value("finish_reason") == "finished"
    assert {type(error) for error in spider.failures.values()} == {RobotsDisallowed}
    fetched = [host.url(path) for host in spider.hosts for path in host.fetched]
    assert not any("/private/" in url for url in fetched)
    assert sorted(fetched) == sorted(spider.got)
    assert len(fetched) == len(set(fetched)) == len(spider.failures) * 2


def assert_one_warning(caplog: pytest.LogCaptureFixture, most: int = 1) -> None:
    """The log says what happened, *most* times at most, and nothing else went wrong."""
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert "Traceback" not in caplog.text
    ours = [record for record in caplog.records if record.name.startswith("scrapy_robots_plus")]
    warnings = [record.getMessage() for record in ours if record.levelno == logging.WARNING]
    assert 1 <= len(warnings) <= most, warnings
    assert PASSWORD not in caplog.text


def slow_pages(crawler: Crawler) -> list[tuple[float, float]]:
    """Two pages of the host with a delay, one after the other: when each was sent."""
    spider = crawler.spider
    assert isinstance(spider, AwaySpider)
    sent = sorted(at for at, url in spider.sent if is_page_of(spider.hosts[0], url))
    return list(itertools.pairwise(sent))
