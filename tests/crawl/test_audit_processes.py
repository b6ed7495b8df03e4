"""The audit log of crawls in processes of their own: in each reactor mode, side by side, killed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_robots_plus.audit.entries import CrawlEntry, EndEntry, VerdictEntry
from tests.audit.logs import damages_in, entries_in, urls_in, write
from tests.crawl_process import MODES, crawl_in_process
from tests.programs import CODE, Program

if TYPE_CHECKING:
    from tests.sites import Sites

ROOT = Path(__file__).parent.parent.parent
RULES = "User-agent: *\nDisallow: /closed\n"


@pytest.mark.parametrize("mode", MODES)
def test_in_each_reactor_mode(sites: Sites, tmp_path: Path, mode: str) -> None:
    host, log, warc = sites.host(RULES), tmp_path / "audit.jsonl", tmp_path / "robots.warc.gz"
    urls = [host.url(path) for path in ("/a", "/closed/1", "/b", "/closed/2")]
    files: dict[str, Any] = {"ROBOTS_AUDIT_LOG": str(log), "ROBOTS_AUDIT_WARC": str(warc)}
    result = crawl_in_process(mode, *urls, ROBOTS_AUDIT_LOG_ALLOWED=True, **files)
    assert damages_in(log) == []
    found = {entry.url: entry for entry in entries_in(log) if isinstance(entry, VerdictEntry)}
    assert {url: entry.allowed for url, entry in found.items()} == {
        url: "closed" not in url for url in urls
    }
    assert all((entry.sent is not None) is entry.allowed for entry in found.values())
    assert result["stats"]["robotstxt/audit/lines"] == len(entries_in(log))
    assert "robotstxt/audit/errors" not in result["stats"]
    assert warc.exists()


def test_four_crawls_write_to_one_file(sites: Sites, tmp_path: Path) -> None:
    host, log = sites.host(RULES), tmp_path / "audit.jsonl"
    urls = [host.url(f"/closed/{number}") for number in range(50)]
    with ThreadPoolExecutor() as pool:
        crawls = [
            pool.submit(crawl_in_process, "asyncio", *urls, ROBOTS_AUDIT_LOG=str(log))
            for _ in range(4)
        ]
        for each in crawls:
            each.result()
    assert damages_in(log) == []
    entries = entries_in(log)
    for kind, count in ((CrawlEntry, 4), (EndEntry, 4), (VerdictEntry, 200)):
        assert sum(isinstance(entry, kind) for entry in entries) == count


ENDLESS = """
import itertools, sys, time
from scrapy.crawler import AsyncCrawlerProcess
from tests.crawling import BASE_SETTINGS, ProbeSpider
from tests.waiting import pause

class Endless(ProbeSpider):
    async def start(self):
        for number in itertools.count():
            yield self.request(f"{self.urls[0]}/closed/{number}")
            await pause(0.005)

    def failed(self, failure):
        print(time.monotonic(), failure.request.url, flush=True)

settings = {**BASE_SETTINGS, "LOG_LEVEL": "ERROR", "ROBOTS_AUDIT_LOG": sys.argv[1]}
process = AsyncCrawlerProcess(settings)
process.crawl(Endless, urls=[sys.argv[2]])
process.start()
"""


def test_a_kill_loses_a_second_at_most_and_the_next_crawl_goes_on(
    sites: Sites, tmp_path: Path
) -> None:
    host, log = sites.host(RULES), tmp_path / "audit.jsonl"
    denied: list[tuple[float, str]] = []
    program = Program(CODE, ENDLESS, str(log), host.origin)
    for line in program.stdout:
        at, url = line.decode().split()
        denied.append((float(at), url))
        if denied[-1][0] > denied[0][0] + 2.5:
            break
    program.kill()
    program.communicate()
    # By the clock of the process itself: it writes what is older than a second.
    sure = [url for at, url in denied if at < denied[-1][0] - 1]
    assert len(sure) > 10
    logged = urls_in(log)
    assert logged[: len(sure)] == sure
    (damage,) = damages_in(log)
    assert "it was killed or still runs" in damage
    with log.open("ab") as file:
        file.write(b'{"v":1,"n":')  # as a kill in the middle of a write leaves it
    write(log, crawl="next")
    torn, _ = damages_in(log)
    assert "has no end: its crawl was killed" in torn
    assert urls_in(log) == logged
