"""What sites want done with their pages: seen in the stamps, and obeyed if it is to be."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from scrapy import signals

from scrapy_robots_plus import Reason, RobotsUseDisallowed, request_disallowed
from tests.crawling import SendsAsBarbot, crawl, make_crawler, names_rules, run, stat
from tests.pages.stamping import StampSpider, StampStepSpider
from tests.samples import block_with
from tests.sites import answer, in_turn, redirect, when

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.sites import Host, Reply, Sites

pytestmark = names_rules

RULES = """\
User-agent: *
Disallow: /closed
Content-Usage: search=y
Content-Usage: /no-train train-ai=n
Content-Usage: /no-train/but/this train-ai=y
Content-Usage: /secret ai-use=n, train-ai=n

User-agent: Google-Extended
Disallow: /gallery
"""
SIGNALS = "User-agent: *\nContent-Signal: search=yes, ai-train=no\nDisallow: /closed\n"
FOR_TRAINING: dict[str, Any] = {"ROBOTS_AI_USES": ["train-ai"]}
SKIP: dict[str, Any] = {**FOR_TRAINING, "ROBOTS_AI_POLICY": "skip"}
TOKENS: dict[str, Any] = {"ROBOTS_AI_TOKENS": ["Google-Extended"]}


def page(**headers: str) -> Reply:
    return answer("<p>A page</p>", 200, content_type="text/html", **headers)


PAGES: dict[str, Reply] = {
    "/header": page(content_usage="train-ai=n"),
    "/header/search": page(content_usage="search=n"),
    "/header/signal": page(content_signal="ai-train=no"),
    "/header/yes": page(content_usage="train-ai=y"),
    "/header/broken": page(content_usage="train-ai=n, ("),
    "/noai": page(x_robots_tag="noai"),
    "/noai/for-us": page(x_robots_tag="foobot: noarchive, noai"),
    "/noai/for-others": page(x_robots_tag="otherbot: noai"),
    "/noai/images": page(x_robots_tag="noimageai"),
    "/image": answer(b"GIF89a", content_type="image/gif", x_robots_tag="noimageai"),
    "/no-train/but/header": page(content_usage="train-ai=y"),
}
WANTED: dict[str, dict[str, str]] = {
    "/": {},
    "/no-train": {"train-ai": "disallow"},
    "/no-train/1": {"train-ai": "disallow"},
    "/no-train/but/this/1": {"train-ai": "allow"},
    "/no-train/but/header": {"train-ai": "disallow"},
    "/secret": {"train-ai": "disallow", "ai-use": "disallow"},
    "/gallery/1": {"train-ai": "disallow"},
    "/header": {"train-ai": "disallow"},
    "/header/search": {"search": "disallow"},
    "/header/signal": {"train-ai": "disallow"},
    "/header/yes": {"train-ai": "allow"},
    "/header/broken": {},
    "/noai": {"train-ai": "disallow"},
    "/noai/for-us": {"train-ai": "disallow"},
    "/noai/for-others": {},
    "/noai/images": {},
    "/image": {"train-ai": "disallow"},
}
"""What the owner wants of each page, besides search, which only some pages speak of."""
SEARCH_OF_ALL = {
    "/",
    *(path for path in WANTED if path.startswith(("/gallery", "/noai", "/image"))),
}
SEARCH_OF_ALL |= {"/header", "/header/signal", "/header/yes", "/header/broken"}
OBJECTING = {path for path, wanted in WANTED.items() if wanted.get("train-ai") == "disallow"}
IN_ROBOTS = {"/no-train", "/no-train/1", "/no-train/but/header", "/secret", "/gallery/1"}


def site(sites: Sites) -> Host:
    """One that says it in all the ways there are."""
    host = sites.host(RULES)
    host.pages.update(PAGES)
    return host


NOT_READ = dict.fromkeys(("train-ai", "ai-use", "search"), "not_read")


def known(stamp: dict[str, Any]) -> dict[str, str]:
    return {use: each for use, each in stamp["preferences"].items() if each != "unknown"}


@pytest_twisted.ensureDeferred
async def test_the_stamp_says_what_the_owner_of_each_page_wants(sites: Sites) -> None:
    host = site(sites)
    urls = [host.url(path) for path in (*WANTED, "/closed")]
    crawler = await crawl(*urls, spider=StampSpider, **FOR_TRAINING, **TOKENS)
    stamps = crawler.spider.stamps
    assert {path: known(stamps[host.url(path)]) for path in WANTED} == {
        path: {**({"search": "allow"} if path in SEARCH_OF_ALL else {}), **wanted}
        for path, wanted in WANTED.items()
    }
    assert known(crawler.spider.denied[host.url("/closed")]) == {}
    assert stat(crawler, "robotstxt/preferences/train-ai/disallow") == len(OBJECTING)
    assert stat(crawler, "robotstxt/preferences/train-ai/allow") == 2
    assert stat(crawler, "robotstxt/preferences/search/allow") == len(SEARCH_OF_ALL)
    assert stat(crawler, "robotstxt/preferences/search/disallow") == 1
    assert stat(crawler, "robotstxt/objections") == len(OBJECTING)
    assert stat(crawler, "robotstxt/contradictions") == 2
    assert stat(crawler, "robotstxt/forbidden") == 1


@pytest_twisted.ensureDeferred
async def test_with_skip_no_page_whose_owner_objects_is_handed_to_the_spider(sites: Sites) -> None:
    host = site(sites)
    urls = {path: host.url(path) for path in WANTED}
    dropped: list[str] = []

    def disallowed(request: scrapy.Request, verdict: Any) -> None:
        dropped.append(request.url)

    crawler = make_crawler(StampSpider, **SKIP, **TOKENS)
    crawler.signals.connect(disallowed, request_disallowed)
    await run(crawler, urls=urls.values())
    spider = crawler.spider
    objecting = {urls[path] for path in OBJECTING}
    assert set(spider.got) == set(urls.values()) - objecting
    assert set(spider.failures) == objecting == set(dropped)
    assert {type(error) for error in spider.failures.values()} == {RobotsUseDisallowed}
    assert set(host.fetched).isdisjoint(IN_ROBOTS)
    assert set(host.fetched) == set(WANTED) - IN_ROBOTS
    assert stat(crawler, "robotstxt/forbidden/ai_preference") == len(OBJECTING)
    assert stat(crawler, "robotstxt/forbidden") == len(OBJECTING)
    assert stat(crawler, "robotstxt/objections") == 0
    for path in OBJECTING:
        stamp = spider.denied[urls[path]]
        assert (stamp["allowed"], stamp["reason"]) == (False, "ai_preference")
        assert known(stamp)["train-ai"] == "disallow"


@pytest_twisted.ensureDeferred
async def test_a_denial_says_who_objects_to_what(sites: Sites) -> None:
    host = site(sites)
    urls = [host.url(path) for path in ("/no-train/1", "/gallery/1", "/header", "/noai/for-us")]
    crawler = await crawl(*urls, spider=StampSpider, **SKIP, **TOKENS)
    verdicts = [crawler.spider.failures[url].verdict for url in urls]
    assert {verdict.reason for verdict in verdicts} == {Reason.AI_PREFERENCE}
    assert {verdict.use for verdict in verdicts} == {"train-ai"}
    assert [(verdict.rule, verdict.line, verdict.source) for verdict in verdicts] == [
        ("Content-Usage: /no-train train-ai=n", 4, "robots.txt Content-Usage"),
        ("User-agent: Google-Extended, Disallow: /gallery", 9, "robots.txt group"),
        ("Content-Usage: train-ai=n", None, "Content-Usage header"),
        ("noai", None, "X-Robots-Tag"),
    ]
    robots = host.url("/robots.txt")
    assert [verdict.describe() for verdict in verdicts] == [
        f"Content-Usage: /no-train train-ai=n, line 4 of {robots}, disallows train-ai",
        f"User-agent: Google-Extended, Disallow: /gallery, line 9 of {robots}, disallows train-ai",
        "Content-Usage: train-ai=n, Content-Usage header, disallows train-ai",
        "noai, X-Robots-Tag, disallows train-ai",
    ]
    assert str(crawler.spider.failures[urls[2]]) == (
        f"Skipped for a preference of its site: {urls[2]} ({verdicts[2].describe()})"
    )


@pytest_twisted.ensureDeferred
async def test_what_is_said_and_where_is_in_the_stamp(sites: Sites) -> None:
    host = sites.host(f"{SIGNALS}License: https://x.example/license.xml\n")
    host.pages["/a"] = page(content_usage="train-ai=n")
    crawler = await crawl(host.url("/a"), spider=StampSpider)
    stamp = crawler.spider.stamps[host.url("/a")]
    assert stamp["licenses"] == ["https://x.example/license.xml"]
    signal = {"source": "robots.txt Content-Signal", "line": 2}
    signal["text"] = "Content-Signal: search=yes, ai-train=no"
    header = {"source": "Content-Usage header", "line": None, "text": "Content-Usage: train-ai=n"}
    assert stamp["statements"] == [
        {"category": "search", "preference": "allow", **signal},
        {"category": "train-ai", "preference": "disallow", **signal},
        {"category": "train-ai", "preference": "disallow", **header},
    ]


@pytest.mark.parametrize("uses", [["search"], ["ai-use"], []])
@pytest_twisted.ensureDeferred
async def test_an_objection_to_another_use_skips_nothing(sites: Sites, uses: list[str]) -> None:
    host = sites.host(SIGNALS)
    settings = {**SKIP, "ROBOTS_AI_USES": uses}
    crawler = await crawl(host.url("/a"), spider=StampSpider, **settings)
    assert crawler.spider.got == [host.url("/a")]


# What may come between

OBJECTS: dict[str, Reply] = {
    "several": page(Content_Usage="search=y", content_usage="train-ai=n"),
    "latin-1": page(x_robots_tag="caf\xe9: noindex, *: noai"),
    "mixed case": page(X_ROBOTS_TAG="NoAI"),
    "broken page": answer("", 500, x_robots_tag="noai"),
    "not found": answer("", 404, content_usage="train-ai=n"),
    "no content": answer("", 204, content_usage="train-ai=n"),
    "not followed": answer("", 302, location="/b", content_usage="train-ai=n"),
    "huge": page(content_usage=f"{'x=1, ' * 3000}train-ai=n"),
    "many": page(x_robots_tag=", ".join(["noarchive"] * 1300 + ["noai"])),
}


@pytest.mark.parametrize("kind", OBJECTS)
@pytest_twisted.ensureDeferred
async def test_a_header_counts_whatever_the_response_is(sites: Sites, kind: str) -> None:
    host = sites.host("")
    host.pages["/a"] = OBJECTS[kind]
    meta = {"handle_httpstatus_all": True, "dont_redirect": True}
    request = scrapy.Request(host.url("/a"), meta=meta)
    crawler = await crawl(request, spider=StampSpider, **SKIP)
    assert crawler.spider.got == []
    assert host.fetched == ["/a"]
    assert stat(crawler, "robotstxt/forbidden/ai_preference") == 1


@pytest_twisted.ensureDeferred
async def test_head_requests_are_no_way_round(sites: Sites) -> None:
    host = sites.host("")
    host.pages["/a"] = page(content_usage="train-ai=n")
    request = scrapy.Request(host.url("/a"), method="HEAD")
    crawler = await crawl(request, spider=StampSpider, **SKIP)
    assert (crawler.spider.got, host.fetched) == ([], ["/a"])


@pytest.mark.parametrize("target", ["/header", "/no-train/1"])
@pytest_twisted.ensureDeferred
async def test_neither_are_redirects(sites: Sites, target: str) -> None:
    host = site(sites)
    host.pages["/start"] = redirect(target)
    crawler = await crawl(host.url("/start"), spider=StampSpider, **SKIP)
    assert crawler.spider.got == []
    assert set(crawler.spider.failures) == {host.url(target)}


@pytest_twisted.ensureDeferred
async def test_nor_retries(sites: Sites) -> None:
    host = sites.host("")
    host.pages["/a"] = in_turn(answer("", 500), page(content_usage="train-ai=n"))
    crawler = await crawl(host.url("/a"), spider=StampSpider, **SKIP, RETRY_ENABLED=True)
    assert crawler.spider.got == []
    assert host.fetched == ["/a", "/a"]


@pytest_twisted.ensureDeferred
async def test_nor_the_http_cache(sites: Sites, tmp_path: Path) -> None:
    """The page was stored by a crawl that was for nothing in particular."""
    host = sites.host("")
    host.pages["/a"] = page(content_usage="train-ai=n")
    cached = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    first = await crawl(host.url("/a"), spider=StampSpider, **cached)
    second = await crawl(host.url("/a"), spider=StampSpider, **cached, **SKIP)
    assert (first.spider.got, second.spider.got) == ([host.url("/a")], [])
    assert host.fetched == ["/a"]
    assert known(second.spider.denied[host.url("/a")]) == {"train-ai": "disallow"}


@pytest_twisted.ensureDeferred
async def test_nor_a_name_that_is_one_of_several(sites: Sites) -> None:
    host = sites.host("User-agent: barbot\nContent-Usage: /a train-ai=n\n")
    host.pages["/b"] = page(x_robots_tag="barbot: noai")
    urls = [host.url(path) for path in ("/a", "/b", "/c")]
    names = {"ROBOTSTXT_USER_AGENT": ["Foobot", "Barbot"]}
    crawler = await crawl(*urls, spider=StampSpider, **SKIP, **names)
    assert crawler.spider.got == urls[2:]


@pytest_twisted.ensureDeferred
async def test_nor_a_name_that_comes_late(sites: Sites) -> None:
    host = sites.host("User-agent: foobot\n\nUser-agent: barbot\nContent-Usage: /a train-ai=n\n")
    host.pages["/b"] = page(x_robots_tag="barbot: noai")
    host.pages["/c"] = page(x_robots_tag="foobot: noai")
    urls = [host.url(path) for path in ("/a", "/b", "/c")]
    renaming = {"DOWNLOADER_MIDDLEWARES": {SendsAsBarbot: 500}}
    crawler = await crawl(*urls, spider=StampSpider, **SKIP, **renaming)
    assert crawler.spider.got == urls[2:]
    assert sorted(host.fetched) == ["/b", "/c"]


@pytest_twisted.ensureDeferred
async def test_nor_a_robots_txt_that_may_not_count(sites: Sites) -> None:
    """It is unreadable, and the project's policy lets requests pass."""
    host = sites.host(answer("", 503))
    host.pages["/a"] = page(content_usage="train-ai=n")
    settings = {**SKIP, "ROBOTS_STATUS_POLICY": "fail-open", "ROBOTS_FETCH_RETRIES": 0}
    crawler = await crawl(host.url("/a"), host.url("/b"), spider=StampSpider, **settings)
    assert crawler.spider.got == [host.url("/b")]


