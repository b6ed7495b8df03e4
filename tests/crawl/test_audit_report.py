"""The report of a real crawl shows what the sites saw of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest_twisted

from scrapy_robots_plus.audit.chain import LogReader
from scrapy_robots_plus.audit.report import page
from scrapy_robots_plus.audit.summary import Summary
from tests.audit.pages import Page
from tests.crawling import ProbeSpider, StepSpider, crawl, names_rules, stat
from tests.sites import Sites, answer, in_turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import scrapy

RULES = "User-agent: *\nDisallow: /closed\n"
OTHER = "User-agent: *\nDisallow: /other\n"
DELAY = 0.2


class Spider(StepSpider):
    """Asks for all of *beside* at once, and for its URLs until a robots.txt has changed."""

    name = "reported"
    pause = 0.1
    beside: tuple[str, ...] = ()

    def enough(self) -> bool:
        return bool(stat(self.crawler, "robotstxt/changed"))

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.beside:
            yield ProbeSpider.request(self, url)
        async for request in super().start():
            yield request


def report_of(log: Path) -> tuple[Summary, str]:
    summary = Summary()
    reader = LogReader([log])
    for entry in reader:
        summary.add(entry)
    assert reader.damages == []
    return summary, page(summary, reader)


@names_rules
@pytest_twisted.ensureDeferred
async def test_its_figures_are_those_of_the_sites(sites: Sites, tmp_path: Path) -> None:
    changing = sites.host(in_turn(answer(RULES, cache_control="max-age=1"), answer(OTHER)))
    slow = sites.host(f"{RULES}Crawl-delay: {DELAY}\n")
    broken, missing = sites.host(answer(status=503)), sites.host(answer(status=404))
    own = sites.host(RULES)
    asked = [
        *(slow.url(f"/{number}") for number in range(12)),
        *(slow.url(f"/closed/{number}") for number in range(7)),
        *(broken.url(f"/{number}") for number in range(5)),
        *(missing.url(f"/{number}") for number in range(3)),
        *(own.url(f"/closed/{number}") for number in range(4)),
    ]

    class Asking(Spider):
        beside = tuple(asked)

    log = tmp_path / "audit.jsonl"
    settings: dict[str, Any] = {
        "ROBOTS_AUDIT_LOG": log,
        "ROBOTS_AUDIT_LOG_ALLOWED": True,
        "ROBOTS_FETCH_RETRIES": 0,
        "ROBOTS_OVERRIDES": {own.origin: {"obey": False, "reason": "Our own site"}},
        "ROBOTS_TTL": (1, 86_400),
    }
    await crawl(*(changing.url(f"/{n}") for n in range(250)), spider=Asking, **settings)
    summary, text = report_of(log)
    if folder := os.environ.get("KEEP_REPORT"):
        Path(folder, "crawl.html").write_text(text)
    found = Page(text)
    fetched = sum(len(host.fetched) for host in (changing, slow, broken, missing, own))
    assert found.sentence == (
        f"12 of {12 + fetched:,} requests denied, on 2 sites; the robots.txt of 1 site could "
        "not be read; every delay was kept."
    )
    denied_by = {row[0]: row[1:] for row in found.tables["hosts"][1:]}
    ((_, counts),) = (item for item in denied_by.items() if item[0].startswith(slow.origin))
    assert counts[:5] == ["200", "7", "12", f"{DELAY:g} s", f"{DELAY:g} s"]
    (site,) = (each for each in summary.rows("sites") if each.origin == str(slow.origin))
    assert (site.gaps, site.gaps_too_short) == (11, 0)
    ((override, *counts),) = found.tables["overrides"][1:]
    assert override.startswith("Our own site obey: False")
    assert counts == ["0", "4"]
    assert "reported" in found.tables["crawls"][1][0]
    assert "ended: finished" in found.tables["crawls"][1][0]
