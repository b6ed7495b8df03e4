"""``/.well-known/tdmrep.json``: fetched once for each origin of a crawl that declares a use."""

from __future__ import annotations

import gc
import json
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from twisted.internet.defer import DeferredList

from scrapy_robots_plus import RobotsMiddleware
from scrapy_robots_plus.audit.entries import FileEntry
from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.origins.crawl_store import CrawlStore
from scrapy_robots_plus.origins.store_or_site import Retrieval
from scrapy_robots_plus.protocol.preferences.tdm import TdmFile
from tests.audit.logs import entries_in
from tests.crawling import crawl, make_crawler, names_rules, run, stat
from tests.pages.stamping import StampSpider, StampStepSpider
from tests.redis_server import RedisServer
from tests.sites import TDMREP, answer, half, hang, hang_up, redirect, validated
from tests.waiting import close_when, until

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.http import Response

    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.storage.record import RobotsRecord
    from tests.sites import Host, Reply, Sites

FOR_TRAINING: dict[str, Any] = {"ROBOTS_AI_USES": ["train-ai"]}
SKIP: dict[str, Any] = {**FOR_TRAINING, "ROBOTS_AI_POLICY": "skip"}
RULES = [
    {"location": "/reserved/", "tdm-reservation": 1, "tdm-policy": "https://x.example/policy"},
    {"location": "/open/", "tdm-reservation": 0},
]
FILE = json.dumps(RULES)


def asked(host: Host) -> int:
    return sum(hit.path == TDMREP for hit in host.hits)


def site(sites: Sites, tdmrep: Reply | None = None, robots: Reply | str = "") -> Host:
    host = sites.host(robots)
    host.pages[TDMREP] = tdmrep or answer(FILE, content_type="application/json")
    return host


@names_rules
@pytest.mark.parametrize("robots", ["", "User-agent: *\nDisallow: /closed\n", answer("", 404)])
@pytest_twisted.ensureDeferred
async def test_what_it_reserves_is_not_fetched_with_skip(sites: Sites, robots: Any) -> None:
    host = site(sites, robots=robots)
    urls = [host.url(path) for path in ("/reserved/1", "/open/1", "/else", "/reserved/2")]
    crawler = await crawl(*urls, spider=StampSpider, **SKIP)
    spider = crawler.spider
    assert sorted(host.fetched) == ["/else", "/open/1"]
    assert (asked(host), host.robots_hits) == (1, 1)
    assert {url: str(error.verdict.source) for url, error in spider.failures.items()} == {
        urls[0]: "tdmrep.json",
        urls[3]: "tdmrep.json",
    }
    stamp = spider.denied[urls[0]]
    assert stamp["preferences"]["train-ai"] == "disallow"
    assert stamp["tdm_policy"] == "https://x.example/policy"
    assert [each["text"] for each in stamp["statements"]] == [json.dumps(RULES[0])]
    assert spider.stamps[urls[1]]["preferences"]["train-ai"] == "allow"
    assert spider.stamps[urls[2]]["preferences"]["train-ai"] == "unknown"
    assert stat(crawler, "robotstxt/tdmrep/200") == 1
    assert stat(crawler, "robotstxt/forbidden/ai_preference") == 2


@pytest.mark.parametrize("settings", [{}, {"ROBOTS_CONTENT_USE": "full"}])
@pytest_twisted.ensureDeferred
async def test_nobody_asks_for_it_if_no_use_is_declared(
    sites: Sites, settings: dict[str, Any]
) -> None:
    host = site(sites)
    await crawl(host.url("/reserved/1"), spider=StampSpider, **settings)
    assert (asked(host), host.fetched) == (0, ["/reserved/1"])


@pytest_twisted.ensureDeferred
async def test_nobody_asks_for_it_where_no_use_is_declared(sites: Sites) -> None:
    host, other = site(sites), site(sites)
    overrides = {other.address: {"ai_uses": [], "reason": "ours"}}
    urls = [host.url("/a"), other.url("/a")]
    await crawl(*urls, spider=StampSpider, **SKIP, ROBOTS_OVERRIDES=overrides)
    assert (asked(host), asked(other)) == (1, 0)