@pytest_twisted.ensureDeferred
async def test_a_url_without_errback_is_dropped_too(sites: Sites) -> None:
    host = sites.host(RULES)
    urls = [host.url("/"), host.url("/no-train/1")]

    class Spider(StampStepSpider):
        async def start(self) -> AsyncIterator[scrapy.Request]:
            yield self.request(urls[0])
            await self._is_done(urls[0])
            yield scrapy.Request(urls[1])

    crawler = await crawl(spider=Spider, **SKIP)
    assert host.fetched == ["/"]
    assert stat(crawler, "robotstxt/forbidden/ai_preference") == 1


# Who is not asked

HEADERS_ONLY = {"ROBOTSTXT_PARSER": "scrapy.robotstxt.ProtegoRobotParser"}


@pytest_twisted.ensureDeferred
async def test_with_another_parser_headers_count_alone(sites: Sites) -> None:
    host = site(sites)
    urls = [host.url(path) for path in ("/no-train/1", "/header", "/closed")]
    crawler = await crawl(*urls, spider=StampSpider, **SKIP, **TOKENS, **HEADERS_ONLY)
    spider = crawler.spider
    assert spider.got == [host.url("/no-train/1")]
    assert known(spider.stamps[host.url("/no-train/1")]) == NOT_READ
    assert isinstance(spider.failures[host.url("/header")], RobotsUseDisallowed)


