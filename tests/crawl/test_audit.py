"""The audit log of real crawls."""

from __future__ import annotations

import itertools
import logging
import os
import shutil
from errno import ENOSPC
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from twisted.internet.defer import gatherResults

from scrapy_robots_plus.audit import recorder
from scrapy_robots_plus.audit.bodies import Bodies, BodyError
from scrapy_robots_plus.audit.chain import LogState
from scrapy_robots_plus.audit.entries import CrawlEntry, EndEntry, Entry, FileEntry, VerdictEntry
from scrapy_robots_plus.audit.recorder import is_in_share
from tests.audit.logs import damages_in, entries_in, state_of
from tests.commands.running import Robots
from tests.crawling import (
    ProbeSpider,
    SendsAsBarbot,
    StepSpider,
    crawl,
    make_crawler,
    names_rules,
    run,
    stat,
)
from tests.sending import TimedSpider, gaps
from tests.sites import Sites, answer, hang_up, in_turn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy.crawler import Crawler

RULES = "User-agent: *\nDisallow: /closed\nAllow: /\n"
DIGEST = sha256(RULES.encode()).hexdigest()
ALL: dict[str, Any] = {"ROBOTS_AUDIT_LOG_ALLOWED": True, "ROBOTS_FETCH_RETRIES": 0}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def of_type(kind: type[Entry], log: Path) -> list[Any]:
    return [entry for entry in entries_in(log) if isinstance(entry, kind)]


def verdicts(log: Path) -> dict[str, VerdictEntry]:
    found = of_type(VerdictEntry, log)
    by_url = {entry.url: entry for entry in found}
    assert len(by_url) == len(found)
    return by_url


class LinkSpider(ProbeSpider):
    """Follows a link without an errback, which is denied before it enters the queue."""

    def parse(self, response: scrapy.http.Response) -> Any:
        if response.url.endswith("/a"):
            yield scrapy.Request(response.urljoin("/closed/2"))


@names_rules
@pytest_twisted.ensureDeferred
async def test_each_denial_is_a_line_that_names_rule_and_file(sites: Sites, log: Path) -> None:
    host = sites.host(RULES)
    urls = [host.url("/a"), host.url("/closed/1")]
    crawler = await crawl(*urls, spider=LinkSpider, ROBOTS_AUDIT_LOG=str(log))
    assert damages_in(log) == []
    begin, file, one, two, end = entries_in(log)
    assert isinstance(begin, CrawlEntry)
    assert (begin.spider, begin.obey, begin.bodies) == ("probe", True, "audit.bodies")
    assert begin.agent == "Foobot/1.0 (+https://foobot.example/)"
    assert begin.dialect["name"] == "RFC9309"
    assert begin.status_policy["404"[:1] + "xx"] == "unavailable"
    assert isinstance(file, FileEntry)
    assert (file.origin, file.robots_url) == (host.origin, host.url("/robots.txt"))
    assert (file.source, file.status, file.failure) == ("network", "200", None)
    assert (file.access, file.sha256) == ("rules", DIGEST)
    assert not file.changed
    for verdict, path in ((one, "/closed/1"), (two, "/closed/2")):
        assert isinstance(verdict, VerdictEntry)
        assert verdict.url == host.url(path)
        assert verdict.origin == host.origin
        assert not verdict.allowed
        assert (verdict.reason, verdict.rule, verdict.line) == ("rule", "Disallow: /closed", 2)
        assert verdict.group == ("*",)
        assert verdict.agent == "Foobot/1.0 (+https://foobot.example/)"
        assert verdict.sha256 == DIGEST
        assert verdict.fetched_at == file.fetched_at
        assert 0 <= (verdict.age or 0.0) < 60
        assert (verdict.status, verdict.access) == ("200", "rules")
        assert verdict.robots_url == host.url("/robots.txt")
        assert verdict.sent is None
        assert verdict.crawl == begin.crawl == file.crawl
    assert isinstance(end, EndEntry)
    assert (end.reason, end.allowed, end.denied, end.lost) == ("finished", 1, 2, 0)
    assert stat(crawler, "robotstxt/audit/lines") == 5
    assert Bodies(log.with_suffix(".bodies")).get(DIGEST) == RULES.encode()


