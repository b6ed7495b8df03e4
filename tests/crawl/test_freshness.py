"""robots.txt through the hours of a crawl: refreshed, changed, failing."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_twisted

from scrapy_robots_plus import robots_changed
from scrapy_robots_plus.protocol.difference import difference
from tests.crawling import (
    StepSpider,
    crawl,
    make_crawler,
    names_rules,
    parts_of_seconds,
    run,
    stat,
)
from tests.sites import TDMREP, Host, Sites, answer, in_turn, validated, when

RULES = "User-agent: *\nDisallow: /closed\n"
CLOSED = "User-agent: *\nDisallow: /\n"
EACH_SECOND: dict[str, Any] = {"cache_control": "max-age=1"}
AT_ONCE: dict[str, Any] = {"ROBOTS_TTL": (1, 86_400), "ROBOTS_FETCH_RETRIES": 0}


class SteadySpider(StepSpider):
    """Asks for one URL after the other until something has happened, which each test says."""

    pause = 0.1


MANY = 250
"""Of so many pages, a tenth of a second apart, most are not asked for."""


def steadily(host: Host, count: int = MANY) -> list[str]:
    return [host.url(f"/{number}") for number in range(count)]


def denied(count: int) -> dict[str, Any]:
    """Enough is it when so many pages were denied."""
    return {"enough": lambda spider: len(spider.failures) >= count}


def counted(name: str, count: int) -> dict[str, Any]:
    return {"enough": lambda spider: stat(spider.crawler, f"robotstxt/{name}") >= count}


def statuses(host: Host) -> tuple[int, int]:
    """How many of the robots.txt requests were conditional, and how many were not."""
    asked = [hit for hit in host.hits if hit.path == "/robots.txt"]
    conditional = sum("if-none-match" in hit.headers for hit in asked)
    return conditional, len(asked) - conditional


@pytest_twisted.ensureDeferred
async def test_a_file_that_expires_is_revalidated_behind_the_requests(sites: Sites) -> None:
    host = sites.host()
    at_once = validated(RULES, '"1"', **EACH_SECOND)
    host.robots(in_turn(at_once, when(lambda: pages_since_robots_txt(host) >= 3, at_once)))
    urls = [url for page in steadily(host) for url in (page, host.url("/closed/x"))]
    twice = counted("response_status_count/304", 2)
    crawler = await crawl(*urls, spider=SteadySpider, spider_attributes=twice, **AT_ONCE)
    conditional, plain = statuses(host)
    assert plain == 1
    assert conditional >= 2
    assert stat(crawler, "robotstxt/response_status_count/304") >= 2
    assert stat(crawler, "robotstxt/changed") == 0
    assert crawler.spider.failures.keys() == {host.url("/closed/x")}


@names_rules
@pytest_twisted.ensureDeferred
async def test_a_file_that_has_left_the_memory_is_revalidated_too(sites: Sites) -> None:
    """What the store has, expired, answers while it is fetched again, whoever asks next."""
    hosts = [
        sites.host(in_turn(answer(RULES, **EACH_SECOND), answer(CLOSED, **EACH_SECOND)))
        for _ in range(3)
    ]
    urls = [host.url(f"/{number}") for number in range(MANY) for host in hosts]
    await crawl(
        *urls,
        spider=SteadySpider,
        spider_attributes=denied(3 * len(hosts)),
        ROBOTS_CACHE_SIZE=1,
        SCHEDULER_PRIORITY_QUEUE="scrapy.pqueues.ScrapyPriorityQueue",
        **AT_ONCE,
    )
    assert all(0 < len(host.fetched) < MANY / 3 for host in hosts)


def pages_since_robots_txt(host: Host) -> int:
    return [hit.path for hit in host.hits][::-1].index("/robots.txt")


@names_rules
@pytest_twisted.ensureDeferred
async def test_a_file_that_closes_in_mid_crawl_closes_the_site(sites: Sites) -> None:
    host = sites.host(
        in_turn(answer(RULES, etag='"1"', **EACH_SECOND), answer(CLOSED, etag='"2"', **EACH_SECOND))
    )
    crawler = make_crawler(type("Spider", (SteadySpider,), denied(3)), **AT_ONCE)
    told: list[Any] = []

    def note(origin: Any, before: Any, after: Any) -> None:
        change = difference(before.parsed, after.parsed, "Foobot")
        told.append((str(origin), before.access.value, after.access.value, change))

    crawler.signals.connect(note, robots_changed)
    await run(crawler, urls=steadily(host))
    pages = len(host.fetched)
    assert pages >= 1
    assert list(crawler.spider.failures) == steadily(host)[pages : pages + 3]
    [(origin, before, then, change)] = told
    assert (origin, before, then) == (host.origin, "rules", "rules")
    assert [each.after.rule for each in change.paths if not each.allowed] == ["Disallow: /"]
    assert stat(crawler, "robotstxt/changed") == 1


@names_rules
@pytest_twisted.ensureDeferred
async def test_what_a_site_reserves_is_known_when_a_change_is_told(sites: Sites) -> None:
    closed = "User-agent: *\nDisallow: /\nAllow: /.well-known/\n"
    host = sites.host(in_turn(answer(RULES, **EACH_SECOND), answer(closed, **EACH_SECOND)))
    reserved = b'[{"location": "/", "tdm-reservation": 1}]'
    host.pages[TDMREP] = answer(reserved, content_type="application/json")
    settings = {**AT_ONCE, "ROBOTS_AI_USES": ["train-ai"]}
    crawler = make_crawler(type("Spider", (SteadySpider,), denied(3)), **settings)
    told: list[Any] = []

    def note(after: Any) -> None:
        said = after.preferences(host.url("/page"), ("Foobot",))
        told.append([each.source for each in said.statements])

    crawler.signals.connect(note, robots_changed)
    await run(crawler, urls=steadily(host))
    assert told == [["tdmrep.json"]]


@names_rules
@pytest_twisted.ensureDeferred
async def test_new_rules_hold_whatever_a_handler_of_the_signal_raises(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(in_turn(answer(RULES, **EACH_SECOND), answer(CLOSED, **EACH_SECOND)))
    crawler = make_crawler(type("Spider", (SteadySpider,), denied(3)), **AT_ONCE)

    def fail() -> None:
        raise ValueError

    crawler.signals.connect(fail, robots_changed)
    await run(crawler, urls=steadily(host))
    after_the_change = host.hits[[hit.path for hit in host.hits].index("/robots.txt", 1) :]
    assert sum(hit.path != "/robots.txt" for hit in after_the_change) <= 1
    assert stat(crawler, "robotstxt/changed") == 1
    assert any(record.levelname == "ERROR" for record in caplog.records)


@parts_of_seconds
@pytest.mark.parametrize("concurrency", [1, 16])
@pytest_twisted.ensureDeferred
async def test_requests_in_the_queue_are_judged_by_the_rules_of_their_turn(
    sites: Sites, concurrency: int
) -> None:
    """With another queue their turn comes earlier than they are sent (queue.md, "Without it")."""
    delay = "Crawl-delay: 0.3\n"
    host = sites.host(in_turn(answer(RULES + delay, **EACH_SECOND), answer(CLOSED + delay)))
    crawler = await crawl(*steadily(host, 12), CONCURRENT_REQUESTS=concurrency, **AT_ONCE)
    assert 0 < len(host.fetched) < 12
    assert len(crawler.spider.failures) == 12 - len(host.fetched)


@pytest_twisted.ensureDeferred
async def test_an_outage_leaves_the_old_rules_in_force(sites: Sites) -> None:
    host = sites.host(
        in_turn(
            answer(RULES, **EACH_SECOND),
            answer("", 503),
            answer("", 503),
            answer(RULES + "Disallow: /new", **EACH_SECOND),
        )
    )
    urls = [url for page in steadily(host) for url in (page, host.url("/closed"))]
    until_it_is_over = {**counted("response_status_count/200", 2), "last": (host.url("/new"),)}
    settings = {"ROBOTS_RETRY_INTERVAL": (0.5, 3600), **AT_ONCE}
    crawler = await crawl(
        *urls, spider=SteadySpider, spider_attributes=until_it_is_over, **settings
    )
    assert crawler.spider.failures.keys() == {host.url("/closed"), host.url("/new")}
    assert crawler.spider.got == steadily(host)[: len(host.fetched)]
    assert stat(crawler, "robotstxt/response_status_count/503") == 2


@pytest_twisted.ensureDeferred
async def test_but_not_longer_than_it_may(sites: Sites) -> None:
    host = sites.host(in_turn(answer(RULES, **EACH_SECOND), answer("", 503)))
    settings = {"ROBOTS_STALE_MAX": 2, "ROBOTS_RETRY_INTERVAL": (0.2, 3600), **AT_ONCE}
    crawler = await crawl(
        *steadily(host), spider=SteadySpider, spider_attributes=denied(3), **settings
    )
    assert len(crawler.spider.failures) == 3
    reasons = {error.verdict.reason.value for error in crawler.spider.failures.values()}
    assert reasons == {"unreachable"}


@pytest_twisted.ensureDeferred
async def test_a_server_that_never_had_rules_is_not_crawled_until_it_answers(sites: Sites) -> None:
    host = sites.host(in_turn(answer("", 500), answer("", 500), answer(RULES)))
    settings = {"ROBOTS_RETRY_INTERVAL": (0.6, 3600), **AT_ONCE}
    let_in = {"enough": lambda spider: spider.got}
    crawler = await crawl(
        *steadily(host), spider=SteadySpider, spider_attributes=let_in, **settings
    )
    *before, last = [hit.path for hit in host.hits]
    assert before == ["/robots.txt"] * 3
    assert [host.url(last)] == crawler.spider.got
    assert crawler.spider.failures


@pytest.mark.parametrize(
    ("policy", "status"), [("fail-open", 503), ({"503": "allow"}, 503), ("fail-open", 407)], ids=str
)
@pytest_twisted.ensureDeferred
async def test_the_last_good_copy_holds_under_a_policy_that_opens_too(
    sites: Sites, policy: Any, status: int
) -> None:
    """failures.md: "fail-open fetches what is not forbidden by rules that could be read"."""
    host = sites.host(in_turn(answer(RULES, **EACH_SECOND), answer(status=status)))
    failed = {**counted(f"response_status_count/{status}", 1), "last": (host.url("/closed"),)}
    settings = {"ROBOTS_STATUS_POLICY": policy, **AT_ONCE}
    crawler = await crawl(
        *steadily(host), spider=SteadySpider, spider_attributes=failed, **settings
    )
    assert list(crawler.spider.failures) == [host.url("/closed")]


@pytest_twisted.ensureDeferred
async def test_a_failure_that_opens_a_site_is_asked_about_again_in_its_own_time(
    sites: Sites,
) -> None:
    host = sites.host(in_turn(answer(status=503), answer(RULES)))
    read = {**counted("response_status_count/200", 1), "last": (host.url("/closed"),)}
    settings = {
        "ROBOTS_STATUS_POLICY": "fail-open",
        "ROBOTS_RETRY_INTERVAL": (0.5, 3600),
        **AT_ONCE,
    }
    crawler = await crawl(*steadily(host), spider=SteadySpider, spider_attributes=read, **settings)
    assert host.fetched
    assert list(crawler.spider.failures) == [host.url("/closed")]


CYRILLIC = "User-agent: *\nDisallow: /закрыто\n".encode("cp1251")
LABELLED = {"content_type": "text/plain; charset=windows-1251", **EACH_SECOND}


@names_rules
@pytest_twisted.ensureDeferred
async def test_the_same_bytes_in_another_charset_are_other_rules(sites: Sites) -> None:
    host = sites.host(in_turn(answer(CYRILLIC, **EACH_SECOND), answer(CYRILLIC, **LABELLED)))
    urls = [host.url(f"/закрыто/{number}") for number in range(MANY)]
    crawler = await crawl(*urls, spider=SteadySpider, spider_attributes=denied(3), **AT_ONCE)
    assert len(host.fetched) >= 1
    assert len(crawler.spider.failures) == 3
    assert stat(crawler, "robotstxt/changed") == 1


@names_rules
@pytest_twisted.ensureDeferred
async def test_a_304_takes_no_charset_from_the_file_it_renews(sites: Sites) -> None:
    unchanged = answer("", 304, etag='"1"', **{**EACH_SECOND, "Content_Type": "text/plain"})
    host = sites.host(in_turn(answer(CYRILLIC, etag='"1"', **LABELLED), unchanged))
    urls = [host.url(f"/закрыто/{number}") for number in range(MANY)]
    last = (host.url("/закрыто/last"),)
    renewed = {**counted("response_status_count/304", 1), "last": last}
    crawler = await crawl(*urls, spider=SteadySpider, spider_attributes=renewed, **AT_ONCE)
    assert stat(crawler, "robotstxt/response_status_count/304") >= 1
    assert host.fetched == []
