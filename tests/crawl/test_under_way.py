"""A request leaves the job's file when it has been dealt with, and not before.

At a moment of the crawl the job is copied, as a kill would leave it, and the copy is resumed.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
import pytest_twisted
import scrapy
from scrapy import signals
from scrapy.exceptions import IgnoreRequest

from scrapy_robots_plus.job import FILE_NAME, JobFile
from scrapy_robots_plus.job.job import Job
from tests.crawling import crawl, make_crawler, run, stat
from tests.sites import Host, answer, in_turn, redirect
from tests.waiting import pause, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from scrapy.http import Response

    from tests.sites import Sites

RULES = "User-agent: *\nDisallow: /never\n"


class Copied(scrapy.Spider):
    """Asks for ``/page``. :meth:`copy` copies its job, once."""

    name = "job"
    to: ClassVar[Path]

    def __init__(self, urls: tuple[str, ...] = (), *, host: Host) -> None:
        super().__init__()
        self.host = host

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield self.request("/page")

    def request(self, path: str, **arguments: Any) -> scrapy.Request:
        return scrapy.Request(self.host.url(path), errback=self.failed, **arguments)

    def copy(self) -> None:
        if not self.to.exists():
            Job.of(self.crawler).look()
            shutil.copytree(self.crawler.settings["JOBDIR"], self.to)

    async def parse(self, response: Response) -> Any:
        for _ in ():
            yield

    async def failed(self, failure: Any) -> Any:
        for _ in ():
            yield

    def last(self, response: Response) -> None:
        """The callback of another page, that comes when ``/page`` is dealt with."""
        self.copy()


class Resumed(Copied):
    """The next run: it has nothing new."""

    async def start(self) -> AsyncIterator[scrapy.Request]:
        return
        yield

    def last(self, response: Response) -> None:
        pass


async def sent_again(spider: type[Copied], host: Host, folder: Path, **settings: Any) -> list[str]:
    """What the next run sends if the process is killed when *spider* copies its job."""
    copying = type(spider.__name__, (spider,), {"to": folder / "copy"})
    await crawl(spider=copying, host=host, JOBDIR=str(folder / "job"), **settings)
    assert (folder / "copy").exists()
    before = len(host.fetched)
    again = await crawl(spider=Resumed, host=host, JOBDIR=str(folder / "copy"), **settings)
    assert stat(again, "finish_reason") == "finished"
    return host.fetched[before:]


class InItsCallback(Copied):
    async def parse(self, response: Response) -> Any:
        yield self.request("/next")
        await pause(0.01)
        self.copy()
        yield self.request("/later")


class InItsErrback(Copied):
    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield self.request("/missing")

    async def failed(self, failure: Any) -> Any:
        await pause(0.01)
        self.copy()
        for _ in ():
            yield


class ThroughTheEngine(Copied):
    """It downloads its own request once more, past the scheduler."""

    async def parse(self, response: Response) -> Any:
        assert response.request is not None
        await self.crawler.engine.download_async(response.request)
        self.copy()
        for _ in ():
            yield


class AfterARetry(Copied):
    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield self.request("/twice")

    async def parse(self, response: Response) -> Any:
        self.copy()
        for _ in ():
            yield


class AfterARedirect(Copied):
    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield self.request("/moved")

    async def parse(self, response: Response) -> Any:
        self.copy()
        for _ in ():
            yield


class WhenItIsDealtWith(Copied):
    async def parse(self, response: Response) -> Any:
        yield self.request("/last", callback=self.last)


class RaisesInItsCallback(Copied):
    async def parse(self, response: Response) -> Any:
        yield self.request("/last", callback=self.last)
        raise ValueError("a mistake in the spider")


class RaisesInItsErrback(RaisesInItsCallback):
    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield self.request("/missing")

    async def failed(self, failure: Any) -> Any:
        yield self.request("/last", callback=self.last)
        raise ValueError("a mistake in the spider")


@pytest.mark.parametrize(
    ("spider", "expected"),
    [
        (InItsCallback, ["/next", "/page"]),
        (InItsErrback, ["/missing"]),
        (ThroughTheEngine, ["/page"]),
        (AfterARetry, ["/twice"]),
        (AfterARedirect, ["/new"]),
        (WhenItIsDealtWith, ["/last"]),
        (RaisesInItsCallback, ["/last"]),
        (RaisesInItsErrback, ["/last"]),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_is_under_way_is_sent_again_and_what_is_dealt_with_is_not(
    sites: Sites, tmp_path: Path, spider: type[Copied], expected: list[str]
) -> None:
    host = sites.host(RULES)
    host.pages["/missing"] = answer(status=404)
    host.pages["/twice"] = in_turn(answer(status=503), answer("<p>A page</p>"))
    host.pages["/moved"] = redirect(host.url("/new"))
    again = await sent_again(spider, host, tmp_path, RETRY_ENABLED=True)
    assert sorted(again) == expected


class SlowPipeline:
    async def process_item(self, item: Any) -> Any:
        await pause(0.02)
        item["spider"].copy()
        return item


class HasAnItem(Copied):
    async def parse(self, response: Response) -> Any:
        yield {"spider": self}


@pytest_twisted.ensureDeferred
async def test_items_in_a_pipeline_keep_their_page_under_way(sites: Sites, tmp_path: Path) -> None:
    pipelines = {"ITEM_PIPELINES": {SlowPipeline: 1}, "LOG_LEVEL": "INFO"}
    assert await sent_again(HasAnItem, sites.host(RULES), tmp_path, **pipelines) == ["/page"]


class Refuses:
    """A downloader middleware that drops some requests."""

    def process_request(self, request: scrapy.Request) -> None:
        if request.url.endswith("/page"):
            raise IgnoreRequest


class GoesOn(Copied):
    async def failed(self, failure: Any) -> Any:
        yield self.request("/last", callback=self.last)


@pytest_twisted.ensureDeferred
async def test_what_a_middleware_drops_is_dealt_with(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(RULES)
    again = await sent_again(GoesOn, host, tmp_path, DOWNLOADER_MIDDLEWARES={Refuses: 500})
    assert again == ["/last"]


class TwoPages(Copied):
    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield self.request("/page")
        yield self.request("/last", callback=self.last)


@pytest_twisted.ensureDeferred
async def test_what_is_dropped_when_it_is_scheduled_is_not_in_the_file(
    sites: Sites, tmp_path: Path
) -> None:
    host = sites.host(RULES)

    def drop(request: scrapy.Request) -> None:
        if request.url.endswith("/page"):
            raise IgnoreRequest

    spider = type("Dropping", (TwoPages,), {"to": tmp_path / "copy"})
    crawler = make_crawler(spider, JOBDIR=str(tmp_path / "job"))
    crawler.signals.connect(drop, signals.request_scheduled)
    await run(crawler, host=host)
    await crawl(spider=Resumed, host=host, JOBDIR=str(tmp_path / "copy"))
    assert host.fetched == ["/last", "/last"]


class CannotBeWritten(Copied):
    async def start(self) -> AsyncIterator[scrapy.Request]:
        def callback(response: Response) -> None:
            self.copy()

        for _ in range(2):
            yield scrapy.Request(self.host.url("/page"), callback=callback)


class Odd:
    def __reduce__(self) -> Any:
        raise RuntimeError("an object with a mind of its own")


class HasOddMeta(Copied):
    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield self.request("/page", meta={"odd": Odd()})


@pytest_twisted.ensureDeferred
async def test_what_cannot_be_written_is_counted_once(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(RULES)
    crawler = await crawl(spider=HasOddMeta, host=host, JOBDIR=str(tmp_path))
    assert host.fetched == ["/page"]
    assert stat(crawler, "robotstxt/queue/kept_in_memory") == 1


class LinksToIt(Copied):
    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield self.request("/page")
        yield self.request("/page")


@pytest_twisted.ensureDeferred
async def test_what_cannot_be_written_and_was_sent_is_not_sent_again(
    sites: Sites, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(RULES)
    assert await sent_again(CannotBeWritten, host, tmp_path) == []
    assert host.fetched == ["/page"]  # it was a duplicate in the same run
    assert caplog.text.count("Requests cannot be written to the job's file") == 1
    await crawl(spider=LinksToIt, host=host, JOBDIR=str(tmp_path / "copy"))
    assert host.fetched == ["/page"]


@pytest_twisted.ensureDeferred
async def test_what_is_deferred_waits_in_the_file(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(answer(status=503))
    settings = {"ROBOTS_DEFER": 3600, "ROBOTS_RETRY_INTERVAL": (0.2, 0.2)}

    class Deferred(Copied):
        to = tmp_path / "copy"

        async def start(self) -> AsyncIterator[scrapy.Request]:
            yield self.request("/page")
            await until(lambda: host.robots_hits > 1)
            self.copy()
            host.robots(RULES)

    await crawl(spider=Deferred, host=host, JOBDIR=str(tmp_path / "job"), **settings)
    assert host.fetched == ["/page"]
    await crawl(spider=Resumed, host=host, JOBDIR=str(tmp_path / "copy"), **settings)
    assert host.fetched == ["/page", "/page"]


@pytest_twisted.ensureDeferred
async def test_a_fork_that_ends_leaves_the_job_to_the_crawl(sites: Sites, tmp_path: Path) -> None:
    """A callback may fork, and what its child leaves by is `sys.exit()`."""

    class Forking(Copied):
        to = tmp_path / "copy"

        def parse(self, response: Response) -> Any:
            job = Job.of(self.crawler)
            job.look()
            child = os.fork()
            if not child:
                job._close_file()  # as atexit does
                os._exit(0)
            os.waitpid(child, 0)
            shutil.copytree(self.crawler.settings["JOBDIR"], self.to)

    crawler = make_crawler(Forking, JOBDIR=str(tmp_path / "job"))
    await run(crawler, host=sites.host(RULES))
    with JobFile(tmp_path / "copy" / FILE_NAME) as file:
        assert (file.was_killed, file.recovered, file.troubles) == (True, 1, [])