@names_rules
@pytest_twisted.ensureDeferred
async def test_a_long_group_and_a_long_rule_make_no_long_lines(sites: Sites, log: Path) -> None:
    names = "".join(f"User-agent: {'b' * 200}{number}\n" for number in range(1_000))
    host = sites.host(f"User-agent: *\n{names}Disallow: /a{'*' * 9_000}b\n")
    await crawl(host.url("/ab"), ROBOTS_AUDIT_LOG=str(log))
    assert max(map(len, log.read_bytes().splitlines())) < 6_000
    (verdict,) = of_type(VerdictEntry, log)
    assert (verdict.line, verdict.group[:1], len(verdict.group)) == (1_002, ("*",), 32)
    assert verdict.rule.startswith("Disallow: /a***")
    assert Robots(log.parent)("replay", log).lines == ["1 verdict, 0 differ"]


@names_rules
@pytest_twisted.ensureDeferred
async def test_allowed_requests_are_logged_when_they_are_handed_to_the_handler(
    sites: Sites, log: Path
) -> None:
    host = sites.host("User-agent: *\nCrawl-delay: 0.3\n")
    urls = [host.url(f"/{number}") for number in range(4)]
    crawler = await crawl(*urls, spider=TimedSpider, ROBOTS_AUDIT_LOG=log, **ALL)
    found = of_type(VerdictEntry, log)
    assert [entry.url for entry in found] == [url for _, url in crawler.spider.sent[1:]]
    sent = [entry.sent for entry in found]
    noted = gaps(crawler.spider.sent, host)
    for (one, other), gap in zip(itertools.pairwise(sent), noted, strict=True):
        assert other - one == pytest.approx(gap, abs=0.05)
        assert other - one >= 0.29
    assert {entry.delay for entry in found} == {0.3}
    assert all(entry.allowed and entry.reason == "no_rule" for entry in found)


@names_rules
@pytest_twisted.ensureDeferred
async def test_every_kind_of_verdict_has_its_line(sites: Sites, log: Path) -> None:
    ruled = sites.host(RULES)
    missing = sites.host()
    failing = sites.host(answer("", 503))
    slow = sites.host("User-agent: *\nCrawl-delay: 100\n")
    away = sites.closed_host()
    urls = [
        ruled.url("/closed"),
        ruled.url("/open"),
        ruled.url("/robots.txt"),
        ruled.url("/a/../closed"),
        missing.url("/a"),
        failing.url("/a"),
        slow.url("/a"),
        f"{away}/a",
    ]
    long_: dict[str, Any] = {"ROBOTS_CRAWL_DELAY_MAX": 10, "ROBOTS_CRAWL_DELAY_TOO_LONG": "skip"}
    await crawl(*urls, ROBOTS_AUDIT_LOG=log, **ALL, **long_)
    found = verdicts(log)
    says = {url: (each.allowed, each.reason, each.access) for url, each in found.items()}
    assert says == {
        ruled.url("/closed"): (False, "rule", "rules"),
        ruled.url("/open"): (True, "rule", "rules"),
        ruled.url("/robots.txt"): (True, "robots_txt", "rules"),
        ruled.url("/a/../closed"): (False, "rule", "rules"),
        missing.url("/a"): (True, "unavailable", "unavailable"),
        failing.url("/a"): (False, "unreachable", "unreachable"),
        slow.url("/a"): (False, "crawl_delay", "rules"),
        f"{away}/a": (False, "unreachable", "unreachable"),
    }
    assert found[ruled.url("/a/../closed")].form == "/closed"
    assert found[slow.url("/a")].delay == 100
    assert (found[missing.url("/a")].status, found[missing.url("/a")].sha256) == ("404", None)
    assert (found[failing.url("/a")].status, found[failing.url("/a")].failure) == ("503", "503")
    assert found[f"{away}/a"].failure == "connection"
    files = {entry.origin: entry for entry in of_type(FileEntry, log)}
    assert files[slow.origin].delay_asked == 100
    assert files[away].detail
    assert damages_in(log) == []