@pytest_twisted.ensureDeferred
async def test_requests_that_are_not_checked_are_not_skipped(sites: Sites) -> None:
    host = site(sites)
    urls = [host.url(path) for path in ("/no-train/1", "/header")]
    requests = [scrapy.Request(url, meta={"dont_obey_robotstxt": True}) for url in urls]
    crawler = await crawl(*requests, spider=StampSpider, **SKIP)
    assert sorted(crawler.spider.got) == sorted(urls)
    assert stat(crawler, "robotstxt/preferences/train-ai/disallow") == 0


@pytest.mark.parametrize("delays", [True, False])
@pytest_twisted.ensureDeferred
async def test_to_be_fetched_is_not_to_be_used(sites: Sites, delays: bool) -> None:
    """Without Disallow, headers and pages are read all the same; robots.txt is not."""
    host = site(sites)
    urls = [host.url(path) for path in ("/no-train/1", "/closed", "/header", "/noai")]
    settings = {**SKIP, "ROBOTSTXT_OBEY": False, "ROBOTS_CRAWL_DELAY_OBEY": delays}
    crawler = await crawl(*urls, spider=StampSpider, **settings)
    stamps = crawler.spider.stamps
    assert {url: each["reason"] for url, each in stamps.items()} == dict.fromkeys(
        urls[:2], "not_obeyed"
    )
    assert [known(stamps[url]) for url in urls[:2]] == [NOT_READ, NOT_READ]
    assert set(crawler.spider.failures) == set(urls[2:])
    assert {known(each)["train-ai"] for each in crawler.spider.denied.values()} == {"disallow"}
    assert host.robots_hits == delays


