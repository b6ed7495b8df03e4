"""One question, in five places: ``may()``, the stamp, skip, the audit log, and ``permissions``."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from scrapy_robots_plus import RobotsMiddleware
from scrapy_robots_plus.audit.entries import VerdictEntry
from tests.audit.logs import damages_in, entries_in
from tests.commands.running import Robots
from tests.crawling import crawl, make_crawler, names_rules, run, stat
from tests.pages.stamping import StampStepSpider
from tests.samples import block_with
from tests.sites import TDMREP, answer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sites import Host, Sites

pytestmark = names_rules

RULES = """\
Content-Signal: use=reference

User-agent: *
Disallow: /closed
Content-Usage: search=y
Content-Usage: /usage train-ai=n
Content-Usage: /both train-ai=y

User-agent: Google-Extended
Disallow: /gallery
"""
RESERVED = [
    {"location": "/tdm/open", "tdm-reservation": 0},
    {"location": "/tdm/", "tdm-reservation": 1, "tdm-policy": "https://x.example/policy"},
    {"location": "/both", "tdm-reservation": 1},
]
HTML = "<html><head>{}</head></html>"
PAGES: dict[str, dict[str, Any]] = {
    "/header": {"content_usage": "train-ai=n"},
    "/signal": {"content_signal": "ai-train=no, use=full"},
    "/noai": {"x_robots_tag": "foobot: noai"},
    "/tdm/open/but": {"tdm_reservation": "1", "tdm_policy": "/policy"},
    "/yes": {"content_usage": "train-ai=y"},
}
METAS = {
    "/meta/noai": '<meta name="robots" content="noai">',
    "/meta/tdm": '<meta name="tdm-reservation" content="1">',
    "/meta/nothing": '<meta name="robots" content="noarchive">',
}
WANTED: dict[str, tuple[str, str | None]] = {
    "/": ("unknown", None),
    "/usage/1": ("disallow", "robots.txt Content-Usage"),
    "/gallery/1": ("disallow", "robots.txt group"),
    "/tdm/1": ("disallow", "tdmrep.json"),
    "/tdm/open/1": ("allow", "tdmrep.json"),
    "/tdm/open/but": ("disallow", "tdm-reservation header"),
    "/both": ("disallow", "tdmrep.json"),
    "/header": ("disallow", "Content-Usage header"),
    "/signal": ("disallow", "Content-Signal header"),
    "/noai": ("disallow", "X-Robots-Tag"),
    "/yes": ("allow", "Content-Usage header"),
    "/meta/noai": ("disallow", "meta robots"),
    "/meta/tdm": ("disallow", "meta tdm-reservation"),
    "/meta/nothing": ("unknown", None),
}
OBJECTING = [path for path, (preference, _) in WANTED.items() if preference == "disallow"]
BEFORE_SENDING = ["/usage/1", "/gallery/1", "/tdm/1", "/both"]
FOR_TRAINING: dict[str, Any] = {
    "ROBOTS_AI_USES": ["train-ai"],
    "ROBOTS_AI_TOKENS": ["Google-Extended"],
}
SKIP = {**FOR_TRAINING, "ROBOTS_AI_POLICY": "skip"}


class AskingSpider(StampStepSpider):
    """Asks again about all of its URLs when it has them."""

    use = "train-ai"

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.may: dict[str, Any] = {}

    async def start(self) -> Any:
        async for request in super().start():
            yield request
        policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
        for url in self.urls:
            self.may[url] = await policies.may(url, self.use)


def site(sites: Sites) -> Host:
    host = sites.host(RULES)
    host.pages[TDMREP] = answer(json.dumps(RESERVED), content_type="application/json")
    for path, headers in PAGES.items():
        host.pages[path] = answer("A page", **headers)
    for path, head in METAS.items():
        host.pages[path] = answer(HTML.format(head), content_type="text/html")
    return host


def of(host: Host, found: dict[str, Any]) -> dict[str, Any]:
    """By path."""
    return {url.removeprefix(host.url("")): each for url, each in found.items()}


def told(may: Any) -> tuple[str, str | None]:
    return may.preference, may.statement and str(may.statement.source)


def deciding(stamp: dict[str, Any]) -> tuple[str, str | None]:
    preference = stamp["preferences"]["train-ai"]
    sources = (
        each["source"]
        for each in stamp["statements"]
        if (each["category"], each["preference"]) == ("train-ai", preference)
    )
    return preference, None if preference == "unknown" else next(sources)


@pytest.fixture
def robots(tmp_path: Path) -> Robots:
    return Robots(tmp_path)


@pytest_twisted.ensureDeferred
async def test_all_of_them_agree_on_every_url(sites: Sites, tmp_path: Path, robots: Robots) -> None:
    host, log = site(sites), tmp_path / "audit.jsonl"
    urls = [host.url(path) for path in (*WANTED, "/closed")]
    settings = {"ROBOTS_AUDIT_LOG": str(log), "ROBOTS_AUDIT_LOG_ALLOWED": True}
    crawler = await crawl(*urls, spider=AskingSpider, **SKIP, **settings)
    spider = crawler.spider

    # What reaches the spider, and what is asked of the site.
    assert sorted(of(host, dict.fromkeys(spider.got))) == sorted(set(WANTED) - set(OBJECTING))
    assert sorted(host.fetched) == sorted(set(WANTED) - set(BEFORE_SENDING))
    assert [hit.path for hit in host.hits].count(TDMREP) == host.robots_hits == 1

    # may() and the stamp.
    may = of(host, spider.may)
    assert {path: told(may[path]) for path in WANTED} == WANTED
    assert [path for path in WANTED if not may[path]] == OBJECTING
    assert (may["/closed"].verdict.rule, bool(may["/closed"])) == ("Disallow: /closed", False)
    stamps = of(host, {**spider.stamps, **spider.denied})
    assert {path: deciding(stamps[path]) for path in WANTED} == WANTED

    # The exceptions, and the audit log.
    failures = of(host, spider.failures)
    assert {path: str(failures[path].verdict.source) for path in OBJECTING} == {
        path: WANTED[path][1] for path in OBJECTING
    }
    assert damages_in(log) == []
    entries = entries_in(log)
    denied = {
        entry.url: entry
        for entry in entries
        if isinstance(entry, VerdictEntry) and entry.reason == "ai_preference"
    }
    assert {path: (each.use, each.source) for path, each in of(host, denied).items()} == {
        path: ("train-ai", WANTED[path][1]) for path in OBJECTING
    }
    for path, entry in of(host, denied).items():
        assert WANTED[path][1] in [each["source"] for each in entry.statements]
        assert entry.sent is None

    # Replay and report.
    done = robots("replay", str(log))
    assert (done.status, done.lines[-1][-8:]) == (0, "0 differ"), done.output
    page = tmp_path / "report.html"
    assert robots("report", str(log), "-o", str(page)).status == 0
    text = page.read_text()
    for source in {WANTED[path][1] for path in OBJECTING}:
        assert source is not None
        assert source in text

    # The command.
    (tmp_path / "urls.txt").write_text("\n".join(urls))
    tokens = ("-s", "ROBOTS_AI_TOKENS=Google-Extended", "-s", "USER_AGENT=Foobot/1.0")
    asked = robots(
        *("permissions", "--use", "train-ai", "--input", str(tmp_path / "urls.txt"), "--json"),
        *tokens,
    )
    assert asked.status == 1, asked.output
    rows = of(host, {each["url"]: each for each in map(json.loads, asked.lines)})
    assert {path: (rows[path]["preference"], rows[path]["source"]) for path in WANTED} == WANTED
    assert rows["/closed"]["preference"] == "denied"
    assert rows["/tdm/1"]["text"] == json.dumps(RESERVED[1])
    assert rows["/tdm/open/but"]["statements"][-1]["source"] == "tdm-reservation header"


@pytest_twisted.ensureDeferred
async def test_where_nothing_is_skipped_they_say_the_same(sites: Sites, tmp_path: Path) -> None:
    host, log = site(sites), tmp_path / "audit.jsonl"
    urls = [host.url(path) for path in WANTED]
    crawler = await crawl(*urls, spider=AskingSpider, **FOR_TRAINING, ROBOTS_AUDIT_LOG=str(log))
    spider = crawler.spider
    assert spider.got == urls
    assert {path: told(each) for path, each in of(host, spider.may).items()} == WANTED
    assert {path: deciding(each) for path, each in of(host, spider.stamps).items()} == WANTED
    assert stat(crawler, "robotstxt/objections") == len(OBJECTING)


@pytest_twisted.ensureDeferred
async def test_so_they_do_after_a_change(sites: Sites, tmp_path: Path, robots: Robots) -> None:
    host, log = site(sites), tmp_path / "audit.jsonl"
    host.robots(answer(RULES, cache_control="max-age=1"))
    host.pages[TDMREP] = answer("[]", cache_control="max-age=1")

    class Spider(AskingSpider):
        pause = 0.3

        def enough(self) -> bool:
            if len(self.done) == 2:
                host.robots(answer("User-agent: *\n", cache_control="max-age=1"))
                host.pages[TDMREP] = answer(json.dumps(RESERVED), cache_control="max-age=1")
            return len(self.failures) > 1

    paths = [f"/tdm/{number}" for number in range(60)]
    settings = {"ROBOTS_AUDIT_LOG": str(log), "ROBOTS_AUDIT_LOG_ALLOWED": True}
    urls = [*map(host.url, paths), host.url("/usage/1")]
    last = {"last": (host.url("/usage/1"),)}
    crawler = await crawl(
        *urls, spider=Spider, spider_attributes=last, **SKIP, **settings, ROBOTS_TTL=(1, 86_400)
    )
    spider = crawler.spider
    assert host.url("/usage/1") in spider.got
    assert len(spider.got) > 2
    assert len(spider.failures) == 2
    for url, may in spider.may.items():
        expected = ("unknown", None) if url.endswith("/usage/1") else ("disallow", "tdmrep.json")
        assert told(may) == expected
    for url, stamp in spider.stamps.items():
        assert stamp["preferences"]["train-ai"] == "unknown", url
    verdicts = [entry for entry in entries_in(log) if isinstance(entry, VerdictEntry)]
    assert [entry.url for entry in verdicts if not entry.allowed] == list(spider.failures)
    assert [entry.url for entry in verdicts if entry.allowed] == spider.got
    assert robots("replay", str(log)).lines[-1].endswith(" 0 differ")


@pytest_twisted.ensureDeferred
async def test_the_sample_of_the_docs_asks(sites: Sites, caplog: pytest.LogCaptureFixture) -> None:
    host = sites.host("User-agent: *\nContent-Usage: train-ai=n\n")
    sample = block_with("AskingSpider", "docs/preferences.md", site=host.origin)
    with caplog.at_level(logging.INFO):
        await run(make_crawler(sample["AskingSpider"]))
    said = "train-ai: disallow (line 2: Content-Usage: train-ai=n)"
    assert f"disallow: {said}" in caplog.messages
    assert host.fetched == []


LEVELS = {"immediate": "allow", "reference": "allow", "full": "disallow"}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("where", ["group", "apart", "header"])
@pytest_twisted.ensureDeferred
async def test_how_far_a_page_is_used_may_be_too_far(
    sites: Sites, tmp_path: Path, robots: Robots, level: str, where: str
) -> None:
    line = "Content-Signal: use=reference\n"
    host = sites.host({"group": f"User-agent: *\n{line}", "apart": line, "header": ""}[where])
    if where == "header":
        host.pages["/a"] = answer("", content_signal="use=reference")
    log = tmp_path / "audit.jsonl"
    settings = {"ROBOTS_CONTENT_USE": level, "ROBOTS_AI_POLICY": "skip"}
    logs = {"ROBOTS_AUDIT_LOG": str(log), "ROBOTS_AUDIT_LOG_ALLOWED": True}
    use = {"use": f"use={level}"}
    url = host.url("/a")
    crawler = await crawl(url, spider=AskingSpider, spider_attributes=use, **settings, **logs)
    objects = LEVELS[level] == "disallow"
    assert bool(crawler.spider.failures) is objects
    # Only in a group is it a permission.
    allowed = "unknown" if where == "apart" else "allow"
    assert crawler.spider.may[url].preference == ("disallow" if objects else allowed)
    if objects:
        (error,) = crawler.spider.failures.values()
        assert error.verdict.use == "use=full"
    assert robots("replay", str(log)).lines[-1].endswith(" 0 differ")


@pytest_twisted.ensureDeferred
async def test_may_knows_its_uses_and_its_urls(sites: Sites) -> None:
    host = sites.host("User-agent: *\nContent-Usage: train-ai=n\n")
    asked: list[Any] = []

    class Spider(AskingSpider):
        async def start(self) -> Any:
            policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
            for url, use in (
                *((host.url("/a"), use) for use in ("train-ai", "search", "use=full", "mining")),
                *(("mailto:a@site.example", "search"), ("/a", "search")),
            ):
                try:
                    asked.append(told(await policies.may(url, use)))
                except ValueError as error:  # noqa: PERF203 - each of them
                    asked.append(str(error))
            async for request in super().start():
                yield request

    await crawl(spider=Spider)
    assert asked[:3] == [
        ("disallow", "robots.txt Content-Usage"),
        ("unknown", None),
        ("unknown", None),
    ]
    why = "unknown use 'mining'; expected one of train-ai, ai-use, search, use="
    assert asked[3].startswith(why)
    assert asked[4] == ("not_read", None)
    assert asked[5].startswith("expected an absolute URL")


TABLE = """\
| URL | train-ai | said by | words |
| --- | --- | --- | --- |
| {0} | disallow | robots.txt Content-Usage | Content-Usage: /usage train-ai=n |
| {1} | unknown | nobody |  |
| {2} | denied | robots.txt | Disallow: /closed, line 4 of {4} |
| {3} | disallow | X-Robots-Tag | noai |
| no URL | undecided | unknown | {5} |

