"""Redis goes away in the middle of a crawl, or is not there at all: the crawl goes on without it,
by the rules and more slowly, says so once, and uses it again when it is back.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy import signals
from scrapy.utils.defer import deferred_from_coro

from tests.crawl.redis_away import (
    DELAY,
    FAST,
    FAULTS,
    PASSWORD,
    SLOW,
    AwaySpider,
    assert_it_went_well,
    assert_one_warning,
    noticed,
    slow_pages,
    threads_that_talk_to_redis,
)
from tests.crawl_process import MODES, crawl_in_process
from tests.crawling import make_crawler, parts_of_seconds, run, stat
from tests.redis_proxy import RedisProxy
from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler

    from tests.sites import Sites

WORKERS = 2
STORE = "ROBOTS_STORE"
PACE = "ROBOTS_SHARED_PACE"
PARTS = {"store": (STORE,), "pace": (PACE,), "both": (STORE, PACE)}


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer(password=PASSWORD, durable=True) as running:
        yield running


def settings_for(part: str, url: str) -> dict[str, Any]:
    return {**dict.fromkeys(PARTS[part], url), "ROBOTS_WORKERS": WORKERS}


async def crawl_with(part: str, url: str, sites: Sites, **attributes: Any) -> Crawler:
    spider = type("Spider", (AwaySpider,), {"sites": sites, **attributes})
    crawler = make_crawler(spider, **settings_for(part, url))

    def begin() -> None:
        deferred_from_coro(crawler.spider.watch(crawler))

    crawler.signals.connect(begin, signals.spider_opened)
    await run(crawler)
    return crawler


async def assert_it_goes_away_and_comes_back(
    fault: str,
    part: str,
    sites: Sites,
    server: RedisServer,
    caplog: pytest.LogCaptureFixture,
    lasts: float = 0.0,
) -> None:
    caplog.set_level("INFO")
    attributes = {"server": server, "fault": FAULTS[fault], "lasts": lasts}
    attributes["is_noticed"] = noticed(fault, part)
    crawler = await crawl_with(part, server.url, sites, **attributes)
    assert_it_went_well(crawler)
    if noticed(fault, part):
        assert_one_warning(caplog, len(PARTS[part]))
    assert_pace(crawler, fault)


def assert_pace(crawler: Crawler, fault: str) -> None:
    """Kept while Redis is there; without it, each worker is as slow as if all took turns.

    An empty server is there as soon as it has started, whether or not somebody noticed.
    """
    spider = crawler.spider
    pages = slow_pages(crawler)
    assert min(later - earlier for earlier, later in pages) >= 0.98 * DELAY
    went_without = stat(crawler, "robotstxt/shared_pace/errors") and fault != "empty"
    if crawler.settings.get(PACE) and went_without:
        begin, end = spider.noticed_at, spider.ended_at
        away = [two for two in pages if begin < two[0] and two[1] < end]
        assert all(later - earlier >= 0.98 * DELAY * WORKERS for earlier, later in away)


@parts_of_seconds
@pytest.mark.parametrize(
    ("fault", "part"), [("killed", "store"), ("paused", "pace"), ("out of memory", "both")]
)
@pytest_twisted.ensureDeferred
async def test_redis_goes_away_and_comes_back(
    sites: Sites, server: RedisServer, caplog: pytest.LogCaptureFixture, fault: str, part: str
) -> None:
    await assert_it_goes_away_and_comes_back(fault, part, sites, server, caplog)


@pytest.mark.stress
@pytest.mark.parametrize("lasts", [0.0, 10.0])
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("fault", FAULTS)
@pytest_twisted.ensureDeferred
async def test_whatever_happens_to_redis_the_crawl_goes_on(
    sites: Sites,
    server: RedisServer,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    part: str,
    lasts: float,
) -> None:
    with threads_that_talk_to_redis(monkeypatch) as threads:
        await assert_it_goes_away_and_comes_back(fault, part, sites, server, caplog, lasts)
    assert threads
    assert threading.get_ident() not in threads


@pytest_twisted.ensureDeferred
async def test_redis_is_never_talked_to_in_the_thread_of_the_crawl(
    sites: Sites, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with threads_that_talk_to_redis(monkeypatch) as threads:
        await crawl_with("both", server.url, sites, pages=6)
    assert threads
    assert threading.get_ident() not in threads


def refused(server: RedisServer) -> str:
    server.stop()
    return server.url


def wrong_password(server: RedisServer) -> str:
    return server.url_for("default", f"not-{PASSWORD}")


def no_permission(server: RedisServer) -> str:
    with server.client() as client:
        client.acl_setuser("guest", enabled=True, passwords=[f"+{PASSWORD}"], categories=["+@read"])
    return server.url_for("guest", PASSWORD)


FROM_THE_START = [refused, wrong_password, no_permission]


@parts_of_seconds
@pytest.mark.parametrize("fault", FROM_THE_START)
@pytest_twisted.ensureDeferred
async def test_a_redis_that_is_of_no_use_from_the_start(
    sites: Sites, server: RedisServer, caplog: pytest.LogCaptureFixture, fault: Any
) -> None:
    caplog.set_level("INFO")
    crawler = await crawl_with("both", fault(server), sites, pages=4)
    assert_it_went_well(crawler)
    assert_one_warning(caplog, 2)
    gaps = [later - earlier for earlier, later in slow_pages(crawler)]
    assert min(gaps) >= 0.98 * DELAY * WORKERS


@pytest_twisted.ensureDeferred
async def test_a_server_of_another_kind(
    sites: Sites, server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with RedisProxy(server) as proxy:
        proxy.foreign = True
        crawler = await crawl_with("both", f"{proxy.url}?socket_timeout=0.2", sites, pages=3)
    assert_it_went_well(crawler)
    assert_one_warning(caplog, 2)


@pytest_twisted.ensureDeferred
async def test_answers_that_are_lost(
    sites: Sites, server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with RedisProxy(server) as proxy:
        proxy.lose_answers = True
        crawler = await crawl_with("both", f"{proxy.url}?socket_timeout=0.2", sites, pages=3)
    assert_it_went_well(crawler)
    assert_one_warning(caplog, 2)


@pytest.mark.stress
@pytest_twisted.ensureDeferred
async def test_a_slow_redis_slows_no_crawl_much(sites: Sites, server: RedisServer) -> None:
    """Every answer takes half a second, which no timeout notices."""
    with RedisProxy(server) as proxy:
        proxy.delay = 0.5
        crawler = await crawl_with("store", proxy.url, sites, pages=20)
    assert_it_went_well(crawler)
    assert stat(crawler, "elapsed_time_seconds") < 15


@parts_of_seconds
@pytest.mark.parametrize("mode", MODES)
def test_a_redis_that_is_not_there_in_each_reactor_mode(
    sites: Sites, server: RedisServer, mode: str
) -> None:
    slow, fast = sites.host(SLOW), sites.host(FAST)
    pages = [slow.url("/0"), slow.url("/1"), fast.url("/"), fast.url("/private/")]
    crawled = crawl_in_process(mode, *pages, **settings_for("both", refused(server)))
    assert sorted(crawled["got"]) == sorted(pages[:3])
    assert crawled["failures"] == {pages[3]: "RobotsDisallowed"}
    first, second = (at for at, url in crawled["sent"] if url in pages[:2])
    assert second - first >= 0.98 * DELAY * WORKERS
    assert crawled["stats"]["log_count/WARNING"] == 2