@pytest_twisted.ensureDeferred
async def test_a_file_that_changes_is_logged_with_the_one_before(sites: Sites, log: Path) -> None:
    class Steady(StepSpider):
        pause = 0.1

        def enough(self) -> bool:
            return bool(stat(self.crawler, "robotstxt/changed"))

    other = "User-agent: *\nDisallow: /other\n"
    short: dict[str, Any] = {"cache_control": "max-age=1"}
    host = sites.host(in_turn(answer(RULES, **short), answer(other)))
    urls = [host.url(f"/{number}") for number in range(250)]
    await crawl(*urls, spider=Steady, ROBOTS_AUDIT_LOG=log, ROBOTS_TTL=(1, 86_400))
    files = of_type(FileEntry, log)
    changes = [(file.changed, file.previous) for file in files if file.changed]
    assert changes == [(True, DIGEST)]
    bodies = Bodies(log.with_suffix(".bodies"))
    assert bodies.get(DIGEST) == RULES.encode()
    assert bodies.get(files[-1].sha256) == other.encode()


@pytest_twisted.ensureDeferred
async def test_a_text_that_was_moved_away_is_not_replaced_by_an_empty_one(
    sites: Sites, log: Path
) -> None:
    bodies = log.with_suffix(".bodies")

    class Steady(StepSpider):
        pause = 0.1

        def enough(self) -> bool:
            if stat(self.crawler, "robotstxt/response_status_count/503"):
                return True
            shutil.rmtree(bodies, ignore_errors=True)
            return False

    fails = in_turn(answer(RULES, cache_control="max-age=1"), answer("", 503))
    host, other = sites.host(fails), sites.host(RULES)
    urls = [host.url("/a"), other.url("/a"), *(host.url(f"/{number}") for number in range(250))]
    # The store does not hold both, and policies do without the text.
    only_one: dict[str, Any] = {"ROBOTS_STORE_MAX": 1, "ROBOTS_TTL": (1, 86_400)}
    await crawl(*urls, spider=Steady, ROBOTS_AUDIT_LOG=log, ROBOTS_FETCH_RETRIES=0, **only_one)
    assert {file.sha256 for file in of_type(FileEntry, log)} == {DIGEST}
    with pytest.raises(BodyError, match="is missing"):
        Bodies(bodies).get(DIGEST)


@pytest_twisted.ensureDeferred
async def test_a_file_from_the_store_is_logged_with_its_body(sites: Sites, log: Path) -> None:
    host = sites.host(RULES)
    store = f"sqlite:{log.with_name('robots.db')}"
    await crawl(host.url("/a"), ROBOTS_STORE=store)
    await crawl(host.url("/closed"), ROBOTS_STORE=store, ROBOTS_AUDIT_LOG=log)
    (file,) = of_type(FileEntry, log)
    assert (file.source, file.sha256) == ("store", DIGEST)
    assert Bodies(log.with_suffix(".bodies")).get(DIGEST) == RULES.encode()


@pytest_twisted.ensureDeferred
async def test_a_request_that_is_not_sent_after_all_has_no_line(sites: Sites, log: Path) -> None:
    class Answers:
        def process_request(self, request: scrapy.Request) -> scrapy.http.Response | None:
            return scrapy.http.Response(request.url) if "mine" in request.url else None

    host = sites.host(RULES)
    middlewares: dict[str, Any] = {"DOWNLOADER_MIDDLEWARES": {Answers: 500}}
    await crawl(host.url("/mine"), host.url("/b"), ROBOTS_AUDIT_LOG=log, **ALL, **middlewares)
    assert list(verdicts(log)) == [host.url("/b")]


@pytest_twisted.ensureDeferred
async def test_a_request_sent_as_another_agent_has_the_line_of_the_last_verdict(
    sites: Sites, log: Path
) -> None:
    host = sites.host("User-agent: barbot\nDisallow: /renamed/1\n")
    middlewares: dict[str, Any] = {"DOWNLOADER_MIDDLEWARES": {SendsAsBarbot: 900}}
    urls = [host.url("/renamed/1"), host.url("/renamed/2")]
    await crawl(*urls, ROBOTS_AUDIT_LOG=log, **ALL, **middlewares)
    found = verdicts(log)
    assert {url: each.allowed for url, each in found.items()} == {urls[0]: False, urls[1]: True}
    assert {each.agent for each in found.values()} == {"Barbot"}