| train-ai | said by | URLs |
| --- | --- | --- |
| denied | robots.txt | 1 |
| disallow | X-Robots-Tag | 1 |
| disallow | robots.txt Content-Usage | 1 |
| undecided | unknown | 1 |
| unknown | nobody | 1 |
"""


@pytest_twisted.ensureDeferred
async def test_the_command_prints_a_table(sites: Sites, robots: Robots) -> None:
    host = site(sites)
    urls = [host.url(path) for path in ("/usage/a", "/", "/closed", "/noai")]
    agent = ("-s", "USER_AGENT=Foobot/1.0")
    done = robots("permissions", "--use", "train-ai", *urls, "no URL", *agent)
    why = done.lines[6].split(" | ")[-1].removesuffix(" |")
    assert why.startswith("expected an absolute URL with a host")
    assert done.output == TABLE.format(*urls, host.url("/robots.txt"), why)
    assert done.status == 2
    files = robots("permissions", "--use", "train-ai", "--no-pages", urls[1], urls[3], *agent)
    assert files.status == 0
    assert files.lines[2:4] == [f"| {url} | unknown | nobody |  |" for url in (urls[1], urls[3])]
    assert sorted(host.fetched) == ["/", "/noai"]


@pytest_twisted.ensureDeferred
async def test_an_override_that_declares_no_use_takes_no_objection_away(
    sites: Sites, robots: Robots
) -> None:
    host = site(sites)
    override = json.dumps({host.address: {"ai_uses": [], "crawl_delay": 0}})
    settings = ("-s", "USER_AGENT=Foobot/1.0", "-s", f"ROBOTS_OVERRIDES={override}")
    done = robots("permissions", "--use", "train-ai", host.url("/noai"), *settings)
    assert done.status == 1
    assert "disallow | X-Robots-Tag" in done.lines[2]


@pytest_twisted.ensureDeferred
async def test_what_a_site_says_does_nothing_in_the_table(sites: Sites, robots: Robots) -> None:
    host = sites.host("User-agent: *\nDisallow: /<b>![x](y)\\|<http://z>*_q_~~`&lt;$\n")
    url = host.url("/%3Cb%3E![x](y)%5C|%3Chttp://z%3E_q_~~%60&lt;")
    done = robots("permissions", "--use", "search", url)
    said = "Disallow: /&#60;b>!&#91;x](y)&#92;&#124;&#60;http://z>&#42;&#95;q&#95;&#126;&#126;&#96;"
    assert f"{said}&#38;lt;&#36;, line 2 of " in done.lines[2]
    assert done.lines[2].count("|") == 5


@pytest_twisted.ensureDeferred
async def test_what_cannot_be_read_is_undecided(sites: Sites, robots: Robots) -> None:
    away = sites.host(answer("", 503, retry_after="60"))
    url = away.url("/a")
    done = robots("permissions", "--use", "search", url, "-s", "ROBOTS_FETCH_RETRIES=0")
    assert done.status == 2
    assert done.lines[2].startswith(f"| {url} | undecided | unknown |")


@pytest_twisted.ensureDeferred
async def test_a_robots_txt_that_nobody_could_read_is_no_agreement(
    sites: Sites, robots: Robots
) -> None:
    away = sites.host(answer("", 503))
    settings = ("-s", "ROBOTS_STATUS_POLICY=fail-open", "-s", "ROBOTS_FETCH_RETRIES=0")
    done = robots("permissions", "--use", "search", away.url("/a"), *settings)
    assert done.lines[2].startswith(f"| {away.url('/a')} | not_read | nobody |")
    assert done.status == 2
    done = robots("permissions", "--use", "search", "mailto:a@site.example", *settings)
    assert done.status == 0


@pytest.mark.parametrize(
    ("status", "headers", "says", "exit_status"),
    [
        (403, {}, "unknown | nobody | its page could not be read: 403 |", 2),
        (500, {}, "unknown | nobody | its page could not be read: 500 |", 2),
        (404, {"x_robots_tag": "noai"}, "disallow | X-Robots-Tag | noai |", 1),
    ],
)
@pytest_twisted.ensureDeferred
async def test_an_error_in_place_of_a_page_is_no_page_that_says_nothing(
    sites: Sites, robots: Robots, status: int, headers: dict[str, str], says: str, exit_status: int
) -> None:
    host = sites.host("")
    host.pages["/a"] = answer("", status, **headers)
    settings = ("-s", "RETRY_ENABLED=False", "-s", "ROBOTS_BACKOFF_MAX=0")
    done = robots("permissions", "--use", "train-ai", host.url("/a"), *settings)
    assert done.status == exit_status
    assert done.lines[2] == f"| {host.url('/a')} | {says}"
