"""The audit log of requests that were judged under an override, or not judged at all."""

from __future__ import annotations

import json
import re
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from scrapy.exceptions import IgnoreRequest

from scrapy_robots_plus.audit.entries import EndEntry, FileEntry, VerdictEntry
from tests.audit.logs import damages_in, entries_in
from tests.commands.running import Robots
from tests.crawling import SendsAsBarbot, StepSpider, crawl, names_rules

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sites import Sites

RULES = "User-agent: *\nDisallow: /closed\n"
OWN = "User-agent: *\nDisallow: /mine\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def of_type(kind: type, log: Path) -> list[Any]:
    assert damages_in(log) == []
    return [entry for entry in entries_in(log) if isinstance(entry, kind)]


@names_rules
@pytest_twisted.ensureDeferred
async def test_of_a_host_that_was_not_asked_nothing_is_claimed(
    sites: Sites, log: Path, tmp_path: Path
) -> None:
    host, summary = sites.host(RULES), tmp_path / "robots.json"
    overrides = {host.origin: {"obey": False, "reason": "our own site"}}
    files: dict[str, Any] = {"ROBOTS_AUDIT_LOG": log, "ROBOTS_SUMMARY_FILE": str(summary)}
    await crawl(
        host.url("/closed"), ROBOTS_OVERRIDES=overrides, ROBOTS_AUDIT_LOG_ALLOWED=True, **files
    )
    assert host.fetched == ["/closed"]
    assert len(host.hits) == 1
    (verdict,) = of_type(VerdictEntry, log)
    assert (verdict.allowed, verdict.reason) == (True, "not_obeyed")
    assert verdict.override == overrides[host.origin]
    robots_txt = (verdict.robots_url, verdict.status, verdict.failure, verdict.access)
    assert robots_txt == (None, None, None, None)
    assert (verdict.sha256, verdict.fetched_at, verdict.age) == (None, None, None)
    (site,) = json.loads(summary.read_text())["sites"]
    assert (site["status"], site["access"], site["fetched_at"]) == ("not asked", None, None)
    robots = Robots(tmp_path)
    assert robots("replay", log).lines == ["1 verdict, 0 differ"]
    assert robots("report", log, "-o", "report.html").status == 0
    page = (tmp_path / "report.html").read_text().partition("<main>")[2]
    assert not re.search(r"\b404\b", page)  # as a part of a hash it says nothing


class TakesBodiesAway(StepSpider):
    """Before the last of its URLs."""

    bodies: Path

    def request(self, url: str, **named: Any) -> scrapy.Request:
        if url == self.urls[-1]:
            rmtree(self.bodies)
        return super().request(url, **named)


@names_rules
@pytest_twisted.ensureDeferred
async def test_a_text_of_ones_own_is_stored_again_if_it_is_gone(
    sites: Sites, log: Path, tmp_path: Path
) -> None:
    """No site is asked for it again, and the log could not be replayed."""
    host, bodies = sites.host(RULES), tmp_path / "bodies"
    await crawl(
        *map(host.url, ("/1", "/mine", "/2")),
        spider=TakesBodiesAway,
        spider_attributes={"bodies": bodies},
        ROBOTS_OVERRIDES={host.origin: {"robots_txt": OWN}},
        ROBOTS_AUDIT_LOG=log,
        ROBOTS_AUDIT_LOG_ALLOWED=True,
        ROBOTS_AUDIT_BODIES=str(bodies),
    )
    assert Robots(tmp_path)("replay", log).lines == ["3 verdicts, 0 differ"]