@pytest_twisted.ensureDeferred
async def test_in_observe_mode_a_request_sent_as_another_agent_has_one_line(
    sites: Sites, log: Path
) -> None:
    robots = "User-agent: Barbot\nDisallow: /b\n\nUser-agent: *\nDisallow: /a\n"
    host = sites.host(robots)
    await crawl(
        *(host.url(path) for path in ("/a", "/b", "/c")),
        spider=TimedSpider,
        DOWNLOADER_MIDDLEWARES={SendsAsBarbot: 999},
        ROBOTS_MODE="observe",
        ROBOTS_AUDIT_LOG=log,
        **ALL,
    )
    lines = verdicts(log)
    assert [lines[host.url(path)].allowed for path in ("/a", "/b", "/c")] == [False, False, True]
    assert [lines[host.url(path)].agent for path in ("/b", "/c")] == ["Barbot", "Barbot"]


@pytest_twisted.ensureDeferred
async def test_a_share_of_the_allowed_is_the_same_each_time(sites: Sites, log: Path) -> None:
    host = sites.host(RULES)
    urls = [host.url(f"/{number}") for number in range(40)]
    await crawl(*urls, host.url("/closed"), ROBOTS_AUDIT_LOG=log, ROBOTS_AUDIT_LOG_ALLOWED=0.3)
    logged = set(verdicts(log))
    assert logged == {url for url in urls if is_in_share(url, 0.3)} | {host.url("/closed")}


def test_a_share_is_about_that_share() -> None:
    urls = [f"https://site.example/{number}" for number in range(10_000)]
    for share in (0.0, 0.01, 0.5, 1.0):
        found = sum(is_in_share(url, share) for url in urls)
        assert abs(found - share * 10_000) < 200
        assert share not in (0.0, 1.0) or found == share * 10_000


