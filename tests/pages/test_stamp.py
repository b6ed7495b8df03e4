"""``response.meta["robots"]``: what robots.txt said of the request when it was sent."""

from __future__ import annotations

import hashlib
import json
import pickle
import time
from datetime import datetime, timezone
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy

from tests.crawling import SendsAsBarbot, crawl, names_rules, stat
from tests.pages.stamping import FollowingSpider, StampSpider, StampStepSpider
from tests.sending import HICCUP
from tests.sites import answer, in_turn, redirect, when

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.sites import Host, Sites

RULES = "User-agent: *\nDisallow: /closed\nAllow: /open\n"
OTHER_QUEUE: dict[str, Any] = {
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"
}


async def stamps_of(*urls: str | scrapy.Request, **settings: Any) -> dict[str, Any]:
    crawler = await crawl(*urls, spider=StampSpider, **settings)
    assert crawler.spider.failures == {}
    return dict(crawler.spider.stamps)


def moment_of(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@names_rules
@pytest_twisted.ensureDeferred
async def test_it_has_the_verdict_and_the_file_that_it_comes_from(sites: Sites) -> None:
    host = sites.host(RULES)
    before = datetime.now(timezone.utc).timestamp()
    stamps = await stamps_of(host.url("/open"), host.url("/other"))
    fetched_at, requested_at = (
        moment_of(stamps[host.url("/open")].pop(key)) for key in ("fetched_at", "requested_at")
    )
    assert before - 1 < fetched_at <= requested_at < before + 60
    assert stamps[host.url("/open")] == {
        "allowed": True,
        "reason": "rule",
        "rule": "Allow: /open",
        "line": 3,
        "override": None,
        "robots_url": host.url("/robots.txt"),
        "source": "network",
        "sha256": sha256(RULES),
        "vocabulary": "draft-ietf-aipref-vocab-08",
        "preferences": {"train-ai": "unknown", "ai-use": "unknown", "search": "unknown"},
        "statements": [],
        "tdm_policy": None,
        "licenses": [],
        "page": None,
    }
    other = stamps[host.url("/other")]
    assert (other["reason"], other["rule"], other["line"]) == ("no_rule", None, None)


@pytest_twisted.ensureDeferred
async def test_it_is_plain_and_small(sites: Sites) -> None:
    said = "Content-Usage: train-ai=n, search=y\nContent-Signal: ai-train=no\n"
    host = sites.host(
        f"{said}License: https://x.example/license.xml\n".join([RULES, f"Allow: /{'x' * 1500}\n"])
    )
    url = host.url(f"/{'x' * 1500}")
    stamp = (await stamps_of(url))[url]
    text = json.dumps(stamp)
    assert json.loads(text) == stamp
    assert len(text) < 2000
    assert pickle.loads(pickle.dumps(stamp)) == stamp
    assert _types_in(stamp) <= {dict, list, str, int, bool, type(None)}


def _types_in(value: Any) -> set[type]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {type(value)}.union(*map(_types_in, parts))


@pytest.mark.parametrize(
    ("status", "reason"), [(404, "unavailable"), (403, "unavailable"), (200, "no_group")]
)
@names_rules
@pytest_twisted.ensureDeferred
async def test_a_site_without_rules_has_a_stamp_that_says_so(
    sites: Sites, status: int, reason: str
) -> None:
    host = sites.host(answer("", status))
    stamp = (await stamps_of(host.url("/a")))[host.url("/a")]
    assert (stamp["allowed"], stamp["reason"], stamp["rule"]) == (True, reason, None)


@pytest.mark.parametrize("parser", ["ProtegoRobotParser", "PythonRobotParser"])
@pytest_twisted.ensureDeferred
async def test_other_parsers_name_no_rule_and_no_line(sites: Sites, parser: str) -> None:
    host = sites.host(RULES)
    settings = {"ROBOTSTXT_PARSER": f"scrapy.robotstxt.{parser}"}
    stamp = (await stamps_of(host.url("/open"), **settings))[host.url("/open")]
    assert (stamp["allowed"], stamp["rule"], stamp["line"]) == (True, None, None)
    assert stamp["sha256"] == sha256(RULES)


@pytest_twisted.ensureDeferred
async def test_a_denied_request_has_one_too(sites: Sites) -> None:
    host, dead = sites.host(RULES), sites.host(answer("", 503))
    urls = host.url("/closed"), dead.url("/a")
    crawler = await crawl(*urls, spider=StampSpider, ROBOTS_FETCH_RETRIES=0)
    first, second = (crawler.spider.denied[url] for url in urls)
    assert (first["allowed"], first["reason"]) == (False, "rule")
    assert (second["allowed"], second["reason"], second["sha256"]) == (False, "unreachable", None)


@names_rules
@pytest_twisted.ensureDeferred
async def test_a_redirect_has_the_stamp_of_where_it_leads(sites: Sites) -> None:
    host, other = sites.host(RULES), sites.host("User-agent: *\nAllow: /there\n")
    host.pages["/open"] = redirect(other.url("/there"))
    stamps = await stamps_of(host.url("/open"))
    stamp = stamps[other.url("/there")]
    assert (stamp["rule"], stamp["line"]) == ("Allow: /there", 2)
    assert stamp["robots_url"] == other.url("/robots.txt")


@pytest_twisted.ensureDeferred
async def test_of_a_redirect_that_is_denied_it_is_replaced_too(sites: Sites) -> None:
    host = sites.host(RULES)
    host.pages["/open"] = redirect("/closed")
    crawler = await crawl(host.url("/open"), spider=StampSpider)
    assert crawler.spider.denied[host.url("/closed")]["allowed"] is False


def changing(host: Host) -> Host:
    """Its robots.txt is another one each second."""
    texts = (answer(f"# {n}\n{RULES}", cache_control="max-age=1") for n in range(50))
    return host.robots(in_turn(*texts))


class SteadySpider(StampStepSpider):
    """Asks for pages, a tenth of a second apart, until a *slow* one is there too."""

    pause = 0.1
    slow = ""

    async def start(self) -> AsyncIterator[scrapy.Request]:
        if self.slow:
            yield self.request(self.slow)
        async for request in super().start():
            yield request

    def enough(self) -> bool:
        if self.slow:
            return self.slow in self.stamps
        return len({stamp["sha256"] for stamp in self.stamps.values()}) > 1


EACH_SECOND: dict[str, Any] = {"ROBOTS_TTL": (1, 86_400), "spider": SteadySpider}


@pytest_twisted.ensureDeferred
async def test_it_is_that_of_the_file_in_force_when_the_request_was_sent(sites: Sites) -> None:
    host = changing(sites.host())
    urls = [host.url(f"/{number}") for number in range(250)]
    crawler = await crawl(*urls, **EACH_SECOND)
    stamps = list(crawler.spider.stamps.values())
    assert stamps[0]["sha256"] == sha256(f"# 0\n{RULES}")
    assert stamps[-1]["sha256"] == sha256(f"# 1\n{RULES}")
    assert stamps[0]["fetched_at"] < stamps[-1]["fetched_at"]


@pytest_twisted.ensureDeferred
async def test_a_retry_has_that_of_the_file_of_its_own_time(sites: Sites) -> None:
    host = changing(sites.host())
    slow = host.url("/slow")
    host.pages["/slow"] = in_turn(when(lambda: host.robots_hits > 2, answer("", 500)), answer("x"))
    urls = [host.url(f"/{number}") for number in range(250)]
    attributes = {"slow": slow}
    settings = {**EACH_SECOND, "spider_attributes": attributes, "RETRY_ENABLED": True}
    crawler = await crawl(*urls, **settings)
    assert crawler.spider.stamps[slow]["sha256"] != sha256(f"# 0\n{RULES}")


@names_rules
@pytest_twisted.ensureDeferred
async def test_a_request_that_is_judged_again_has_that_of_the_last_verdict(sites: Sites) -> None:
    host = sites.host("User-agent: foobot\nAllow: /\n\nUser-agent: barbot\nAllow: /a\n")
    middlewares = {SendsAsBarbot: 500}
    stamp = (await stamps_of(host.url("/a"), DOWNLOADER_MIDDLEWARES=middlewares))[host.url("/a")]
    assert (stamp["rule"], stamp["line"]) == ("Allow: /a", 5)


def after_first(host: Host) -> dict[str, Any]:
    then: tuple[tuple[str, dict[str, Any]], ...] = (
        (host.url("/open/2"), {}),
        (host.url("/closed"), {"dont_obey_robotstxt": True}),
        ("data:,x", {}),
        (host.url("/closed/too"), {}),
        (host.url("/wrong"), {"robots_override": {"obey": 5}}),
    )
    return {"spider": FollowingSpider, "spider_attributes": {"then": then}}


@pytest.mark.parametrize("queue", [{}, OTHER_QUEUE], ids=["ours", "Scrapy's"])
@pytest.mark.parametrize("on_disk", [False, True])
@names_rules
@pytest_twisted.ensureDeferred
async def test_one_that_comes_with_the_meta_does_not_survive(
    sites: Sites, tmp_path: Path, queue: dict[str, Any], on_disk: bool
) -> None:
    host = sites.host(RULES)
    job: dict[str, Any] = {"JOBDIR": str(tmp_path / "job")} if on_disk else {}
    crawler = await crawl(host.url("/first"), **after_first(host), **queue, **job)
    stamps, denied = crawler.spider.stamps, crawler.spider.denied
    assert stamps[host.url("/first")]["reason"] == "no_rule"
    assert stamps[host.url("/open/2")]["rule"] == "Allow: /open"
    assert stamps[host.url("/closed")] is None
    assert stamps["data:,x"] is None
    assert denied[host.url("/closed/too")]["rule"] == "Disallow: /closed"
    assert denied[host.url("/wrong")] is None
    assert stat(crawler, "scheduler/enqueued/disk") == (6 if on_disk else 0)


@pytest_twisted.ensureDeferred
async def test_what_a_spider_changes_in_one_stamp_is_in_no_other(sites: Sites) -> None:
    class Vandal(StampSpider):
        def parse(self, response: Any) -> Any:
            super().parse(response)
            for value in response.meta["robots"].values():
                if isinstance(value, (dict, list)):
                    value.clear()
            response.meta["robots"].clear()

    host = sites.host(RULES)
    urls = [host.url(f"/open/{number}") for number in range(20)]
    crawler = await crawl(*urls, spider=Vandal, CONCURRENT_REQUESTS=1)
    stamps = list(crawler.spider.stamps.values())
    assert len(stamps) == 20
    assert stamps[0]["allowed"] is True
    assert len({stamp.pop("requested_at") for stamp in stamps}) == 20
    assert all(stamp == stamps[0] for stamp in stamps)


@pytest.mark.parametrize("downloader", ["scrapy.core.downloader.Downloader", None])
@pytest_twisted.ensureDeferred
async def test_it_says_when_each_page_was_asked_for(
    sites: Sites, downloader: str | None, tmp_path: Path
) -> None:
    host = sites.host(RULES + "Crawl-delay: 1\n")
    host.pages["/open/0"] = redirect("/open/9")
    settings: dict[str, Any] = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    if downloader is not None:
        settings["DOWNLOADER"] = downloader
    urls = [host.url(f"/open/{number}") for number in range(3)]
    stamps = await stamps_of(*urls, **settings)
    since = time.time() - time.monotonic()
    asked = [(hit.at + since, hit.path) for hit in host.hits]
    for (before, _), (arrived, path) in pairwise(asked):
        if path != "/open/0":  # which was redirected
            assert before < moment_of(stamps[host.url(path)]["requested_at"]) < arrived + HICCUP
    again = await stamps_of(urls[1], **settings, HTTPCACHE_IGNORE_MISSING=True)
    assert again[urls[1]]["requested_at"] is None  # it came from the cache


NOBODY_LOOKED: dict[str, dict[str, Any]] = {
    "not obeyed": {"ROBOTSTXT_OBEY": False, "ROBOTS_CRAWL_DELAY_OBEY": True},
    "another parser": {"ROBOTSTXT_PARSER": "scrapy.robotstxt.ProtegoRobotParser"},
    "an override": {"ROBOTS_OVERRIDES": {"obey": False, "reason": "our own site"}},
    "could not be read": {"ROBOTS_STATUS_POLICY": {"404": "disallow", "503": "allow"}},
}
NOT_READ = dict.fromkeys(("train-ai", "ai-use", "search"), "not_read")


@pytest.mark.parametrize("why", NOBODY_LOOKED)
@pytest_twisted.ensureDeferred
async def test_where_nobody_looked_what_it_says_about_uses_it_says_so(
    sites: Sites, why: str
) -> None:
    host = sites.host("User-agent: *\nContent-Usage: train-ai=n\n")
    if why == "could not be read":
        host.robots(answer("", 503, retry_after="60"))
    host.pages["/header"] = answer("", content_usage="search=y, ai-use=x")
    settings = dict(NOBODY_LOOKED[why])
    if why == "an override":
        settings["ROBOTS_OVERRIDES"] = {host.address: settings["ROBOTS_OVERRIDES"]}
    stamps = await stamps_of(host.url("/a"), host.url("/header"), **settings)
    assert stamps[host.url("/a")]["preferences"] == NOT_READ
    said = stamps[host.url("/header")]["preferences"]
    assert said == {**NOT_READ, "search": "allow", "ai-use": "unknown"}


@pytest_twisted.ensureDeferred
async def test_where_there_is_no_file_nothing_is_known(sites: Sites) -> None:
    host = sites.host(answer("", 404))
    stamp = (await stamps_of(host.url("/a")))[host.url("/a")]
    assert set(stamp["preferences"].values()) == {"unknown"}


@names_rules
@pytest_twisted.ensureDeferred
async def test_in_audit_mode_it_says_what_would_have_been(sites: Sites) -> None:
    host = sites.host(RULES)
    urls = [host.url(path) for path in ("/first", "/closed", "/open")]
    crawler = await crawl(*urls, spider=StampStepSpider, ROBOTS_MODE="observe")
    stamps = crawler.spider.stamps
    assert stamps[host.url("/closed")]["allowed"] is False
    assert stamps[host.url("/closed")]["rule"] == "Disallow: /closed"
    assert stamps[host.url("/open")]["rule"] == "Allow: /open"


OVERRIDES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "not obeyed": (
        {"obey": False, "reason": "our own site"},
        {"reason": "not_obeyed", "override": "our own site", "source": None, "robots_url": None},
    ),
    "own text": (
        {"robots_txt": "User-agent: *\nAllow: /closed\n", "reason": "by mail"},
        {"reason": "rule", "override": "by mail", "source": "override", "fetched_at": None},
    ),
    "another name": (
        {"user_agent": "Barbot"},
        {"reason": "no_rule", "override": "user_agent", "source": "network"},
    ),
}