@names_rules
@pytest_twisted.ensureDeferred
async def test_a_text_of_ones_own_is_a_file_that_nobody_sent(
    sites: Sites, log: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(RULES)
    overrides = {host.origin: {"robots_txt": OWN}}
    urls = [host.url("/closed"), host.url("/mine")]
    await crawl(
        *urls, ROBOTS_OVERRIDES=overrides, ROBOTS_AUDIT_LOG=log, ROBOTS_AUDIT_LOG_ALLOWED=True
    )
    assert "left out" not in caplog.text
    (file,) = of_type(FileEntry, log)
    assert (file.source, file.status, file.access) == ("override", None, "rules")
    denied, allowed = sorted(of_type(VerdictEntry, log), key=lambda verdict: verdict.allowed)
    assert (denied.url, denied.rule, denied.line) == (urls[1], "Disallow: /mine", 2)
    assert allowed.url == urls[0]
    for verdict in (denied, allowed):
        assert (verdict.status, verdict.fetched_at, verdict.age) == (None, None, None)
        assert (verdict.access, verdict.sha256) == ("rules", file.sha256)
    (end,) = of_type(EndEntry, log)
    assert end.lost == 0
    robots = Robots(tmp_path)
    assert robots("replay", log).lines == ["2 verdicts, 0 differ"]
    assert robots("report", log, "-o", "report.html").status == 0
    page = (tmp_path / "report.html").read_text()
    assert ">own text<" in page  # in the column of robots.txt


class Answers:
    """A middleware that answers some requests itself, and drops others, as a cache or filter."""

    def process_request(self, request: scrapy.Request) -> scrapy.http.Response | None:
        if "drop" in request.url:
            raise IgnoreRequest
        return scrapy.http.Response(request.url) if "mine" in request.url else None


@pytest_twisted.ensureDeferred
async def test_in_audit_mode_each_denial_has_its_line_sent_or_not(sites: Sites, log: Path) -> None:
    host = sites.host("User-agent: *\nDisallow: /closed\n")
    paths = ("/closed/mine/1", "/closed/drop/1", "/closed/sent/1", "/open/mine/1", "/open/drop/1")
    urls = [host.url(path) for path in (*paths, *(path.replace("1", "2") for path in paths))]
    await crawl(
        *urls,
        spider=StepSpider,
        ROBOTS_MODE="observe",
        ROBOTS_AUDIT_LOG=log,
        DOWNLOADER_MIDDLEWARES={Answers: 500},
    )
    found = of_type(VerdictEntry, log)
    denied = {url for url in urls if "closed" in url}
    assert sorted(entry.url for entry in found) == sorted(denied)
    assert all(entry.sent is None and entry.mode == "observe" for entry in found)
    (end,) = of_type(EndEntry, log)
    assert end.denied == len(denied)


@names_rules
@pytest_twisted.ensureDeferred
async def test_requests_that_are_not_to_be_judged_have_lines_that_say_so(
    sites: Sites, log: Path, tmp_path: Path
) -> None:
    host = sites.host(RULES)
    meta = {"dont_obey_robotstxt": True}
    marked = scrapy.Request(host.url("/closed"), meta=meta)
    for share in (True, False):
        await crawl(marked, host.url("/open"), ROBOTS_AUDIT_LOG=log, ROBOTS_AUDIT_LOG_ALLOWED=share)
    found = {entry.url: entry for entry in of_type(VerdictEntry, log)}
    assert len(found) == 2
    verdict = found[host.url("/closed")]
    assert (verdict.allowed, verdict.reason) == (True, "not_obeyed")
    assert verdict.override == {"dont_obey_robotstxt": True}
    assert (verdict.origin, verdict.agent) == (host.origin, "Foobot/1.0 (+https://foobot.example/)")
    assert verdict.sent is not None
    assert (verdict.robots_url, verdict.status, verdict.access) == (None, None, None)
    assert [end.dont_obey for end in of_type(EndEntry, log)] == [1, 1]
    robots = Robots(tmp_path)
    assert robots("replay", log).lines == ["2 verdicts, 0 differ"]
    assert robots("replay", log, "--agent", "Barbot").lines == ["2 verdicts, 0 would differ"]
    assert robots("report", log, "-o", "report.html").status == 0
    assert "dont_obey_robotstxt: True" in (tmp_path / "report.html").read_text()


@pytest_twisted.ensureDeferred
async def test_in_audit_mode_a_request_sent_as_another_agent_has_one_line(
    sites: Sites, log: Path
) -> None:
    host = sites.host("User-agent: barbot\nDisallow: /1\n")
    urls = [host.url(path) for path in ("/1", "/2")]
    await crawl(
        *urls,
        ROBOTS_MODE="observe",
        ROBOTS_AUDIT_LOG=log,
        ROBOTS_AUDIT_LOG_ALLOWED=True,
        DOWNLOADER_MIDDLEWARES={SendsAsBarbot: 900},
    )
    found = sorted((entry.url, entry.allowed, entry.agent) for entry in of_type(VerdictEntry, log))
    assert found == [(urls[0], False, "Barbot"), (urls[1], True, "Barbot")]
