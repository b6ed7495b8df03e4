"""A Crawl-delay that is meant for one crawler, by whatever name its requests come to go."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
import pytest_twisted
import scrapy

from tests.crawling import crawl
from tests.sending import HICCUP, TimedSpider, gaps
from tests.waiting import pause

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

    from tests.sites import Host, Sites

FOR_FOOBOT = "User-agent: foobot\nDisallow: /never\nCrawl-delay: 1\n\nUser-agent: *\nDisallow: /x\n"
LEAST = 1 - HICCUP
SCRAPYS_QUEUE = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"}
EXPIRES_AT_ONCE = {"ROBOTS_TTL": (1, 1)}


def pages(host: Host, count: int = 4) -> list[str]:
    return [host.url(f"/{number}") for number in range(count)]


class Foobot:
    """A middleware that puts in the name."""

    def process_request(self, request: scrapy.Request) -> None:
        if "robots.txt" not in request.url:
            request.headers["User-Agent"] = "Foobot/1.0"


class SlowFoobot:
    """Asks somebody else for a User-Agent."""

    async def process_request(self, request: scrapy.Request) -> None:
        if "robots.txt" not in request.url:
            await pause(0.05)
            request.headers["User-Agent"] = "Foobot/1.0"


@pytest_twisted.ensureDeferred
async def test_a_name_put_in_by_an_async_middleware(sites: Sites) -> None:
    host = sites.host(FOR_FOOBOT)
    crawler = await crawl(
        *pages(host),
        spider=TimedSpider,
        USER_AGENT="Barbot",
        DOWNLOADER_MIDDLEWARES={SlowFoobot: 900},
    )
    assert min(gaps(crawler.spider.sent, host)) >= LEAST


@pytest.mark.stress
@pytest_twisted.ensureDeferred
async def test_a_name_put_in_while_the_file_is_refreshed(sites: Sites) -> None:
    host = sites.host(FOR_FOOBOT)
    crawler = await crawl(
        *pages(host, 6),
        spider=TimedSpider,
        USER_AGENT="Barbot",
        DOWNLOADER_MIDDLEWARES={Foobot: 900},
        **EXPIRES_AT_ONCE,
    )
    assert min(gaps(crawler.spider.sent, host)) >= LEAST


class OneByOne(TimedSpider):
    """A page at a time, as a spider that follows "next" does."""

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield self.request(self.urls[0])

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        super().parse(response)
        if len(self.got) < len(self.urls):
            yield self.request(self.urls[len(self.got)])


@pytest.mark.stress
@pytest.mark.parametrize("ttl", [86400, 1], ids=["no refresh", "refreshes"])
@pytest_twisted.ensureDeferred
async def test_a_name_put_in_by_a_middleware_one_page_after_the_other(
    sites: Sites, ttl: int
) -> None:
    host = sites.host(FOR_FOOBOT)
    crawler = await crawl(
        *pages(host, 6),
        spider=OneByOne,
        USER_AGENT="Barbot",
        DOWNLOADER_MIDDLEWARES={Foobot: 900},
        ROBOTS_TTL=(1, ttl),
    )
    assert min(gaps(crawler.spider.sent, host)) >= LEAST


@pytest.mark.stress
@pytest_twisted.ensureDeferred
async def test_two_names_keep_a_delay_each(sites: Sites) -> None:
    """Foobot's requests alone have to keep 1 s among themselves."""
    host = sites.host(FOR_FOOBOT)
    requests = []
    for n in range(5):
        requests.append(scrapy.Request(host.url(f"/foo{n}"), headers={"User-Agent": "Foobot"}))
        requests.append(scrapy.Request(host.url(f"/bar{n}")))
    crawler = await crawl(
        *requests,
        spider=TimedSpider,
        USER_AGENT="Barbot",
        **EXPIRES_AT_ONCE,
        **SCRAPYS_QUEUE,
    )
    foo = [at for at, url in crawler.spider.sent if "/foo" in url]
    assert len(foo) == 5
    assert min(b - a for a, b in itertools.pairwise(foo)) >= LEAST