@pytest.mark.parametrize("name", OVERRIDES)
@pytest.mark.parametrize("of_request", [False, True])
@names_rules
@pytest_twisted.ensureDeferred
async def test_it_names_the_override_that_the_request_was_judged_under(
    sites: Sites, name: str, of_request: bool
) -> None:
    override, expected = OVERRIDES[name]
    host = sites.host(RULES + "\nUser-agent: barbot\nDisallow: /x\n")
    meta = {"robots_override": override} if of_request else {}
    settings = {} if of_request else {"ROBOTS_OVERRIDES": {host.address: override}}
    request = scrapy.Request(host.url("/closed"), meta=meta)
    stamp = (await stamps_of(request, **settings))[host.url("/closed")]
    assert {key: stamp[key] for key in expected} == expected
    assert stamp["allowed"] is True


@pytest.mark.parametrize("kind", ["sqlite", "HTTP cache"])
@pytest_twisted.ensureDeferred
async def test_a_file_from_a_store_or_a_cache_has_the_time_of_its_fetch(
    sites: Sites, tmp_path: Path, kind: str
) -> None:
    host = sites.host(RULES)
    cached = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    replayed = {**cached, "HTTPCACHE_IGNORE_MISSING": True}
    store = {"ROBOTS_STORE": f"sqlite:{tmp_path / 'robots.db'}"}
    once, again = (store, store) if kind == "sqlite" else (cached, replayed)
    first = (await stamps_of(host.url("/a"), **once))[host.url("/a")]
    second = (await stamps_of(host.url("/a"), **again))[host.url("/a")]
    assert host.robots_hits == 1
    assert second["sha256"] == first["sha256"] == sha256(RULES)
    again_from = "store" if kind == "sqlite" else "cache"
    assert (first["source"], second["source"]) == ("network", again_from)
    if kind == "sqlite":
        assert second["fetched_at"] == first["fetched_at"]


@pytest_twisted.ensureDeferred
async def test_without_robotstxt_obey_there_is_none(sites: Sites) -> None:
    host = sites.host(RULES)
    stamps = await stamps_of(host.url("/closed"), ROBOTSTXT_OBEY=False)
    assert stamps == {host.url("/closed"): None}
