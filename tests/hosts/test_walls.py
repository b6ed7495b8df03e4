"""How sites treat a crawl shows in the table, the stats, the log, the audit log and its report."""

from __future__ import annotations

import gzip
import json
import logging
from itertools import count
from time import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from scrapy import signals
from scrapy.settings import Settings
from scrapy.spidermiddlewares.httperror import HttpError

from scrapy_robots_plus import Origin, Reason, RobotsWalled
from scrapy_robots_plus.audit.entries import FileEntry, StandingEntry, VerdictEntry
from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.hosts.given_up import GivenUp
from scrapy_robots_plus.hosts.refusals import Refusals
from scrapy_robots_plus.settings.robots_settings import RobotsSettings
from tests.audit.logs import entries_in
from tests.commands.running import Robots
from tests.crawling import ProbeSpider, StepSpider, crawl, make_crawler, parts_of_seconds, run, stat
from tests.sending import HICCUP, TimedSpider, gaps
from tests.sites import Hit, Reply, Sites, answer, hang_up

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator
    from pathlib import Path

    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.clock import Now
    from tests.sites import Host

RULES = "User-agent: *\nDisallow: /closed\n"
CHALLENGE = answer("<!DOCTYPE html><p>Just a moment...", 403, cf_mitigated="challenge")
GOOD = answer("<p>A page</p>", content_type="text/html")
REFUSALS = {
    "walled": (answer("", 403), 5),
    "challenged": (CHALLENGE, 2),
    "priced": (answer("", 402, crawler_price="USD 0.01"), 2),
    "licensed": (answer("", 401, www_authenticate="License"), 2),
    "licensed or paid": (answer("", 401, www_authenticate='Basic realm="a", License'), 2),
    "limited": (answer("", 429), 2),
    "broken": (answer("", 500), 5),
    "cut off": (hang_up, 5),
}
STANDINGS = {
    "challenged": "walled",
    "licensed": "priced",
    "licensed or paid": "priced",
    "cut off": "broken",
}


def then_good(refusal: Reply, times: int) -> Reply:
    """*refusal* so many times, whatever the page; a good page from then on."""
    numbers = count()

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        await (refusal if next(numbers) < times else GOOD)(hit, writer)

    return reply


def pages(host: Host, number: int, reply: Reply) -> list[str]:
    host.pages["/page"] = reply
    return [host.url(f"/page?{each}") for each in range(number)]


def standings(crawler: Crawler) -> dict[str, int]:
    prefix = "robotstxt/standing/"
    counts = crawler.stats.get_stats()
    return {key.removeprefix(prefix): n for key, n in counts.items() if key.startswith(prefix)}