@names_rules
@pytest.mark.parametrize("rules", ["Disallow: /", "Disallow: /.well-known/"])
@pytest_twisted.ensureDeferred
async def test_nobody_asks_for_it_if_the_rules_disallow_it(sites: Sites, rules: str) -> None:
    host = site(sites, robots=f"User-agent: *\n{rules}\nAllow: /reserved/\n")
    url = host.url("/reserved/1")
    crawler = await crawl(url, spider=StampSpider, **SKIP)
    assert asked(host) == 0
    assert crawler.spider.stamps[url]["preferences"]["train-ai"] == "unknown"


@pytest_twisted.ensureDeferred
async def test_it_counts_where_an_override_without_a_use_has_ended(sites: Sites) -> None:
    host = site(sites)
    ends = 2_000_000_000.0
    override = {"ai_uses": [], "reason": "ours", "until": "2033-05-18T03:33:20Z"}
    crawler = make_crawler(StampStepSpider, **SKIP, ROBOTS_OVERRIDES={host.address: override})
    clock = Clock(wall=lambda: ends - 1 + 2 * (len(host.fetched) > 1))
    shared = Crawl.of(crawler, clock)
    await run(crawler, urls=[host.url(f"/reserved/{number}") for number in range(5)])
    assert Crawl.of(crawler) is shared
    assert host.fetched == ["/reserved/0", "/reserved/1"]
    assert len(crawler.spider.failures) == 3
    assert asked(host) == 1


@pytest_twisted.ensureDeferred
async def test_of_long_files_few_are_kept_parsed(sites: Sites) -> None:
    rules = [{"location": f"/{n}", "tdm-reservation": 1} for n in range(100)]
    hosts = [site(sites, answer(json.dumps(rules[n:] + rules))) for n in range(18)]
    crawler = await crawl(*[host.url("/") for host in hosts], **FOR_TRAINING)
    policies = list(crawler.get_downloader_middleware(RobotsMiddleware).policies)
    gc.collect()
    kept = sum(type(each) is TdmFile for each in gc.get_objects())
    assert len(policies) == 18 > 2 * kept
    said = {policy.preferences("/99", "Foobot").of("train-ai").value for policy in policies}
    assert said == {"disallow"}


LONG = f'[{{"location": "/", "tdm-reservation": 1}}, "{"x" * 600_000}"]'
NO_FILES: dict[str, tuple[Reply, str]] = {
    "not there": (answer("", 404), "404"),
    "gone": (answer("gone", 410), "410"),
    "forbidden": (answer("", 403), "403"),
    "an error": (answer("", 500), "500"),
    "busy": (answer("", 503, retry_after="3600"), "503"),
    "too many": (answer("", 429), "429"),
    "a page": (answer("<html>Not found</html>", content_type="text/html"), "200"),
    "empty": (answer(""), "200"),
    "not JSON": (answer(FILE[:-1]), "200"),
    "no list": (answer('{"location": "/", "tdm-reservation": 1}'), "200"),
    "too long": (answer(LONG), "200"),
    "deep": (answer("[" * 500_000), "200"),
    "cut off": (half(FILE), "cut"),
    "closed": (hang_up, "connection"),
    "silent": (hang, "timeout"),
    "elsewhere": (redirect("ftp://x.example/"), "bad_redirect"),
    "in circles": (redirect(TDMREP), "redirects"),
    "not gzip": (answer(FILE, content_encoding="gzip"), "undecodable"),
}


@names_rules
@pytest.mark.parametrize("kind", NO_FILES)
@pytest_twisted.ensureDeferred
async def test_what_is_no_such_file_says_nothing_and_fails_nothing(sites: Sites, kind: str) -> None:
    reply, outcome = NO_FILES[kind]
    host = site(sites, reply, "User-agent: *\nContent-Usage: search=y\n")
    urls = [host.url(f"/reserved/{number}") for number in range(3)]
    crawler = await crawl(*urls, spider=StampSpider, **SKIP, ROBOTS_FETCH_TIMEOUT=1)
    assert sorted(crawler.spider.got) == urls
    for stamp in crawler.spider.stamps.values():
        assert stamp["preferences"] == {
            "train-ai": "unknown",
            "ai-use": "unknown",
            "search": "allow",
        }
    assert stat(crawler, f"robotstxt/tdmrep/{outcome}") == 1
    assert stat(crawler, "log_count/ERROR") == 0
    assert asked(host) == (6 if kind == "in circles" else 1)


