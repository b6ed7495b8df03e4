"""``scrapy robots explain`` and the audit log of a crawl give the same reasons."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from scrapy_robots_plus.audit.entries import VerdictEntry
from tests.audit.logs import entries_in
from tests.commands.running import Robots
from tests.forks import SCRAPY
from tests.programs import Program

PROJECT = Path(__file__).parent.parent.parent / "sample_project"
WHOLE_SITE = """\
import scrapy

from robots_sample import site


class WholeSiteSpider(scrapy.Spider):
    name = "whole_site"

    async def start(self):
        for host, answers in site.HOSTS.items():
            for path in answers:
                yield scrapy.Request(site.url(self, host, path), callback=self.parse)

    def parse(self, response):
        pass
"""


def test_explain_names_what_the_log_names_for_every_denial_of_the_sample_site(
    tmp_path: Path,
) -> None:
    log, store = tmp_path / "audit.jsonl", f"ROBOTS_STORE=sqlite:{tmp_path / 'robots.db'}"
    (tmp_path / "whole_site.py").write_text(WHOLE_SITE)
    command = ["runspider", str(tmp_path / "whole_site.py"), "-s", f"ROBOTS_AUDIT_LOG={log}"]
    Program(SCRAPY, *command, "-s", store, folder=PROJECT).succeed()
    denials = [entry for entry in entries_in(log) if isinstance(entry, VerdictEntry)]
    assert {entry.reason for entry in denials} == {"rule", "unreachable"}
    assert len(denials) == 8

    def explained(entry: VerdictEntry) -> dict[str, Any]:
        # The site is gone; the store has its files as the crawl has read them.
        (found,) = Robots(PROJECT)("explain", entry.url, "--json", "-s", store).json
        return found

    with ThreadPoolExecutor(2) as pool:
        for entry, found in zip(denials, pool.map(explained, denials), strict=True):
            assert found["url"] == entry.url
            assert found["allowed"] is False
            why = (found["reason"], found["rule"], found["line"], found["form"])
            assert why == (entry.reason, entry.rule, entry.line, entry.form)
            assert tuple(found["group"] or ()) == (entry.group or ())
            assert found["robots_url"] == entry.robots_url
            assert found["sha256"] == entry.sha256