@pytest_twisted.ensureDeferred
async def test_without_the_setting_nothing_is_written(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    host = sites.host(RULES)
    crawler = await crawl(host.url("/closed"), ROBOTS_AUDIT_LOG_ALLOWED=True)
    assert list(tmp_path.iterdir()) == []
    assert stat(crawler, "robotstxt/audit/lines") == 0


@pytest_twisted.ensureDeferred
async def test_the_path_has_the_name_of_the_spider_and_the_time(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    host = sites.host(RULES)
    await crawl(host.url("/closed"), ROBOTS_AUDIT_LOG="logs/%(name)s-%(time)s.jsonl")
    (path,) = tmp_path.joinpath("logs").glob("*.jsonl")
    assert path.name.startswith("probe-20")
    assert path.name.endswith("+00-00.jsonl")
    assert damages_in(path) == []


@pytest.mark.parametrize("where", [False, "elsewhere", True])
@pytest_twisted.ensureDeferred
async def test_bodies_are_where_the_setting_says(
    sites: Sites, log: Path, where: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(log.parent)
    await crawl(sites.host(RULES).url("/closed"), ROBOTS_AUDIT_LOG=log, ROBOTS_AUDIT_BODIES=where)
    (begin,) = of_type(CrawlEntry, log)
    folders = [path.name for path in log.parent.iterdir() if path.is_dir()]
    assert folders == {True: ["audit.bodies"], False: [], "elsewhere": ["elsewhere"]}[where]
    assert begin.bodies == (folders[0] if folders else None)


@pytest_twisted.ensureDeferred
async def test_two_crawls_of_one_process_write_to_one_file(sites: Sites, log: Path) -> None:
    host = sites.host(RULES)
    urls = [host.url(f"/closed/{number}") for number in range(50)]
    crawlers = [make_crawler(ROBOTS_AUDIT_LOG=log) for _ in range(2)]
    await gatherResults([crawler.crawl(urls=urls) for crawler in crawlers])
    assert damages_in(log) == []
    assert len(of_type(CrawlEntry, log)) == len(of_type(EndEntry, log)) == 2
    assert len(of_type(VerdictEntry, log)) == 100


@pytest.mark.parametrize("kind", ["folder", "device", "another file", "no place for bodies"])
@pytest_twisted.ensureDeferred
async def test_a_log_that_cannot_be_written_is_warned_of_once_and_never_fatal(
    sites: Sites, log: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    path: Any = log
    match kind:
        case "folder":
            log.mkdir()
        case "device":
            path = "/dev/full"
        case "another file":
            log.write_text("a,b\n")
        case "no place for bodies":
            log.with_suffix(".bodies").touch()
    host, other = sites.host(RULES), sites.host(RULES + "#\n")
    urls = [host.url("/a"), host.url("/closed"), other.url("/b")]
    crawler = await crawl(*urls, ROBOTS_AUDIT_LOG=path)
    assert crawler.stats.get_value("finish_reason") == "finished"
    assert sorted(host.fetched + other.fetched) == ["/a", "/b"]
    assert stat(crawler, "robotstxt/audit/errors") >= 1
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    (warning,) = (text for text in warned if "annot be" in text)
    assert any("lost, as it could not" in text for text in warned) is (
        kind != "no place for bodies"
    )
    assert str(path) in warning or str(log.with_suffix(".bodies")) in warning
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    if kind != "no place for bodies":
        assert stat(crawler, "robotstxt/audit/lost") == 5
        assert stat(crawler, "robotstxt/audit/lines") == 0
    else:
        assert damages_in(log) == []


def _copied_and_emptied(log: Path) -> None:
    """logrotate's `copytruncate`."""
    shutil.copy(log, log.with_name("audit.jsonl.1"))
    os.truncate(log, 0)


def _moved(log: Path) -> None:
    log.rename(log.with_name("audit.jsonl.1"))


def _cut_to_ten_lines(log: Path) -> None:
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:10]))


@pytest.mark.parametrize(
    ("change", "alone", "together"),
    [
        (_copied_and_emptied, LogState.CUT, LogState.WHOLE),
        (_moved, LogState.CUT, LogState.WHOLE),
        (_cut_to_ten_lines, LogState.CUT, LogState.CUT),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_log_that_is_changed_in_mid_crawl_is_told_apart_from_a_whole_one(
    sites: Sites,
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
    alone: LogState,
    together: LogState,
) -> None:
    batch = 32
    monkeypatch.setattr(recorder, "BATCH", batch)

    class Changer(ProbeSpider):
        def parse(self, response: scrapy.http.Response) -> Any:
            if response.url == host.url("/a"):
                change(log)
                return
            for number in range(denials):
                yield scrapy.Request(host.url(f"/closed/{number}"))
            yield scrapy.Request(host.url("/a"), priority=-1)

    host, denials = sites.host(RULES), 2 * batch
    await crawl(host.url("/"), spider=Changer, ROBOTS_AUDIT_LOG=log, CONCURRENT_REQUESTS=1)
    assert host.fetched == ["/", "/a"]
    parts = sorted(log.parent.glob("audit.jsonl*"))
    assert state_of(log) is alone
    assert state_of(*parts) is together
    (end,) = of_type(EndEntry, log)
    assert (end.denied, end.lost) == (denials, 0)


@pytest_twisted.ensureDeferred
async def test_a_log_that_is_removed_goes_on(
    sites: Sites, log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Remover(ProbeSpider):
        def parse(self, response: scrapy.http.Response) -> None:
            log.unlink()

    host = sites.host(RULES)
    crawler = await crawl(host.url("/a"), spider=Remover, ROBOTS_AUDIT_LOG=log)
    assert [type(entry) for entry in entries_in(log)][:1] == [CrawlEntry]
    assert state_of(log) is LogState.CUT
    assert stat(crawler, "robotstxt/audit/errors") == 1
    assert caplog.text.count("it was removed, replaced or cut") == 1


class ReadsTheLog:
    """An extension of the project, which does something with the log as the spider closes."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        crawler.signals.connect(self.spider_closed, scrapy.signals.spider_closed)

    from_crawler = classmethod(lambda cls, crawler: cls(crawler))

    def spider_closed(self) -> None:
        log = self.crawler.settings["ROBOTS_AUDIT_LOG"]
        self.crawler.spider.found = [entry.type for entry in entries_in(log)]


@pytest_twisted.ensureDeferred
async def test_extensions_find_the_log_with_its_end_when_the_spider_closes(
    sites: Sites, log: Path
) -> None:
    host = sites.host(RULES)
    extensions = {ReadsTheLog: 500}
    crawler = await crawl(host.url("/closed"), ROBOTS_AUDIT_LOG=log, EXTENSIONS=extensions)
    assert crawler.spider.found[-1] == EndEntry.type


@pytest_twisted.ensureDeferred
async def test_the_log_of_scrapy_names_the_last_hash(
    sites: Sites, log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        await crawl(sites.host(RULES).url("/closed"), ROBOTS_AUDIT_LOG=log)
    last = log.read_text().splitlines()[-1]
    assert f"4 lines written; the last is number 3, its hash is {last[-66:-2]}" in caplog.text


@pytest_twisted.ensureDeferred
async def test_why_a_robots_txt_cannot_be_stored_is_told_without_an_error_number(
    sites: Sites, log: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*arguments: Any) -> None:
        raise OSError("the share is away")

    monkeypatch.setattr(Bodies, "put", away)
    await crawl(sites.host(RULES).url("/a"), ROBOTS_AUDIT_LOG=log)
    assert f"cannot be stored in {log.parent}" in caplog.text
    assert "(the share is away)" in caplog.text


@pytest.mark.parametrize("fails", [1, 2, 3])
@pytest_twisted.ensureDeferred
async def test_a_text_that_could_not_be_stored_is_stored_later(
    sites: Sites, log: Path, monkeypatch: pytest.MonkeyPatch, fails: int
) -> None:
    put, calls = Bodies.put, itertools.count()

    def full_at_first(bodies: Bodies, digest: str, body: bytes) -> None:
        if next(calls) < fails:
            raise OSError(ENOSPC, "No space left on device")
        put(bodies, digest, body)

    monkeypatch.setattr(Bodies, "put", full_at_first)
    hosts = [sites.host(f"{RULES}# {number}") for number in range(3)]
    await crawl(*(host.url("/a") for host in hosts), ROBOTS_AUDIT_LOG=log)
    assert len(list(log.parent.rglob("*.txt.gz"))) == len(hosts)


@pytest_twisted.ensureDeferred
async def test_a_mistake_in_the_log_is_no_mistake_in_the_crawl(
    sites: Sites, log: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any) -> None:
        raise RuntimeError("a bug")

    name = "scrapy_robots_plus.audit.recorder.Recorder._add_verdict"
    monkeypatch.setattr(name, broken)
    host = sites.host(RULES)
    urls = [host.url("/a"), host.url("/closed"), host.url("/closed/2")]
    crawler = await crawl(*urls, ROBOTS_AUDIT_LOG=log, **ALL)
    assert host.fetched == ["/a"]
    assert stat(crawler, "robotstxt/forbidden") == 2
    assert stat(crawler, "robotstxt/audit/errors") == 3
    errors = [record for record in caplog.records if record.levelname == "ERROR"]
    assert [record.getMessage() for record in errors] == ["An entry is missing from the audit log"]


@pytest_twisted.ensureDeferred
async def test_only_delays_are_kept_and_the_log_says_so(sites: Sites, log: Path) -> None:
    host = sites.host("User-agent: *\nCrawl-delay: 0.1\nDisallow: /\n")
    failing = sites.host(hang_up)
    delays: dict[str, Any] = {"ROBOTSTXT_OBEY": False, "ROBOTS_CRAWL_DELAY_OBEY": True}
    await crawl(host.url("/a"), failing.url("/b"), ROBOTS_AUDIT_LOG=log, **ALL, **delays)
    (begin,) = of_type(CrawlEntry, log)
    assert (begin.obey, begin.crawl_delay_obey) == (False, True)
    assert len(verdicts(log)) == 2


@pytest_twisted.ensureDeferred
async def test_a_path_that_is_relative_stays_where_it_was(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Walker(ProbeSpider):
        def parse(self, response: scrapy.http.Response) -> None:
            os.chdir("/")

    monkeypatch.chdir(tmp_path)
    crawler = make_crawler(Walker, ROBOTS_AUDIT_LOG="audit.jsonl")
    await run(crawler, urls=[sites.host(RULES).url("/a")])
    assert damages_in(tmp_path / "audit.jsonl") == []
