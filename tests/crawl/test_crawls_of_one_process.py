"""Crawls that run in one process at the same time: each robots.txt is fetched once for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from scrapy_robots_plus.origins import lease
from tests.crawl.at_once import ONE_AT_A_TIME, RULES, is_fetching, late, together, urls_of
from tests.crawl_process import MODES, crawls_in_process
from tests.crawling import StepSpider, make_crawler, run, stat
from tests.sites import after, answer, hang, in_turn, validated, when
from tests.waiting import close_when

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sites import Sites


class LaterSpider(StepSpider):
    """Asks for its second page when what it has of the robots.txt is old."""

    pause = 1.2


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    assert not lease._running


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("crawlers", [2, 5])
@pytest_twisted.ensureDeferred
async def test_a_file_that_several_need_at_once_is_fetched_once(
    sites: Sites, tmp_path: Any, crawlers: int, store: str
) -> None:
    uri = store if store == "memory" else f"sqlite:{tmp_path / 'robots.db'}"
    host = sites.host(after(0.2, answer(RULES)))
    crawls = [make_crawler(ROBOTS_STORE=uri) for _ in range(crawlers)]
    await together(*((each, urls_of(host)) for each in crawls))
    assert host.robots_hits == 1
    assert host.fetched == ["/open"] * crawlers
    assert sorted(stat(each, "robotstxt/request_count") for each in crawls) == [
        *[0] * (crawlers - 1), 1,
    ]  # fmt: skip
    assert sum(stat(each, "robotstxt/shared_count") for each in crawls) == crawlers - 1


@pytest_twisted.ensureDeferred
async def test_a_file_that_another_fetched_while_this_one_waited_for_a_place_is_taken(
    sites: Sites,
) -> None:
    hosts = [sites.host(after(0.02, answer(RULES))) for _ in range(10)]
    crawls = [make_crawler(**ONE_AT_A_TIME) for _ in range(2)]
    first, second = urls_of(*hosts), urls_of(*reversed(hosts))
    await together((crawls[0], first), (crawls[1], second))
    assert [host.robots_hits for host in hosts] == [1] * 10
    assert [len(each.spider.got) for each in crawls] == [10, 10]


@pytest_twisted.ensureDeferred
async def test_what_one_has_fetched_before_is_there_for_the_others(sites: Sites) -> None:
    first, second = sites.host(RULES), sites.host(RULES)
    early, follower, last = (
        make_crawler(),
        make_crawler(late(lambda: first.fetched)),
        make_crawler(late(lambda: not early.crawling and second.fetched)),
    )
    await together(
        (early, urls_of(first)), (follower, urls_of(first, second)),
        (last, urls_of(first, second)),
    )  # fmt: skip
    assert first.robots_hits == second.robots_hits == 1
    assert stat(last, "robotstxt/request_count") == 0
    assert stat(last, "robotstxt/store/hits") == 2


@pytest_twisted.ensureDeferred
async def test_a_crawl_sees_nothing_of_one_that_ended_before(sites: Sites) -> None:
    host = sites.host(RULES)
    for _ in range(2):
        await run(make_crawler(), urls=urls_of(host))
    assert host.robots_hits == 2


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest_twisted.ensureDeferred
async def test_a_failure_is_shared_too(sites: Sites, tmp_path: Any, store: str) -> None:
    uri = store if store == "memory" else f"sqlite:{tmp_path / 'robots.db'}"
    host = sites.host(after(0.2, answer("", 503)))
    other = sites.host(RULES)
    crawls = [make_crawler(ROBOTS_STORE=uri, ROBOTS_FETCH_RETRIES=0) for _ in range(3)]
    is_over = lambda: stat(crawls[0], "robotstxt/forbidden/unreachable")  # noqa: E731
    tardy = make_crawler(late(is_over), ROBOTS_STORE=uri, ROBOTS_FETCH_RETRIES=0)
    everything = urls_of(host, other)
    await together(*((each, everything) for each in crawls), (tardy, everything))
    assert host.robots_hits == other.robots_hits == 1
    assert host.fetched == []


@pytest_twisted.ensureDeferred
async def test_a_shared_failure_means_what_each_crawl_makes_of_it(sites: Sites) -> None:
    host = sites.host(after(0.2, answer("", 503)))
    strict = make_crawler(ROBOTS_FETCH_RETRIES=0)
    lenient = make_crawler(ROBOTS_FETCH_RETRIES=0, ROBOTS_STATUS_POLICY="fail-open")
    await together((strict, [host.url("/strict")]), (lenient, [host.url("/lenient")]))
    assert host.robots_hits == 1
    assert host.fetched == ["/lenient"]


@pytest_twisted.ensureDeferred
async def test_an_expired_file_is_revalidated_once_for_all(sites: Sites) -> None:
    host = sites.host(after(0.1, validated(RULES, '"1"', cache_control="max-age=0")))
    crawls = [make_crawler(LaterSpider, ROBOTS_TTL=(1, 1)) for _ in range(3)]
    await together(*((each, [host.url("/a"), host.url("/b")]) for each in crawls))
    asked = [hit.headers.get("if-none-match") for hit in host.hits if hit.path == "/robots.txt"]
    assert asked == [None, '"1"']
    assert host.fetched == ["/a"] * 3 + ["/b"] * 3


@pytest_twisted.ensureDeferred
async def test_an_override_is_of_its_own_crawl_alone(sites: Sites) -> None:
    host = sites.host(after(0.1, answer(RULES)))
    text = {host.address: {"robots_txt": "User-agent: *\nDisallow: /open\n"}}
    off = {host.address: {"obey": False, "reason": "ours"}}
    plain, own, free = (make_crawler(ROBOTS_OVERRIDES=each) for each in ({}, text, off))
    await together(*((each, urls_of(host)) for each in (plain, own, free)))
    assert host.robots_hits == 1
    assert [each.spider.got for each in (plain, own)] == [
        [host.url("/open")],
        [host.url("/closed")],
    ]
    assert sorted(free.spider.got) == sorted(urls_of(host))


@pytest_twisted.ensureDeferred
async def test_a_crawl_that_closes_in_the_middle_leaves_the_fetch_to_another(sites: Sites) -> None:
    host = sites.host(in_turn(hang, answer(RULES)))
    closing = make_crawler()
    waiting = [make_crawler(late(lambda: host.robots_hits)) for _ in range(3)]
    close_when(lambda: all(is_fetching(each, host) for each in waiting), closing, reason="enough")
    await together((closing, urls_of(host)), *((each, urls_of(host)) for each in waiting))
    assert host.robots_hits == 2
    assert host.fetched == ["/open"] * 3


@pytest_twisted.ensureDeferred
async def test_a_crawl_that_closes_while_it_waits_does_not_stop_the_fetch(sites: Sites) -> None:
    waiting, fetching = make_crawler(late(lambda: host.robots_hits)), make_crawler()
    host = sites.host(when(lambda: not waiting.crawling, answer(RULES)))
    close_when(lambda: is_fetching(waiting, host), waiting, reason="enough")
    await together((fetching, urls_of(host)), (waiting, urls_of(host)))
    assert host.robots_hits == 1
    assert host.fetched == ["/open"]


@pytest.mark.parametrize(
    "difference",
    [
        {"USER_AGENT": "Barbot/1.0"},
        {"ROBOTSTXT_USER_AGENT": "Barbot"},
        {"ROBOTS_FETCH_META": {"headers": {"Accept-Language": "en"}}},
        {"ROBOTS_FETCH_TIMEOUT": 20},
        {"DEFAULT_REQUEST_HEADERS": {"Accept": "*/*"}},
        {"HTTPCACHE_ENABLED": True},
    ],
    ids=lambda each: next(iter(each)),
)
@pytest_twisted.ensureDeferred
async def test_crawls_that_ask_differently_share_nothing(
    sites: Sites, tmp_path: Any, difference: dict[str, Any]
) -> None:
    host = sites.host()
    host.robots(when(lambda: host.robots_hits == 2, answer(RULES)))
    settings = {"HTTPCACHE_DIR": str(tmp_path), **difference}
    one, other = make_crawler(), make_crawler(**settings)
    await together((one, urls_of(host)), (other, urls_of(host)))
    assert host.robots_hits == 2


@pytest_twisted.ensureDeferred
async def test_crawls_with_stores_of_their_own_share_nothing(sites: Sites, tmp_path: Any) -> None:
    host = sites.host()
    host.robots(when(lambda: host.robots_hits == 2, answer(RULES)))
    crawls = [make_crawler(ROBOTS_STORE=f"sqlite:{tmp_path / name}") for name in "ab"]
    await together(*((each, urls_of(host)) for each in crawls))
    assert host.robots_hits == 2


@pytest.mark.parametrize("mode", MODES)
def test_in_each_reactor_mode(sites: Sites, mode: str) -> None:
    hosts = [sites.host(after(0.2, answer(RULES))), sites.host(after(0.2, answer("", 503)))]
    urls = urls_of(*hosts)
    results = crawls_in_process(mode, 3, *urls, ROBOTS_FETCH_RETRIES=0)
    assert [host.robots_hits for host in hosts] == [1, 1]
    assert [result["got"] for result in results] == [[hosts[0].url("/open")]] * 3