@pytest_twisted.ensureDeferred
async def test_it_may_be_elsewhere_on_the_web(sites: Sites) -> None:
    other = sites.host("")
    other.pages["/tdm.json"] = answer(FILE)
    host = site(sites, redirect(other.url("/tdm.json")))
    crawler = await crawl(host.url("/reserved/1"), spider=StampSpider, **SKIP)
    assert (crawler.spider.got, host.fetched) == ([], [])


@pytest_twisted.ensureDeferred
async def test_each_is_read_once_however_many_sites_there_are(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, init = [], TdmFile.__init__

    def noting(file: TdmFile, body: bytes) -> None:
        read.append(body)
        init(file, body)

    monkeypatch.setattr(TdmFile, "__init__", noting)
    hosts = [
        site(sites, answer(f'[{{"location": "/reserved/{number}", "tdm-reservation": 1}}]'))
        for number in range(6)
    ]
    urls = [host.url(f"/{number}") for number in range(3) for host in hosts]
    crawler = await crawl(*urls, spider=StampSpider, **SKIP)
    assert len(crawler.spider.got) == 18
    assert len(read) == 6


@pytest_twisted.ensureDeferred
async def test_what_pages_say_is_kept_short(sites: Sites) -> None:
    """Ten thousand pages that say a lot must not fill the memory."""
    host = site(sites)
    html = '<html><head><meta name="tdm-reservation" content="{}"><meta name="tdm-policy" {}>'
    long = html.format("1," * 40_000, f'content="{"x" * 100_000}"')
    host.pages["/long"] = answer(long, content_type="text/html")

    class Spider(StampSpider):
        async def parse(self, response: Response) -> None:
            policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
            found.append(await policies.may(response.url, "train-ai"))

    found: list[Any] = []
    await crawl(host.url("/long"), spider=Spider, **FOR_TRAINING)
    (permission,) = found
    assert permission.preference == "disallow"
    assert len(f"{permission.statement.text}{permission.statement.policy}") <= 1_000


@pytest_twisted.ensureDeferred
async def test_pages_overrule_it(sites: Sites) -> None:
    host = site(sites)
    html = '<html><head><meta name="TDM-Reservation" content="{}"></head></html>'
    host.pages["/reserved/header"] = answer("", tdm_reservation="0")
    host.pages["/open/header"] = answer("", tdm_reservation="1", tdm_policy="/policy")
    host.pages["/open/meta"] = answer(html.format(1), content_type="text/html")
    host.pages["/open/both"] = answer(html.format(0), content_type="text/html", tdm_reservation="1")
    urls = [host.url(path) for path in host.pages if path not in (TDMREP, "/robots.txt")]
    crawler = await crawl(*urls, spider=StampSpider, **FOR_TRAINING)
    stamps = crawler.spider.stamps
    found = {url: stamps[url]["preferences"]["train-ai"] for url in urls}
    assert list(found.values()) == ["allow", "disallow", "disallow", "allow"]
    assert [stamps[url]["tdm_policy"] for url in urls] == [None, "/policy", None, None]
    assert stat(crawler, "robotstxt/contradictions") == 0
    skipping = await crawl(*urls, spider=StampSpider, **SKIP)
    assert skipping.spider.got == [urls[3]]
    sources = [str(skipping.spider.failures[url].verdict.source) for url in urls[:3]]
    assert sources == ["tdmrep.json", "tdm-reservation header", "meta tdm-reservation"]


@pytest_twisted.ensureDeferred
async def test_the_next_crawl_has_it_from_the_store(sites: Sites, tmp_path: Path) -> None:
    host = site(sites)
    stored = {**SKIP, "ROBOTS_STORE": f"sqlite:{tmp_path / 'robots.db'}"}
    for _ in range(2):
        crawler = await crawl(host.url("/reserved/1"), spider=StampSpider, **stored)
        assert crawler.spider.got == []
    assert (asked(host), host.robots_hits, host.fetched) == (1, 1, [])


@pytest_twisted.ensureDeferred
async def test_so_have_crawls_of_other_workers_that_it_is_not_there(
    sites: Sites, tmp_path: Path
) -> None:
    host = site(sites, answer("", 404))
    stored = {**SKIP, "ROBOTS_STORE": f"sqlite:{tmp_path / 'robots.db'}"}
    for _ in range(2):
        await crawl(host.url("/reserved/1"), spider=StampSpider, **stored)
    assert asked(host) == 1


@pytest_twisted.ensureDeferred
async def test_a_change_in_mid_crawl_counts_when_it_is_due(sites: Sites) -> None:
    """It has a freshness of its own, and is asked for by its validator."""
    host = site(sites, validated("[]", '"1"', cache_control="max-age=1"))

    class Spider(StampStepSpider):
        pause = 0.4

        def enough(self) -> bool:
            if len(self.done) == 4:
                host.pages[TDMREP] = answer(FILE, cache_control="max-age=1")
            return bool(self.failures)

    urls = [host.url(f"/reserved/{number}") for number in range(60)]
    crawler = await crawl(*urls, spider=Spider, **SKIP, ROBOTS_TTL=(1, 86_400))
    (stopped,) = crawler.spider.failures
    assert urls.index(stopped) >= 4
    assert host.robots_hits == 1
    assert any("if-none-match" in hit.headers for hit in host.hits if hit.path == TDMREP)


@pytest.mark.parametrize("records", [2, 1])
@pytest_twisted.ensureDeferred
async def test_an_outage_leaves_the_last_good_copy(sites: Sites, records: int) -> None:
    """Also one that the store has dropped meanwhile."""
    host = site(sites, answer(FILE, cache_control="max-age=1"))

    class Spider(StampStepSpider):
        pause = 0.4

        def enough(self) -> bool:
            if self.failures:
                host.pages[TDMREP] = answer("", 503)
            return asked(host) > 1 and len(self.failures) > 6

    urls = [host.url(f"/reserved/{number}") for number in range(60)]
    settings: dict[str, Any] = {**SKIP, "ROBOTS_TTL": (1, 86_400), "ROBOTS_STORE_MAX": records}
    crawler = await crawl(*urls, spider=Spider, **settings)
    assert host.fetched == crawler.spider.got == []
    assert stat(crawler, "robotstxt/tdmrep/503") >= 1


@pytest_twisted.ensureDeferred
async def test_closing_while_it_is_fetched_makes_no_failure_of_a_robots_txt_that_was_read(
    sites: Sites, tmp_path: Path
) -> None:
    host, log = site(sites, hang), tmp_path / "audit.jsonl"
    crawler = make_crawler(**SKIP, ROBOTS_AUDIT_LOG=str(log))
    close_when(lambda: asked(host), crawler)
    await run(crawler, urls=[host.url("/a")])
    files = [entry for entry in entries_in(log) if isinstance(entry, FileEntry)]
    assert [file.status for file in files] == ["200"]


@pytest_twisted.ensureDeferred
async def test_who_looked_before_another_crawl_fetched_it_looks_again(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = site(sites)
    load = CrawlStore.load

    async def late(store: CrawlStore, origin: Origin, **how: bool) -> RobotsRecord | None:
        found = await load(store, origin, **how)
        if origin.path == TDMREP and store is Crawl.of(second).get(Retrieval)._store:
            await until(lambda: not first.crawling)
        return found

    monkeypatch.setattr(CrawlStore, "load", late)
    with RedisServer() as server:
        settings = {**SKIP, "ROBOTS_STORE": server.url}
        first, second = make_crawler(**settings), make_crawler(**settings)
        await DeferredList([each.crawl(urls=[host.url("/open/1")]) for each in (first, second)])
    assert len(first.spider.got) == len(second.spider.got) == 1
    assert (asked(host), host.robots_hits) == (1, 1)
