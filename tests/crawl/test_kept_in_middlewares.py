"""Requests that a middleware of the project keeps, or sends elsewhere, hold up no other."""

from __future__ import annotations

import time
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy

from tests.crawling import ProbeSpider, crawl, stat
from tests.sites import answer
from tests.waiting import pause, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from tests.sites import Sites

PAGES = 9
RULES = "User-agent: *\nDisallow: /private\n"


class LoginSpider(ProbeSpider):
    """Once pages wait for a login, it asks for that."""

    def __init__(self, urls: list[str], *, login: str) -> None:
        super().__init__(urls)
        self.login = login
        self.is_logged_in = False

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.urls[:-1]:
            yield self.request(url)
        await pause(0.3)
        yield self.request(self.login, callback=self.logged_in, priority=100)
        yield self.request(self.urls[-1])

    def logged_in(self, _: Response) -> None:
        self.is_logged_in = True


class OfProject:
    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)


class KeepsUntilLoggedIn(OfProject):
    async def process_request(self, request: scrapy.Request) -> None:
        spider: Any = self.crawler.spider
        if "login" not in request.url and "robots.txt" not in request.url:
            await until(lambda: spider.is_logged_in)


class ChoosesSlots(OfProject):
    number = 0

    def process_request(self, request: scrapy.Request) -> None:
        if "robots.txt" not in request.url:
            self.number += 1
            request.meta["download_slot"] = f"proxy-{self.number}"


class Keeps(OfProject):
    """Keeps each page for a moment, before it is sent or after."""

    now = most = 0

    async def _keep(self, request: scrapy.Request) -> None:
        if "robots.txt" not in request.url:
            self.now += 1
            Keeps.most = max(Keeps.most, self.now)
            await pause(0.15)
            self.now -= 1


class KeepsRequests(Keeps):
    async def process_request(self, request: scrapy.Request) -> None:
        await self._keep(request)


class KeepsAnswers(Keeps):
    async def process_response(self, request: scrapy.Request, response: Response) -> Response:
        await self._keep(request)
        return response


@pytest.mark.parametrize("middleware", [KeepsRequests, KeepsAnswers])
@pytest_twisted.ensureDeferred
async def test_what_is_kept_for_a_moment_takes_no_place_in_a_slot(
    sites: Sites, middleware: type[Keeps], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Keeps, "most", 0)
    hosts = [sites.host(RULES) for _ in range(2)]
    crawler = await crawl(
        *[host.url(f"/{number}") for number in range(20) for host in hosts],
        DOWNLOADER_MIDDLEWARES={middleware: 543},
        CONCURRENT_REQUESTS_PER_DOMAIN=1,
    )
    assert stat(crawler, "finish_reason") == "finished"
    assert [len(host.fetched) for host in hosts] == [20, 20]
    assert Keeps.most > 6


class LooksAtSlots(ProbeSpider):
    """Notes what is under way as each callback begins, which then blocks the loop."""

    def parse(self, response: Response) -> None:
        super().parse(response)
        slot = self.crawler.engine.downloader.slots[response.meta["download_slot"]]
        self.under_way = [*getattr(self, "under_way", []), len(slot.transferring)]
        time.sleep(0.05)


@pytest.mark.parametrize(("hosts", "delay"), [(2, 0.0), (1, 0.1)])
@pytest_twisted.ensureDeferred
async def test_the_next_page_is_under_way_when_a_callback_begins(
    sites: Sites, hosts: int, delay: float
) -> None:
    """The next request waits in the slot, which sends it before the callback blocks the loop."""

    async def slow(hit: Any, writer: Any) -> None:
        await pause(0.2)
        await answer("")(hit, writer)

    running = [sites.host(RULES) for _ in range(hosts)]
    for host in running:
        host.pages = {f"/{number}": slow for number in range(10)}
    crawler = await crawl(
        *[host.url(path) for host in running for path in host.pages],
        spider=LooksAtSlots,
        CONCURRENT_REQUESTS_PER_DOMAIN=1,
        DOWNLOAD_DELAY=delay,
    )
    assert sum(crawler.spider.under_way) > 7 * hosts


@pytest.mark.parametrize(
    ("is_job", "places", "delay"),
    [
        # Each pair of two of them in `make test`.
        pytest.param(
            *(is_job, places, delay),
            marks=[pytest.mark.stress] * (is_job ^ (places == 1) ^ (delay == "")),
        )
        for is_job, places, delay in product([False, True], [1, 8], ["", "Crawl-delay: 0.1\n"])
    ],
)
@pytest_twisted.ensureDeferred
async def test_the_request_that_lets_the_others_go_is_sent(
    sites: Sites, tmp_path: Path, places: int, delay: str, is_job: bool
) -> None:
    host, other = sites.host(RULES + delay), sites.host(RULES + "Crawl-delay: 0.5\n")
    urls = [host.url(f"/{number}") for number in range(PAGES)]
    crawler = await crawl(
        *[other.url(f"/{number}") for number in range(4)],
        *urls,
        spider=LoginSpider,
        login=host.url("/login"),
        DOWNLOADER_MIDDLEWARES={KeepsUntilLoggedIn: 543},
        CONCURRENT_REQUESTS_PER_DOMAIN=places,
        CLOSESPIDER_TIMEOUT=20,
        **({"JOBDIR": str(tmp_path)} if is_job else {}),
    )
    assert stat(crawler, "finish_reason") == "finished"
    assert sorted(host.fetched) == sorted(["/login", *(f"/{number}" for number in range(PAGES))])


@pytest.mark.parametrize(("places", "delay"), [(1, 0.0), (1, 1.0), (8, 1.0)])
@pytest_twisted.ensureDeferred
async def test_slots_that_a_middleware_chooses_send_side_by_side(
    sites: Sites, places: int, delay: float
) -> None:
    """Though one request fills the slot that was foreseen, or the delay is that of each slot."""
    most, now = 0, 0

    async def slow(hit: Any, writer: Any) -> None:
        nonlocal most, now
        now += 1
        most = max(most, now)
        await pause(1.0)
        now -= 1
        await answer("")(hit, writer)

    hosts = [sites.host(RULES) for _ in range(2)]
    urls = []
    for host in hosts:
        for number in range(PAGES):
            host.pages[f"/{number}"] = slow
            urls.append(host.url(f"/{number}"))
    slowest = sites.host(RULES + "Crawl-delay: 1\n")
    urls += [slowest.url(f"/{number}") for number in range(4)]
    crawler = await crawl(
        *urls,
        DOWNLOADER_MIDDLEWARES={ChoosesSlots: 543},
        CONCURRENT_REQUESTS_PER_DOMAIN=places,
        DOWNLOAD_DELAY=delay,
    )
    assert stat(crawler, "finish_reason") == "finished"
    assert most > 8


@pytest_twisted.ensureDeferred
async def test_one_object_that_is_yielded_several_times_takes_one_place(sites: Sites) -> None:
    host, other = sites.host(RULES), sites.host(RULES)
    same = scrapy.Request(host.url("/same"), dont_filter=True)
    urls = [each.url(f"/{number}") for number in range(20) for each in (host, other)]
    crawler = await crawl(*[same] * 20, *urls, CLOSESPIDER_TIMEOUT=20)
    assert stat(crawler, "finish_reason") == "finished"
    assert {f"/{number}" for number in range(20)} <= set(host.fetched)
