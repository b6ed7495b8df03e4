"""An outage of this machine's own network is not held against the hosts that are met meanwhile."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy

from scrapy_robots_plus.origins.network_away import NetworkAway
from tests.crawling import ProbeSpider, crawl, stat
from tests.sites import A_PAGE, Reply, after, answer, redirect, reset, when
from tests.waiting import until

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable, Iterator

    from scrapy.http import Response

    from tests.sites import Hit, Sites

RULES = "User-agent: *\nDisallow: /closed\n"
SOON = 25.0
"""Seconds within which a crawl has to end that could wait for a minute."""
MAY_BE_AWAY = "this machine may have lost its network"


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in {"SILENCE": 0.3, "PATIENCE": 0.1, "POLL": 0.02}.items():
        monkeypatch.setattr(NetworkAway, name, seconds)


def resets_if(condition: Callable[[], object], then: Reply) -> Reply:
    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        await (reset if condition() else then)(hit, writer)

    return reply


class MeetsOthers(ProbeSpider):
    """Asks for the other pages when it has the first one, since which the network is away."""

    is_away = False

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        super().parse(response)
        if response.url == self.urls[0]:
            type(self).is_away = True
            for url in self.others:  # type: ignore[attr-defined]
                yield scrapy.Request(url, errback=self.failed)


def meeting(others: list[str]) -> type[MeetsOthers]:
    return type("MeetsOthers", (MeetsOthers,), {"others": others})


@pytest.mark.parametrize("count", [1, 5])
@pytest_twisted.ensureDeferred
async def test_hosts_first_met_while_no_host_answers_are_asked_again(
    sites: Sites, caplog: pytest.LogCaptureFixture, count: int
) -> None:
    first = sites.host()
    hosts = [sites.host() for _ in range(count)]
    spider = meeting([host.url(f"/{path}") for host in hosts for path in ("open", "closed")])
    is_away = lambda: spider.is_away and first.robots_hits < 4  # noqa: E731
    for host in (first, *hosts):
        host.robots(resets_if(is_away, answer(RULES)))
    crawler = await crawl(first.url("/"), spider=spider)
    assert [host.fetched for host in hosts] == [["/open"]] * count
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 0
    assert stat(crawler, "robotstxt/forbidden") == count
    assert sum(MAY_BE_AWAY in each.getMessage() for each in caplog.records) == 1


@pytest_twisted.ensureDeferred
async def test_pages_of_hosts_that_are_known_do_not_use_up_their_retries_meanwhile(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else may be sent, so their three tries took no longer than the failures."""
    monkeypatch.setattr(NetworkAway, "PATIENCE", 1.0)
    first, known, other = sites.host(), sites.host(), sites.host()
    pages = [f"/{number}" for number in range(3)]
    spider = meeting([*map(known.url, pages), other.url("/open")])
    is_away = lambda: spider.is_away and first.robots_hits + known.robots_hits < 5  # noqa: E731
    for host in (first, known, other):
        host.robots(resets_if(is_away, answer(RULES)))
    first.pages["/"] = when(lambda: known.fetched, answer("ok"))
    known.pages |= dict.fromkeys(pages, after(0.05, resets_if(is_away, answer("ok"))))
    crawler = await crawl(first.url(), known.url(), spider=spider, RETRY_ENABLED=True)
    assert other.fetched == ["/open"]
    assert stat(crawler, "retry/max_reached") == 0
    assert stat(crawler, "retry/count") >= len(pages)


class FailsLater(MeetsOthers):
    """Asks for a page that fails just after a robots.txt, when another has shown that the network
    works.
    """

    monkeypatch: pytest.MonkeyPatch
    then: tuple[str, str]

    def failed(self, failure: Any) -> Any:
        super().failed(failure)
        if failure.request.url in self.others:  # type: ignore[attr-defined]
            for name in ("PATIENCE", "POLL"):
                self.monkeypatch.setattr(NetworkAway, name, 2 * SOON)
            return map(self.request, self.then)
        return None


