"""robots.txt through the hours of a crawl: refreshed, changed, failing, and kept for the next."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from scrapy_robots_plus import RobotsParser, robots_changed
from tests.crawling import (
    ProbeSpider,
    crawl,
    make_crawler,
    names_rules,
    parts_of_seconds,
    run,
    stat,
)
from tests.sites import Host, Sites, after, answer, in_turn, validated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from scrapy import Request

RULES = "User-agent: *\nDisallow: /closed\n"
CLOSED = "User-agent: *\nDisallow: /\n"
EACH_SECOND = {"cache_control": "max-age=1"}
AT_ONCE = {"ROBOTS_TTL_MIN": 1, "ROBOTS_FETCH_RETRIES": 0}


class SteadySpider(ProbeSpider):
    """Asks for one URL after the other, *pause* seconds apart."""

    pause = 0.25

    async def start(self) -> AsyncIterator[Request]:
        from twisted.internet import reactor

        for url in self.urls:
            yield self.request(url)
            await maybe_deferred_to_future(deferLater(reactor, self.pause))


def steadily(host: Host, count: int) -> list[str]:
    return [host.url(f"/{number}") for number in range(count)]


def statuses(host: Host) -> tuple[int, int]:
    """How many of the robots.txt requests were conditional, and how many were not."""
    asked = [hit for hit in host.hits if hit.path == "/robots.txt"]
    conditional = sum("if-none-match" in hit.headers for hit in asked)
    return conditional, len(asked) - conditional


@pytest_twisted.ensureDeferred
async def test_a_file_that_expires_is_revalidated_behind_the_requests(sites: Sites) -> None:
    slowly_unchanged = after(0.6, validated(RULES, '"1"', **EACH_SECOND))
    host = sites.host(in_turn(validated(RULES, '"1"', **EACH_SECOND), slowly_unchanged))
    urls = [
        url
        for pair in ((page, host.url("/closed/x")) for page in steadily(host, 16))
        for url in pair
    ]
    crawler = await crawl(*urls, spider=SteadySpider, spider_attributes={"pause": 0.1}, **AT_ONCE)
    conditional, plain = statuses(host)
    assert plain == 1
    assert conditional >= 1
    assert len(host.fetched) == 16
    # A revalidation that is under way when the last page is done is called off.
    assert stat(crawler, "robotstxt/response_status_count/304") in (conditional - 1, conditional)
    # The pages went on at their pace during each revalidation of 0.6 s.
    assert max(host.gaps) < 0.55


@names_rules
@pytest_twisted.ensureDeferred
async def test_a_file_that_closes_in_mid_crawl_closes_the_site(sites: Sites) -> None:
    host = sites.host(
        in_turn(answer(RULES, etag='"1"', **EACH_SECOND), answer(CLOSED, etag='"2"', **EACH_SECOND))
    )
    crawler = make_crawler(SteadySpider, **AT_ONCE)
    told: list[Any] = []

    def note(origin: Any, before: Any, after: Any, change: Any) -> None:
        told.append((str(origin), before.access.value, after.access.value, change))

    crawler.signals.connect(note, robots_changed)
    await run(crawler, urls=steadily(host, 14))
    assert 1 <= len(host.fetched) < 10
    assert set(crawler.spider.failures) == set(steadily(host, 14)[len(host.fetched) :])
    [(origin, before, then, change)] = told
    assert (origin, before, then) == (host.origin, "rules", "rules")
    assert change.tightened == ("Disallow: /",)
    assert change.loosened == ("Disallow: /closed",)
    assert stat(crawler, "robotstxt/changed") == 1


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_requests_in_the_queue_are_judged_by_the_rules_of_their_turn(sites: Sites) -> None:
    delay = "Crawl-delay: 0.3\n"
    host = sites.host(in_turn(answer(RULES + delay, **EACH_SECOND), answer(CLOSED + delay)))
    settings = {"CONCURRENT_REQUESTS": 1, **AT_ONCE}
    crawler = await crawl(*steadily(host, 12), **settings)
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
    urls = [host.url(f"/{page}") for number in range(10) for page in (number, f"closed/{number}")]
    last = [host.url("/new")] * 6
    settings = {"ROBOTS_ERROR_TTL": 0.5, **AT_ONCE}
    crawler = await crawl(*urls, *last, spider=SteadySpider, **settings)
    assert [path for path in host.fetched if "closed" in path or "new" in path] == []
    assert len([path for path in host.fetched if path[1:].isdigit()]) == 10
    assert stat(crawler, "robotstxt/response_status_count/503") == 2
    assert host.robots_hits >= 4


@pytest_twisted.ensureDeferred
async def test_but_not_longer_than_it_may(sites: Sites) -> None:
    host = sites.host(in_turn(answer(RULES, **EACH_SECOND), answer("", 503)))
    settings = {"ROBOTS_STALE_MAX": 2, "ROBOTS_ERROR_TTL": 0.2, **AT_ONCE}
    crawler = await crawl(*steadily(host, 14), spider=SteadySpider, **settings)
    assert len(host.fetched) < 11
    reasons = {error.verdict.reason.value for error in crawler.spider.failures.values()}
    assert reasons == {"unreachable"}


@pytest_twisted.ensureDeferred
async def test_a_server_that_never_had_rules_is_not_crawled_until_it_answers(sites: Sites) -> None:
    host = sites.host(in_turn(answer("", 500), answer("", 500), answer(RULES)))
    settings = {"ROBOTS_ERROR_TTL": 0.6, **AT_ONCE}
    crawler = await crawl(*steadily(host, 12), spider=SteadySpider, **settings)
    third_answer = [hit.at for hit in host.hits if hit.path == "/robots.txt"][2]
    assert all(hit.at > third_answer for hit in host.hits if hit.path != "/robots.txt")
    assert host.fetched
    assert crawler.spider.failures


@names_rules
@pytest.mark.parametrize(
    ("then", "words"),
    [
        (answer("<!DOCTYPE html><p>Maintenance", content_type="text/html"), "HTML"),
        (answer("", 403), "403"),
        (answer("User-agent: *\n"), "shrank"),
    ],
    ids=["HTML", "403", "shrunk"],
)
@pytest_twisted.ensureDeferred
async def test_a_suspicious_change_is_told_once(
    sites: Sites, caplog: pytest.LogCaptureFixture, then: Any, words: str
) -> None:
    large = RULES + "# rules and reasons\n" * 50
    host = sites.host(in_turn(answer(large, **EACH_SECOND), then))
    crawler = await crawl(*steadily(host, 12), spider=SteadySpider, **AT_ONCE)
    told = [message for message in caplog.messages if "looks like a mistake" in message]
    assert len(told) == 1
    assert host.origin in told[0]
    assert words in told[0]
    assert stat(crawler, "robotstxt/changed/suspicious") == 1


@pytest_twisted.ensureDeferred
async def test_a_second_crawl_asks_for_nothing_while_it_is_fresh(
    sites: Sites, tmp_path: Path
) -> None:
    fresh = sites.host(answer(RULES))
    expires = sites.host(validated(RULES, '"1"', **EACH_SECOND))
    failing = sites.host(answer("", 503))
    store = f"sqlite:{tmp_path / 'robots.db'}"
    urls = [host.url(path) for host in (fresh, expires) for path in ("/open", "/closed")]
    await crawl(*urls, failing.url(), ROBOTS_STORE=store, **AT_ONCE)
    age_records(tmp_path / "robots.db", expires)
    crawler = await crawl(*urls, failing.url(), ROBOTS_STORE=store, **AT_ONCE)
    assert fresh.robots_hits == 1
    assert statuses(expires) == (1, 1)
    assert failing.robots_hits == 2  # a new crawl asks anew
    assert fresh.fetched == expires.fetched == ["/open", "/open"]
    assert stat(crawler, "robotstxt/store/hits") == 2


BAD = "Disallow: /bad"


class FragileParser(RobotsParser):
    """A parser that fails on one file, and on every file while it is broken."""

    broken = False

    @classmethod
    def from_crawler(cls, crawler: Any, robotstxt_body: bytes, charset: str | None = None) -> Any:
        if (cls.broken and robotstxt_body) or BAD.encode() in robotstxt_body:
            raise RuntimeError("a bug")
        return super().from_crawler(crawler, robotstxt_body, charset)


@pytest_twisted.ensureDeferred
async def test_a_stored_file_that_the_parser_fails_on_opens_nothing(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = sites.host(in_turn(answer(RULES, **EACH_SECOND), answer("", 503)))
    settings = {
        "ROBOTS_STORE": f"sqlite:{tmp_path / 'robots.db'}",
        "ROBOTSTXT_PARSER": FragileParser,
        **AT_ONCE,
    }
    await crawl(host.url("/1"), **settings)
    age_records(tmp_path / "robots.db", host)
    monkeypatch.setattr(FragileParser, "broken", True)
    crawler = await crawl(host.url("/2"), **settings)
    assert host.fetched == ["/1"]
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 1


class ForgetfulParser(RobotsParser):
    """Fails on a question that no request depends on."""

    @property
    def sitemaps(self) -> tuple[str, ...]:
        raise RuntimeError("no idea which")


@pytest_twisted.ensureDeferred
async def test_a_parser_that_cannot_say_what_has_changed_leaves_nothing_open(sites: Sites) -> None:
    host = sites.host(in_turn(answer(RULES, **EACH_SECOND), answer(CLOSED, **EACH_SECOND)))
    settings = {"ROBOTSTXT_PARSER": ForgetfulParser, **AT_ONCE}
    crawler = await crawl(*steadily(host, 14), spider=SteadySpider, **settings)
    assert 1 <= len(host.fetched) < 10
    assert stat(crawler, "robotstxt/forbidden/rule") == 14 - len(host.fetched)
    assert stat(crawler, "robotstxt/parser_errors") == 1
    assert stat(crawler, "robotstxt/changed") == 0


def age_records(path: Path, host: Host) -> None:
    """Makes the record of *host* two hours older, which is over what may answer unasked."""
    from dataclasses import replace

    from scrapy_robots_plus.policy.origin import Origin
    from scrapy_robots_plus.storage import open_store

    store = open_store(f"sqlite:{path}", 1_000)
    record = store.get(Origin.of(host.url()))
    assert record is not None
    store.delete(record.origin)
    store.put(replace(record, fetched_at=record.fetched_at - 7_200))
    store.close()


@pytest_twisted.ensureDeferred
async def test_a_site_that_closed_with_a_403_is_not_opened_by_the_store(
    sites: Sites, tmp_path: Path
) -> None:
    host = sites.host(in_turn(answer(RULES, **EACH_SECOND), answer("", 403)))
    settings = {"ROBOTS_STORE": f"sqlite:{tmp_path / 'robots.db'}", **AT_ONCE}
    await crawl(*steadily(host, 8), spider=SteadySpider, ROBOTS_STATUS_POLICY="mk1996", **settings)
    pages = len(host.fetched)
    assert 0 < pages < 8
    await crawl(host.url("/again"), ROBOTS_STATUS_POLICY="mk1996", **settings)
    assert len(host.fetched) == pages
    assert host.robots_hits == 3


@pytest.mark.parametrize(
    ("then", "settings"),
    [(answer(CLOSED, **EACH_SECOND), {}), (answer("", 403), {"ROBOTS_STATUS_POLICY": "mk1996"})],
    ids=["tightened", "403"],
)
@pytest_twisted.ensureDeferred
async def test_a_store_that_fails_does_not_bring_the_old_file_back(
    sites: Sites, tmp_path: Path, then: Any, settings: dict[str, Any]
) -> None:
    """Of two hosts each makes the crawl forget the other, so that it goes by the store."""
    path = tmp_path / "robots.db"
    settings = {"ROBOTS_STORE": f"sqlite:{path}", "ROBOTS_CACHE_SIZE": 1, **AT_ONCE, **settings}
    host, beside = sites.host(in_turn(answer(RULES, **EACH_SECOND), then)), sites.host("")
    await crawl(host.url("/first"), **settings)
    await pause(1.1)  # the old file has expired
    urls = [
        url for pair in zip(steadily(host, 5), steadily(beside, 5), strict=True) for url in pair
    ]
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    crawler = await crawl(*urls, spider=SteadySpider, spider_attributes={"pause": 0.2}, **settings)
    writer.close()
    assert host.robots_hits >= 2
    assert not {"/2", "/3", "/4"} & set(host.fetched)  # the first was judged by the old file
    assert len(beside.fetched) == 5
    assert stat(crawler, "robotstxt/store/errors") >= 1


def pause(seconds: float) -> Deferred[None]:
    from twisted.internet import reactor

    return deferLater(reactor, seconds)


@pytest_twisted.ensureDeferred
async def test_a_file_that_the_parser_fails_on_is_not_replaced_by_the_old_one(
    sites: Sites, tmp_path: Path
) -> None:
    """The old one is in the store, and of the host nothing is in memory any more."""
    host, beside = sites.host(in_turn(answer(RULES, **EACH_SECOND), answer(BAD))), sites.host("")
    settings = {
        "ROBOTS_STORE": f"sqlite:{tmp_path / 'robots.db'}",
        "ROBOTSTXT_PARSER": FragileParser,
        "ROBOTS_CACHE_SIZE": 1,
        **AT_ONCE,
    }
    await crawl(host.url("/first"), **settings)
    await pause(1.1)
    urls = [
        url for pair in zip(steadily(host, 5), steadily(beside, 5), strict=True) for url in pair
    ]
    await crawl(*urls, spider=SteadySpider, **settings)
    assert not {"/2", "/3", "/4"} & set(host.fetched)


@pytest_twisted.ensureDeferred
async def test_with_jobdir_the_store_is_there(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(answer(RULES))
    for page in ("/a", "/b"):
        await crawl(host.url(page), JOBDIR=str(tmp_path / "job"))
    assert host.fetched == ["/a", "/b"]
    assert host.robots_hits == 1
    assert (tmp_path / "job" / "robots.sqlite").exists()


@pytest_twisted.ensureDeferred
async def test_an_evicted_policy_comes_back_from_the_store(sites: Sites) -> None:
    hosts = [sites.host(answer(RULES)) for _ in range(4)]
    urls = [host.url(page) for page in ("/1", "/closed", "/2") for host in hosts]
    await crawl(*urls, ROBOTS_CACHE_SIZE=1, CONCURRENT_REQUESTS=1)
    assert [host.robots_hits for host in hosts] == [1] * 4
    assert [sorted(host.fetched) for host in hosts] == [["/1", "/2"]] * 4


@pytest.mark.parametrize("kind", ["a folder", "another database", "no database"])
@pytest_twisted.ensureDeferred
async def test_a_store_that_cannot_be_used_does_not_stop_the_crawl(
    sites: Sites, tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    path = tmp_path / "store"
    if kind == "a folder":
        path.mkdir()
    elif kind == "another database":
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE theirs (x)")
        database.close()
    else:
        path.write_text("Dear diary")
    before = path.read_bytes() if path.is_file() else None
    host = sites.host(answer(RULES))
    crawler = await crawl(host.url("/open"), host.url("/closed"), ROBOTS_STORE=f"sqlite:{path}")
    assert host.fetched == ["/open"]
    assert stat(crawler, "robotstxt/store/errors") == 1
    assert len([message for message in caplog.messages if "ROBOTS_STORE" in message]) == 1
    assert before is None or path.read_bytes() == before


@pytest_twisted.ensureDeferred
async def test_a_store_that_is_locked_does_not_stop_the_crawl(
    sites: Sites, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "robots.db"
    hosts = [sites.host(answer(RULES)) for _ in range(3)]
    await crawl(sites.host(answer(RULES)).url(), ROBOTS_STORE=f"sqlite:{path}")
    other_process = sqlite3.connect(path, isolation_level=None)
    other_process.execute("BEGIN IMMEDIATE")
    urls = [host.url(page) for host in hosts for page in ("/open", "/closed")]
    crawler = await crawl(*urls, ROBOTS_STORE=f"sqlite:{path}")
    other_process.close()
    assert [host.fetched for host in hosts] == [["/open"]] * 3
    assert stat(crawler, "robotstxt/store/errors") >= 3
    assert len([message for message in caplog.messages if "ROBOTS_STORE" in message]) == 1


CYRILLIC = "User-agent: *\nDisallow: /закрыто\n".encode("cp1251")
LABELLED = {"content_type": "text/plain; charset=windows-1251", **EACH_SECOND}


@names_rules
@pytest_twisted.ensureDeferred
async def test_the_same_bytes_in_another_charset_are_other_rules(sites: Sites) -> None:
    host = sites.host(in_turn(answer(CYRILLIC, **EACH_SECOND), answer(CYRILLIC, **LABELLED)))
    urls = [host.url(f"/закрыто/{number}") for number in range(14)]
    crawler = await crawl(*urls, spider=SteadySpider, **AT_ONCE)
    assert 1 <= len(host.fetched) < 10
    assert len(crawler.spider.failures) == 14 - len(host.fetched)
    assert stat(crawler, "robotstxt/changed") == 1


@names_rules
@pytest_twisted.ensureDeferred
async def test_a_304_takes_no_charset_from_the_file_it_renews(sites: Sites) -> None:
    unchanged = answer("", 304, etag='"1"', **{**EACH_SECOND, "Content_Type": "text/plain"})
    host = sites.host(in_turn(answer(CYRILLIC, etag='"1"', **LABELLED), unchanged))
    urls = [host.url(f"/закрыто/{number}") for number in range(12)]
    crawler = await crawl(*urls, spider=SteadySpider, **AT_ONCE)
    assert stat(crawler, "robotstxt/response_status_count/304") >= 1
    assert host.fetched == []