@pytest.mark.parametrize("kind", REFUSALS)
@pytest_twisted.ensureDeferred
async def test_it_changes_in_mid_crawl_and_back(
    sites: Sites, tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    refusal, needed = REFUSALS[kind]
    standing = STANDINGS.get(kind, kind)
    stays, returns = sites.host(RULES), sites.host(RULES)
    log, summary = tmp_path / "audit.jsonl", tmp_path / "summary.json"
    more = 22 if standing == "limited" else 1
    urls = pages(stays, needed, refusal)
    urls += pages(returns, needed + more, then_good(refusal, needed))
    with caplog.at_level(logging.DEBUG):
        crawler = await crawl(
            *urls,
            spider=StepSpider,
            ROBOTS_AUDIT_LOG=str(log),
            ROBOTS_SUMMARY_FILE=str(summary),
            ROBOTS_BACKOFF_MAX=0,
        )
    assert len(crawler.spider.got) + len(crawler.spider.failures) == len(urls)
    assert standings(crawler) == {standing: 2, "open": 1}
    said = [each for each in caplog.records if each.name.endswith("hosts.refusals")]
    first, *_ = said
    assert first.getMessage().startswith(f"{stays.origin} is {standing} (")
    assert first.levelno == (logging.DEBUG if standing == "limited" else logging.INFO)
    assert f"{returns.origin} is open (" in said[-1].getMessage()
    assert [vars(each)["spider"] for each in said] == [crawler.spider] * 3
    table = next(text for each in caplog.records if "delay asked" in (text := each.getMessage()))
    rows = {line.split("  ")[0]: line for line in table.splitlines() if "http://" in line}
    assert f"200, rules, {standing} " in rows[stays.origin]
    assert "200, rules  " in rows[returns.origin]
    found = {each["origin"]: each for each in json.loads(summary.read_text())["sites"]}
    assert found[stays.origin]["standing"] == standing
    assert found[returns.origin]["standing"] == "open"
    entries = [each for each in entries_in(log) if isinstance(each, StandingEntry)]
    assert [(each.origin, each.standing) for each in entries] == [
        (stays.origin, standing),
        (returns.origin, standing),
        (returns.origin, "open"),
    ]
    assert entries[0].url == urls[needed - 1]
    robots = Robots(tmp_path)
    assert robots("report", log, "-o", "report.html").status == 0
    report = (tmp_path / "report.html").read_text()
    assert f">200, {standing}<" in report
    assert ">200<" in report
    assert robots("replay", log).status == 0


@pytest.mark.parametrize(
    ("settings", "meta", "of_spider"),
    [
        ({"HTTPERROR_ALLOW_ALL": True}, {}, None),
        ({"HTTPERROR_ALLOWED_CODES": [403]}, {}, None),
        ({}, {"handle_httpstatus_list": [403]}, None),
        ({}, {"handle_httpstatus_all": True}, None),
        ({}, {}, [403]),
        ({}, {"dont_obey_robotstxt": True}, None),
    ],
)
@pytest_twisted.ensureDeferred
async def test_nothing_is_held_against_a_site_whose_answers_the_spider_handles(
    sites: Sites, settings: dict[str, Any], meta: dict[str, Any], of_spider: list[int] | None
) -> None:
    host = sites.host(RULES)
    urls = [scrapy.Request(url, meta=dict(meta)) for url in pages(host, 6, CHALLENGE)]
    attributes = {"handle_httpstatus_list": of_spider} if of_spider else {}
    crawler = await crawl(*urls, spider_attributes=attributes, **settings)
    assert len(host.fetched) == 6
    assert standings(crawler) == {}


@pytest_twisted.ensureDeferred
async def test_another_status_that_is_handled_does_not_matter(sites: Sites) -> None:
    host = sites.host(RULES)
    crawler = await crawl(*pages(host, 6, CHALLENGE), HTTPERROR_ALLOWED_CODES=[404])
    assert standings(crawler) == {"walled": 1}


@pytest_twisted.ensureDeferred
async def test_a_retried_page_is_one_page(sites: Sites) -> None:
    host = sites.host(RULES)
    urls = pages(host, 1, answer("", 500))
    crawler = await crawl(*urls, RETRY_ENABLED=True, RETRY_TIMES=7)
    assert len(host.fetched) == 8
    assert standings(crawler) == {}


@pytest_twisted.ensureDeferred
async def test_what_is_reported_changes_nothing_else(sites: Sites) -> None:
    """The default: whoever is walled off gets each page refused by the site, as without."""
    ours, without = sites.host(RULES), sites.host(RULES)
    crawler = await crawl(*pages(ours, 30, CHALLENGE))
    other = await crawl(*pages(without, 30, CHALLENGE), ADDONS={}, ROBOTSTXT_OBEY=True)
    assert sorted(ours.fetched) == sorted(without.fetched)
    for each in (crawler, other):
        assert {type(error) for error in each.spider.failures.values()} == {HttpError}
        assert len(each.spider.failures) == 30


@pytest_twisted.ensureDeferred
async def test_a_site_that_denies_all_is_denied_by_its_robots_txt(
    sites: Sites, tmp_path: Path
) -> None:
    host, summary = sites.host("User-agent: *\nDisallow: /\n"), tmp_path / "summary.json"
    await crawl(host.url("/a"), host.url("/b"), ROBOTS_SUMMARY_FILE=str(summary))
    (site,) = json.loads(summary.read_text())["sites"]
    assert site["standing"] == "denied"


class SiteBySite(ProbeSpider):
    """Asks for the pages of a site, two of each, before those of the next."""

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for number, url in enumerate(self.urls):
            yield self.request(url).replace(priority=-(number // 2))


@pytest_twisted.ensureDeferred
async def test_many_sites_fill_neither_the_log_nor_the_memory(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    """Ninety sites have been told of before."""
    hosts = [sites.host(RULES) for _ in range(14)]
    urls = [url for host in hosts for url in pages(host, 2, CHALLENGE)]
    settings = {"ROBOTS_CACHE_SIZE": 5, "CONCURRENT_REQUESTS": 1, "ROBOTS_FETCH_CONCURRENCY": 1}
    crawler = make_crawler(SiteBySite, **settings)

    def opened() -> None:
        told = Crawl.of(crawler).get(Refusals)._once_of_standing
        assert all(map(told.is_first, range(90)))

    crawler.signals.connect(opened, signals.spider_opened)
    with caplog.at_level(logging.DEBUG):
        await run(crawler, urls=urls)
    levels = [each.levelno for each in caplog.records if each.name.endswith("hosts.refusals")]
    assert levels.count(logging.INFO) == 10
    assert standings(crawler)["walled"] == len(levels) == 14


# A challenge in place of a robots.txt

PACKED = gzip.compress(b"<!DOCTYPE html><p>Just a moment...")


@pytest.mark.parametrize(
    ("reply", "is_one"),
    [
        (answer("<!DOCTYPE html><p>Just a moment...", 200, cf_mitigated="challenge"), True),
        (answer("<html><p>Just a moment...", 200, cf_mitigated="challenge"), True),
        (answer(PACKED, 200, cf_mitigated="challenge", content_encoding="gzip"), True),
        (answer(PACKED, 200, cf_mitigated="challenge"), True),
        (answer(RULES, 200, cf_mitigated="challenge"), False),
        (answer("<!DOCTYPE html><p>Not a file", 200), False),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_challenge_in_place_of_a_robots_txt_is_no_file(
    sites: Sites,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    reply: Reply,
    is_one: bool,
) -> None:
    host, log = sites.host(reply), tmp_path / "audit.jsonl"
    caplog.set_level(logging.INFO)
    crawler = await crawl(host.url("/a"), ROBOTS_AUDIT_LOG=str(log))
    assert host.fetched == ([] if is_one else ["/a"])
    assert stat(crawler, "robotstxt/failure_count/challenge") == is_one
    assert ("/robots.txt cannot be read (challenge): all its requests" in caplog.text) is is_one
    assert ("challenge, all denied" in caplog.text) is is_one
    (file,) = (each for each in entries_in(log) if isinstance(each, FileEntry))
    assert (file.failure, file.access) == (
        ("challenge", "unreachable") if is_one else (None, "rules")
    )
    explained = Robots(tmp_path)("explain", host.url("/a"))
    assert ("challenge" in "\n".join(explained.lines)) is is_one


@pytest_twisted.ensureDeferred
async def test_an_expired_copy_is_obeyed_while_a_challenge_is_in_its_place(
    sites: Sites, tmp_path: Path
) -> None:
    host = sites.host(answer(RULES, cache_control="max-age=1"))
    stored: dict[str, Any] = {
        "ROBOTS_STORE": f"sqlite:{tmp_path / 'store.sqlite'}",
        "ROBOTS_TTL": (1, 86_400),
    }
    await crawl(host.url("/a"), **stored)
    host.robots(answer("<html>Just a moment...", 200, cf_mitigated="challenge"))
    crawler = make_crawler(StepSpider, **stored)
    Crawl.of(crawler, Clock(wall=lambda: time() + 3_600))
    await run(crawler, urls=[host.url("/closed"), host.url("/b")])
    assert host.fetched == ["/a", "/b"]
    assert stat(crawler, "robotstxt/failure_count/challenge") == 1
    assert standings(crawler) == {}


@pytest_twisted.ensureDeferred
async def test_a_challenge_may_be_set_to_allow_all(sites: Sites) -> None:
    page = answer("<!DOCTYPE html><p>Just a moment...", 200, cf_mitigated="challenge")
    host = sites.host(page)
    await crawl(host.url("/a"), ROBOTS_STATUS_POLICY={"challenge": "allow"})
    assert host.fetched == ["/a"]


# Stopping

STOP: dict[str, Any] = {"ROBOTS_WALLS": "stop"}


class PatientSpider(StepSpider, TimedSpider):
    pause = 0.05


@pytest.mark.parametrize("queue", ["RobotsPriorityQueue", "Scrapy's"])
@pytest_twisted.ensureDeferred
async def test_a_walled_site_is_asked_rarely_until_it_is_open_again(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queue: str
) -> None:
    monkeypatch.setattr(GivenUp, "SECONDS", {Reason.WALLED: 0.5})
    host, log = sites.host(RULES), tmp_path / "audit.jsonl"
    urls = pages(host, 45, then_good(CHALLENGE, 4))
    settings: dict[str, Any] = {**STOP, "ROBOTS_AUDIT_LOG": str(log), "CONCURRENT_REQUESTS": 1}
    if queue != "RobotsPriorityQueue":
        settings["SCHEDULER_PRIORITY_QUEUE"] = "scrapy.pqueues.ScrapyPriorityQueue"
    crawler = await crawl(*urls, spider=PatientSpider, **settings)
    errors = list(crawler.spider.failures.values())
    walled = [error for error in errors if isinstance(error, RobotsWalled)]
    assert [type(error) for error in errors if error not in walled] == [HttpError] * 4
    assert len(walled) > 2
    assert stat(crawler, "robotstxt/forbidden/walled") == len(walled)
    assert str(walled[0]).startswith("Walled off: http://")
    # Two pages decide; the third and the fourth have tried it again, each after a pause.
    assert len(host.fetched) == len(urls) - len(walled)
    assert min(gaps(crawler.spider.sent, host)[1:4]) >= 0.5 - HICCUP
    assert len(crawler.spider.got) == len(host.fetched) - 4 > 0
    assert standings(crawler) == {"walled": 1, "open": 1}
    verdicts = [each for each in entries_in(log) if isinstance(each, VerdictEntry)]
    assert {each.reason for each in verdicts} == {"walled"}
    assert Robots(tmp_path)("replay", log).status == 0


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_requests_that_wait_fail_and_those_of_other_sites_do_not(sites: Sites) -> None:
    host, other = sites.host(RULES + "Crawl-delay: 0.2\n"), sites.host(RULES)
    urls, others = pages(host, 40, CHALLENGE), [other.url(f"/{each}") for each in range(40)]
    crawler = await crawl(*urls, *others, **STOP)
    walled = [e for e in crawler.spider.failures.values() if isinstance(e, RobotsWalled)]
    assert len(host.fetched) == 40 - len(walled) < 10
    assert len(crawler.spider.got) == 40


@pytest.mark.parametrize(
    "settings",
    [
        {"ROBOTS_WALLS": "report"},
        {**STOP, "ROBOTSTXT_OBEY": False, "ROBOTS_CRAWL_DELAY_OBEY": True},
        {**STOP, "ROBOTS_MODE": "observe"},
        {**STOP, "HTTPERROR_ALLOWED_CODES": [403]},
    ],
)
@pytest_twisted.ensureDeferred
async def test_nothing_is_dropped(sites: Sites, settings: dict[str, Any]) -> None:
    host = sites.host(RULES)
    crawler = await crawl(*pages(host, 12, CHALLENGE), **settings)
    assert len(host.fetched) == 12
    assert stat(crawler, "robotstxt/forbidden") == 0


@pytest_twisted.ensureDeferred
async def test_a_site_that_is_not_obeyed_is_asked_on(sites: Sites) -> None:
    host = sites.host(RULES)
    overrides = {host.address: {"obey": False, "reason": "our own site"}}
    await crawl(*pages(host, 12, CHALLENGE), **STOP, ROBOTS_OVERRIDES=overrides)
    assert len(host.fetched) == 12


def test_a_walled_origin_is_tried_again_sooner_unless_it_is_open_before() -> None:
    now = [0.0]
    given_up, origin = given_up_of(lambda: now[0]), Origin("http", "a.example", 80)
    given_up.add(origin, Reason.WALLED)
    assert given_up.reason(origin) is Reason.WALLED
    now[0] = 599.0
    assert origin in given_up
    now[0] = 600.0
    assert origin not in given_up
    given_up.add(origin, Reason.WALLED)
    given_up.open(origin)
    assert origin not in given_up


def given_up_of(clock: Now, **settings: Any) -> GivenUp:
    given = Settings({"ROBOTSTXT_OBEY": True, **settings})
    crawl: Any = SimpleNamespace(
        settings=RobotsSettings.from_settings(given), clock=SimpleNamespace(monotonic=clock)
    )
    return GivenUp(crawl)


def test_of_a_walled_site_the_other_ports_are_asked_on_but_not_of_a_host_that_is_given_up() -> None:
    given_up = given_up_of(lambda: 0.0)
    walled, other = (Origin("http", "a.example", port) for port in (80, 8080))
    given_up.add(walled, Reason.WALLED)
    assert [each in given_up for each in (walled, other)] == [True, False]
    given_up.add(other, Reason.GIVEN_UP)
    assert [given_up.reason(each) for each in (walled, other)] == [Reason.GIVEN_UP] * 2


@pytest.mark.parametrize("first", [Reason.GIVEN_UP, Reason.WALLED])
def test_a_wall_says_nothing_of_how_long_a_host_is_given_up(first: Reason) -> None:
    now = [0.0]
    given_up, origin = given_up_of(lambda: now[0]), Origin("http", "a.example", 80)
    for reason in (first, Reason.WALLED, Reason.GIVEN_UP, Reason.WALLED):
        given_up.add(origin, reason)
    given_up.open(origin)
    now[0] = 3_599.0
    assert given_up.reason(origin) is Reason.GIVEN_UP
    now[0] = 3_600.0
    assert given_up.reason(origin) is None


def test_an_origin_that_is_not_obeyed_is_asked_on_when_its_host_is_given_up() -> None:
    overrides = {"http://a.example:8080": {"obey": False, "reason": "our own"}}
    given_up = given_up_of(lambda: 0.0, ROBOTS_OVERRIDES=overrides)
    obeyed, own = (Origin("http", "a.example", port) for port in (80, 8080))
    given_up.add(obeyed, Reason.GIVEN_UP)
    assert [each in given_up for each in (obeyed, own)] == [True, False]


THREE = [Origin("http", f"{name}.example", 80) for name in "abc"]


def test_an_origin_that_was_given_up_is_tried_again_after_an_hour() -> None:
    now = [0.0]
    given_up = given_up_of(lambda: now[0])
    given_up.add(THREE[0], Reason.GIVEN_UP)
    assert THREE[0] in given_up
    assert THREE[1] not in given_up
    now[0] = 3_599
    assert THREE[0] in given_up
    given_up.add(THREE[0], Reason.GIVEN_UP)
    now[0] += 2
    assert THREE[0] in given_up
    now[0] += 3_600
    assert THREE[0] not in given_up


def test_the_oldest_are_forgotten_if_too_many_are_given_up() -> None:
    given_up = given_up_of(lambda: 0.0, ROBOTS_CACHE_SIZE=2)
    for origin in (*THREE[:2], THREE[0], THREE[2]):
        given_up.add(origin, Reason.GIVEN_UP)
    assert [origin in given_up for origin in THREE] == [True, False, True]