@pytest_twisted.ensureDeferred
async def test_no_page_waits_while_the_network_is_known_to_work(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, dead, later = sites.host(RULES), sites.host(reset), sites.host(reset)
    first.pages["/broken"] = when(lambda: later.robots_hits > 2, after(0.3, reset))
    spider: Any = type("FailsLater", (FailsLater,), {"others": [dead.url()]})
    spider.monkeypatch, spider.then = monkeypatch, (later.url(), first.url("/broken"))
    began = time.monotonic()
    await crawl(first.url("/"), spider=spider)
    assert time.monotonic() - began < SOON
    assert first.fetched == ["/", "/broken"]


@pytest_twisted.ensureDeferred
async def test_no_page_waits_while_nobody_can_be_asked_for_the_network(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a crawl whose robots.txt files are in the store, for example."""
    monkeypatch.setattr(NetworkAway, "PATIENCE", 2 * SOON)
    first, dead = sites.host(), sites.host(reset)
    first.pages["/broken"] = when(lambda: dead.robots_hits > 2, after(0.3, reset))
    spider = meeting([dead.url(), first.url("/broken")])
    overrides = {first.address: {"robots_txt": RULES, "reason": "ours"}}
    began = time.monotonic()
    await crawl(first.url("/"), spider=spider, ROBOTS_OVERRIDES=overrides)
    assert time.monotonic() - began < SOON


class Twice(MeetsOthers):
    """Is cut off again, when it has just met the others."""

    again: str
    is_again = False

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        yield from super().parse(response)
        if response.url in self.others and not self.is_again:  # type: ignore[attr-defined]
            type(self).is_again = True
            yield scrapy.Request(self.again, errback=self.failed)


@pytest_twisted.ensureDeferred
async def test_a_network_that_comes_and_goes_is_not_trusted(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    """And it is told again."""
    first, other, last = sites.host(), sites.host(), sites.host()
    spider: Any = type("Twice", (Twice,), {"others": [other.url()], "again": last.url()})

    def is_away() -> bool:
        knocks = first.robots_hits + other.robots_hits
        return knocks < 11 if spider.is_again else spider.is_away and knocks < 7

    for host in (first, other, last):
        host.robots(resets_if(is_away, answer(RULES)))
    crawler = await crawl(first.url("/"), spider=spider)
    assert (other.fetched, last.fetched) == (["/"], ["/"])
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 0
    told = [each.getMessage() for each in caplog.records if MAY_BE_AWAY in each.getMessage()]
    assert any(each.startswith(last.url("/robots.txt")) for each in told)


@pytest_twisted.ensureDeferred
async def test_hosts_are_dead_if_another_one_answers(
    sites: Sites, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked once in a minute, however many of them there are."""
    monkeypatch.setattr(NetworkAway, "SILENCE", SOON)  # a busy machine answers late
    first = sites.host(RULES)
    dead = [sites.host(reset) for _ in range(10)]
    spider = meeting([host.url() for host in dead])
    crawler = await crawl(first.url("/"), spider=spider, ROBOTS_FETCH_CONCURRENCY=2)
    assert first.robots_hits == 2
    assert {host.robots_hits for host in dead} == {3}
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 10
    assert not any(MAY_BE_AWAY in each.getMessage() for each in caplog.records)


@pytest_twisted.ensureDeferred
async def test_nobody_waits_longer_than_a_minute_nor_twice(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NetworkAway, "LONGEST", 1.0)
    first = sites.host()
    spider = meeting([sites.host(reset).url() for _ in range(5)])
    first.robots(resets_if(lambda: spider.is_away, answer(RULES)))
    began = time.monotonic()
    crawler = await crawl(first.url("/"), spider=spider)
    assert time.monotonic() - began < SOON
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 5


@pytest_twisted.ensureDeferred
async def test_a_spider_that_closes_waits_for_no_network(sites: Sites) -> None:
    first, other = sites.host(), sites.host(reset)
    spider = meeting([other.url()])
    first.robots(resets_if(lambda: spider.is_away, answer(RULES)))
    began = time.monotonic()
    await crawl(first.url("/"), spider=spider, CLOSESPIDER_TIMEOUT=2)
    assert time.monotonic() - began < SOON
    assert other.fetched == []


@pytest.mark.parametrize("settings", [{}, {"DOWNLOADER": "scrapy.core.downloader.Downloader"}])
@pytest_twisted.ensureDeferred
async def test_what_has_never_answered_proves_nothing(
    sites: Sites, settings: dict[str, Any]
) -> None:
    host, other = sites.host(reset), sites.host(reset)
    crawler = await crawl(host.url(), other.url(), **settings)
    assert [host.robots_hits, other.robots_hits] == [3, 3]
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 2


@pytest_twisted.ensureDeferred
async def test_a_host_whose_robots_txt_is_not_fetched_is_not_asked_for_it(sites: Sites) -> None:
    first, other = sites.host(), sites.host(reset)
    overrides = {first.address: {"obey": False, "reason": "ours"}}
    spider = meeting([other.url()])
    crawler = await crawl(first.url("/"), spider=spider, ROBOTS_OVERRIDES=overrides)
    assert first.fetched == ["/"]
    assert (first.robots_hits, other.robots_hits) == (0, 3)
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 1


@pytest_twisted.ensureDeferred
async def test_another_origin_of_the_same_host_does_not_tell(sites: Sites) -> None:
    first = sites.host()
    elsewhere = sites.another_origin_of(first)
    spider = meeting([f"{elsewhere}/open"])
    first.robots(resets_if(lambda: spider.is_away, answer(RULES)))
    crawler = await crawl(first.url("/"), spider=spider)
    assert first.robots_hits == 4
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 1


class MeetsOthersLate(MeetsOthers):
    """Asks for its first page, whose robots.txt is the last one that is read, after the second."""

    async def start(self) -> AsyncIterator[scrapy.Request]:
        first, second, *rest = self.urls
        yield self.request(second)
        await until(lambda: second in self.got)
        for url in (first, *rest):
            yield self.request(url)


@pytest.mark.parametrize("status", [429, 503])
@pytest_twisted.ensureDeferred
async def test_a_host_that_asks_for_patience_is_not_asked_again(sites: Sites, status: int) -> None:
    first, busy = sites.host(RULES), sites.host(answer("", status, retry_after="700"))
    later = sites.host(reset)
    crawler = await crawl(first.url(), busy.url(), spider=meeting([later.url()]))
    assert busy.robots_hits == 1
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 2


@pytest_twisted.ensureDeferred
async def test_a_host_that_asks_for_patience_after_a_redirect_is_not_asked_again(
    sites: Sites,
) -> None:
    first, busy, later = sites.host(RULES), sites.host(), sites.host(reset)
    busy.robots(redirect(busy.url("/real.txt")))
    busy.pages["/real.txt"] = answer("", 503, retry_after="700")
    await crawl(first.url(), busy.url(), spider=meeting([later.url()]))
    assert busy.robots_hits == 1


@pytest_twisted.ensureDeferred
async def test_a_host_that_is_silent_while_others_answer_tells_nothing(sites: Sites) -> None:
    """Each answer of another seemed to be the end of an outage."""
    slow, mute, dead = sites.host(RULES), sites.host(), sites.host(reset)
    urls = [slow.url(f"/{number}") for number in range(8)]
    for url in urls:
        slow.pages[url.removeprefix(slow.origin)] = after(1.0, A_PAGE)
    spider: Any = type("MeetsOthersLate", (MeetsOthersLate,), {"others": [dead.url()]})
    mute.robots(resets_if(lambda: spider.is_away, answer(RULES)))
    settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1}
    await crawl(mute.url("/"), *urls, spider=spider, **settings)
    assert len(slow.fetched) == 8
    assert dead.robots_hits <= 6
    assert mute.robots_hits <= 6
