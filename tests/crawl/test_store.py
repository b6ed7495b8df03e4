"""What a store keeps of robots.txt files from one crawl to the next, and how far it is trusted."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from scrapy_robots_plus import RobotsMiddleware, RobotsParser
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage import open_store
from tests.crawling import StepSpider, crawl, stat
from tests.sites import Host, Sites, answer, in_turn, validated
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from scrapy import Request

RULES = "User-agent: *\nDisallow: /closed\n"
CLOSED = "User-agent: *\nDisallow: /\n"
FOR_AN_HOUR: dict[str, Any] = {"cache_control": "max-age=3600"}
AT_ONCE: dict[str, Any] = {"ROBOTS_TTL": (1, 86_400), "ROBOTS_FETCH_RETRIES": 0}


@pytest_twisted.ensureDeferred
async def test_a_second_crawl_asks_for_nothing_while_it_is_fresh(
    sites: Sites, tmp_path: Path
) -> None:
    fresh = sites.host(answer(RULES))
    expires = sites.host(validated(RULES, '"1"', **FOR_AN_HOUR))
    failing = sites.host(answer("", 503))
    store = f"sqlite:{tmp_path / 'robots.db'}"
    urls = [host.url(path) for host in (fresh, expires) for path in ("/open", "/closed")]
    await crawl(*urls, failing.url(), ROBOTS_STORE=store, **AT_ONCE)
    age_records(tmp_path / "robots.db", expires)
    crawler = await crawl(*urls, failing.url(), ROBOTS_STORE=store, **AT_ONCE)
    assert fresh.robots_hits == 1
    asked = [hit.headers.get("if-none-match") for hit in expires.hits if "robots" in hit.path]
    assert asked == [None, '"1"']
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
    host = sites.host(in_turn(answer(RULES, **FOR_AN_HOUR), answer("", 503)))
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


def age_records(path: Path, host: Host) -> None:
    """Makes the record of *host* two hours older, which is over what may answer unasked."""
    store = open_store(f"sqlite:{path}", 1_000)
    origin = Origin.of(host.url())
    assert origin is not None
    record = store.get(origin)
    assert record is not None
    store.delete(record.origin)
    store.put(record._replace(fetched_at=record.fetched_at - 7_200))
    store.close()


@pytest_twisted.ensureDeferred
async def test_a_site_that_closed_with_a_403_is_not_opened_by_the_store(
    sites: Sites, tmp_path: Path
) -> None:
    host = sites.host(in_turn(answer(RULES, **FOR_AN_HOUR), answer("", 403)))
    store = tmp_path / "robots.db"
    settings = {"ROBOTS_STORE": f"sqlite:{store}", "ROBOTS_STATUS_POLICY": "mk1996", **AT_ONCE}
    await crawl(host.url("/first"), **settings)
    age_records(store, host)
    await crawl(host.url("/second"), **settings)
    await crawl(host.url("/third"), **settings)
    assert host.fetched == ["/first"]
    assert host.robots_hits == 3


class Alternately(StepSpider):
    """Of two hosts each makes the crawl forget the other, so that it goes by the store."""

    async def start(self) -> AsyncIterator[Request]:
        yield self.request(self.urls[0])  # which the old file may answer
        await until(lambda: stat(self.crawler, "robotstxt/response_count") >= 1)
        self.urls = self.urls[1:]
        async for request in super().start():
            yield request


def alternating(host: Host, beside: Host) -> list[str]:
    return [one.url(f"/{number}") for number in range(4) for one in (host, beside)]


@pytest.mark.parametrize(
    ("then", "settings"),
    [(answer(CLOSED), {}), (answer("", 403), {"ROBOTS_STATUS_POLICY": "mk1996"})],
    ids=["tightened", "403"],
)
@pytest_twisted.ensureDeferred
async def test_a_store_that_fails_does_not_bring_the_old_file_back(
    sites: Sites, tmp_path: Path, then: Any, settings: dict[str, Any]
) -> None:
    path = tmp_path / "robots.db"
    settings = {"ROBOTS_STORE": f"sqlite:{path}", "ROBOTS_CACHE_SIZE": 1, **AT_ONCE, **settings}
    host, beside = sites.host(in_turn(answer(RULES, **FOR_AN_HOUR), then)), sites.host("")
    await crawl(host.url("/first"), **settings)
    age_records(path, host)
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    crawler = await crawl(*alternating(host, beside), spider=Alternately, **settings)
    writer.close()
    assert not {"/1", "/2", "/3"} & set(host.fetched)
    assert len(beside.fetched) == 4
    assert stat(crawler, "robotstxt/store/errors") >= 1


@pytest_twisted.ensureDeferred
async def test_a_file_that_the_parser_fails_on_is_not_replaced_by_the_old_one(
    sites: Sites, tmp_path: Path
) -> None:
    """The old one is in the store, and of the host nothing is in memory any more."""
    host, beside = sites.host(in_turn(answer(RULES, **FOR_AN_HOUR), answer(BAD))), sites.host("")
    path = tmp_path / "robots.db"
    settings = {
        "ROBOTS_STORE": f"sqlite:{path}",
        "ROBOTSTXT_PARSER": FragileParser,
        "ROBOTS_CACHE_SIZE": 1,
        **AT_ONCE,
    }
    await crawl(host.url("/first"), **settings)
    age_records(path, host)
    await crawl(*alternating(host, beside), spider=Alternately, **settings)
    assert not {"/1", "/2", "/3"} & set(host.fetched)
    assert len(beside.fetched) == 4


def has_failed_twice(spider: StepSpider) -> bool:
    policies = spider.crawler.get_downloader_middleware(RobotsMiddleware).policies
    return any(policy.record.failures > 1 for policy in policies)


@pytest_twisted.ensureDeferred
async def test_a_file_that_the_parser_fails_on_is_asked_for_after_longer_and_longer(
    sites: Sites,
) -> None:
    host = sites.host(BAD)
    crawler = await crawl(
        *(host.url(f"/{number}") for number in range(100)),
        spider=StepSpider,
        spider_attributes={"pause": 0.1, "enough": has_failed_twice},
        ROBOTSTXT_PARSER=FragileParser,
        ROBOTS_RETRY_INTERVAL=(0.1, 3_600),
    )
    assert host.fetched == []
    assert len(crawler.spider.failures) < 100


@pytest_twisted.ensureDeferred
async def test_a_status_policy_that_is_tightened_holds_for_what_is_stored(
    sites: Sites, tmp_path: Path
) -> None:
    host = sites.host(answer(status=403))
    store = f"sqlite:{tmp_path / 'r.db'}"
    await crawl(host.url("/one"), ROBOTS_STORE=store)
    assert host.fetched == ["/one"]
    await crawl(host.url("/two"), ROBOTS_STORE=store, ROBOTS_STATUS_POLICY={"403": "disallow"})
    assert host.fetched == ["/one"]


@pytest_twisted.ensureDeferred
async def test_a_longest_lifetime_that_is_lowered_holds_for_what_is_stored(
    sites: Sites, tmp_path: Path
) -> None:
    host = sites.host(in_turn(answer("User-agent: *\nDisallow:\n"), answer(CLOSED)))
    path = tmp_path / "r.db"
    await crawl(host.url("/one"), ROBOTS_STORE=f"sqlite:{path}")
    age_records(path, host)
    shorter: dict[str, Any] = {"ROBOTS_TTL": (60, 60)}
    await crawl(host.url("/two"), ROBOTS_STORE=f"sqlite:{path}", **shorter)
    assert host.robots_hits == 2
    assert host.fetched == ["/one"]


@pytest.mark.parametrize("root", ["/", "//"])
@pytest_twisted.ensureDeferred
async def test_with_jobdir_the_store_is_there(sites: Sites, tmp_path: Path, root: str) -> None:
    host = sites.host(answer(RULES))
    for page in ("/a", "/b"):
        await crawl(host.url(page), JOBDIR=f"{root}{tmp_path.relative_to('/')}/job")
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