IN_THE_PAGE = {
    "noai": True,
    "noimageai": True,
    "NoAI, noindex": True,
    "noindex": False,
    "": False,
}


@pytest.mark.parametrize(
    ("content", "name", "is_for_us"),
    [
        # By turns in `make test`.
        pytest.param(content, *of, marks=[pytest.mark.stress] * ((place + turn) % 2))
        for place, content in enumerate(IN_THE_PAGE)
        for turn, of in enumerate([("robots", True), ("Foobot", True), ("otherbot", False)])
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_meta_tag_of_the_page_may_object(
    sites: Sites, content: str, name: str, is_for_us: bool
) -> None:
    host = sites.host("")
    text = f'<html><head><meta name="{name}" content="{content}"></head><body>noai</body></html>'
    host.pages["/a"] = answer(text, content_type="text/html")
    host.pages["/text"] = answer(text, content_type="text/plain")
    urls = [host.url("/a"), host.url("/text")]
    objects = IN_THE_PAGE[content] and is_for_us
    crawler = await crawl(*urls, spider=StampSpider, **SKIP)
    assert sorted(crawler.spider.got) == urls[1:] if objects else urls
    if objects:
        assert isinstance(crawler.spider.failures[urls[0]], RobotsUseDisallowed)
    counted = await crawl(*urls, spider=StampSpider, **FOR_TRAINING)
    assert known(counted.spider.stamps[urls[0]]) == ({"train-ai": "disallow"} if objects else {})
    assert stat(counted, "robotstxt/objections") == int(objects)


@pytest_twisted.ensureDeferred
async def test_pages_are_not_read_if_no_use_is_declared(sites: Sites) -> None:
    host = sites.host("")
    host.pages["/a"] = answer('<meta name="robots" content="noai">', content_type="text/html")
    crawler = await crawl(host.url("/a"), spider=StampSpider)
    assert known(crawler.spider.stamps[host.url("/a")]) == {}


OWN: list[tuple[dict[str, Any], bool]] = [
    ({"obey": False, "reason": "our own site"}, False),
    ({"ai_policy": "observe"}, False),
    ({"ai_uses": ["search"]}, False),
    ({"ai_uses": []}, False),
    ({"ai_uses": "train-ai,ai-use", "ai_policy": "SKIP"}, True),
    ({"robots_txt": "User-agent: *\nDisallow: /x"}, False),
    ({"robots_txt": "User-agent: *\nContent-Usage: train-ai=n"}, True),
]


@pytest.mark.parametrize(("override", "skipped"), OWN, ids=[str(each) for each, _ in OWN])
@pytest.mark.parametrize("of_request", [False, True])
@pytest_twisted.ensureDeferred
async def test_overrides_change_it_for_a_host_or_a_request(
    sites: Sites, override: dict[str, Any], skipped: bool, of_request: bool
) -> None:
    host = sites.host(RULES)
    host.pages["/header"] = page(content_usage="train-ai=n")
    meta = {"robots_override": override} if of_request else {}
    settings = {} if of_request else {"ROBOTS_OVERRIDES": {host.address: override}}
    url = host.url("/no-train")
    crawler = await crawl(scrapy.Request(url, meta=meta), spider=StampSpider, **SKIP, **settings)
    assert (crawler.spider.got == []) is skipped


@pytest_twisted.ensureDeferred
async def test_tokens_of_an_override_count_there_alone(sites: Sites) -> None:
    hosts = [sites.host(RULES), sites.host(RULES)]
    override = {hosts[0].address: {"ai_tokens": ["Google-Extended"]}}
    urls = [host.url("/gallery") for host in hosts]
    crawler = await crawl(*urls, spider=StampSpider, **SKIP, ROBOTS_OVERRIDES=override)
    assert crawler.spider.got == urls[1:]


# In observe mode


@pytest_twisted.ensureDeferred
async def test_in_audit_mode_it_is_told_and_nothing_is_skipped(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    host = site(sites)
    urls = [host.url(path) for path in ("/", "/no-train/1", "/header", "/no-train/but/header")]
    with caplog.at_level(logging.DEBUG):
        crawler = await crawl(*urls, spider=StampStepSpider, **SKIP, ROBOTS_MODE="observe")
    stamps = crawler.spider.stamps
    assert crawler.spider.got == urls
    assert [stamps[url]["reason"] for url in urls[1:]] == ["ai_preference"] * 3
    assert stat(crawler, "robotstxt/forbidden/ai_preference") == 3
    assert f"Would be skipped for a preference of its site: <GET {urls[2]}>" in caplog.text
    assert "1 request allowed, 3 would be denied" in caplog.text


# What is told


@pytest_twisted.ensureDeferred
async def test_contradictions_are_counted(sites: Sites) -> None:
    hosts = [sites.host(SIGNALS), sites.host(SIGNALS)]
    for host in hosts:
        for number in range(3):
            host.pages[f"/{number}"] = page(content_usage="train-ai=y")
    urls = [host.url(f"/{number}") for host in hosts for number in range(3)]
    crawler = await crawl(*urls, spider=StampSpider)
    assert stat(crawler, "robotstxt/contradictions") == 6


@pytest_twisted.ensureDeferred
async def test_the_spider_of_the_docs_reads_the_stamp(sites: Sites) -> None:
    host = sites.host(SIGNALS)
    sample = block_with("PermittedSpider", "docs/preferences.md", site=host.origin)
    crawler = make_crawler(sample["PermittedSpider"])
    items: list[Any] = []

    def scraped(item: Any) -> None:
        items.append(item)

    crawler.signals.connect(scraped, signals.item_scraped)
    await run(crawler)
    assert items == [{"url": host.url("/"), "train_ai": "disallow"}]


# In time


@pytest_twisted.ensureDeferred
async def test_stamps_are_those_of_their_time_when_the_site_changes_its_mind(sites: Sites) -> None:
    """The second file allows what the first one disallows."""
    before = "User-agent: *\nContent-Usage: train-ai=n\n"
    after = before.replace("=n", "=y")
    host = sites.host(
        in_turn(answer(before, cache_control="max-age=1"), answer(after, cache_control="max-age=1"))
    )

    class Spider(StampStepSpider):
        pause = 0.1

        def enough(self) -> bool:
            return any(known(stamp)["train-ai"] == "allow" for stamp in self.stamps.values())

    urls = [host.url(f"/{number}") for number in range(250)]
    crawler = await crawl(*urls, spider=Spider, ROBOTS_TTL=(1, 86_400))
    stamps = list(crawler.spider.stamps.values())
    preferred = [known(stamp)["train-ai"] for stamp in stamps]
    assert preferred == ["disallow"] * (len(stamps) - 1) + ["allow"]
    assert len({stamp["sha256"] for stamp in stamps}) == 2
    assert stat(crawler, "robotstxt/preferences/train-ai/allow") == 1


@pytest_twisted.ensureDeferred
async def test_a_page_that_is_under_way_keeps_the_preferences_it_was_asked_for_under(
    sites: Sites,
) -> None:
    """The file changes before the page is there."""
    texts = [f"User-agent: *\nContent-Usage: {said}\n" for said in ("train-ai=n", "search=n")]
    host = sites.host(in_turn(*(answer(text, cache_control="max-age=1") for text in texts)))
    late = host.url("/late")
    host.pages["/late"] = when(lambda: host.robots_hits > 2, page(content_usage="ai-use=n"))

    class Spider(StampStepSpider):
        pause = 0.1

        async def start(self) -> AsyncIterator[scrapy.Request]:
            yield self.request(late)
            async for request in super().start():
                yield request

        def enough(self) -> bool:
            return late in self.stamps

    urls = [host.url(f"/{number}") for number in range(250)]
    crawler = await crawl(*urls, spider=Spider, ROBOTS_TTL=(1, 86_400))
    stamps = crawler.spider.stamps
    assert known(stamps[late]) == {"train-ai": "disallow", "ai-use": "disallow"}
    assert known(stamps[urls[0]]) == {"train-ai": "disallow"}


@pytest_twisted.ensureDeferred
async def test_a_site_that_says_nothing_leaves_no_stat(sites: Sites) -> None:
    host = sites.host("User-agent: *\nDisallow: /closed\n")
    crawler = await crawl(host.url("/a"), spider=StampSpider)
    stats = crawler.stats.get_stats()
    assert [key for key in stats if key.startswith("robotstxt/preferences")] == []
