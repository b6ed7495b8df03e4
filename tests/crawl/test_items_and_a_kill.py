"""What becomes of items when the process of a job is killed, as docs/jobs.md says."""

from __future__ import annotations

import json
import linecache
import signal
from typing import TYPE_CHECKING

from tests.programs import scrapy_in
from tests.samples import block_with

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sites import Sites

PAGES = 12
SPIDER = """
import asyncio
import os
import signal

import scrapy


class KilledSpider(scrapy.Spider):
    name = "killed"
    custom_settings = {
        "ADDONS": {"scrapy_robots_plus.Addon": 300},
        "CONCURRENT_REQUESTS": 1,
        "FEEDS": {"feed.jsonl": {"format": "jsonlines"}},
        "ITEM_PIPELINES": {SavedItems: 300},
        "JOBDIR": "job",
        "TELNETCONSOLE_ENABLED": False,
    }

    async def start(self):
        for number in range(int(self.pages)):
            yield scrapy.Request(f"{self.site}/{number}")

    async def parse(self, response):
        yield {"url": response.url}
        if response.url.endswith("/6") and not os.path.exists("killed"):
            await asyncio.sleep(1)  # so that the job's file knows what was dealt with
            open("killed", "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
"""


def urls_in(file: Path) -> set[str]:
    return {json.loads(line)["url"] for line in file.read_text().splitlines()}


def test_a_pipeline_that_saves_each_item_keeps_what_a_feed_loses(
    sites: Sites, tmp_path: Path
) -> None:
    host = sites.host("User-agent: *\nDisallow: /never\n")
    pipeline = block_with("SavedItems", "docs/jobs.md")["SavedItems"]
    sample = "".join(linecache.getlines(pipeline.process_item.__code__.co_filename))
    (tmp_path / "spider.py").write_text(sample + SPIDER)
    arguments = ["-L", "ERROR", "-a", f"site={host.origin}", "-a", f"pages={PAGES}"]

    def run() -> int:
        return scrapy_in(tmp_path, "runspider", "spider.py", *arguments)[0]

    assert run() == -signal.SIGKILL
    assert run() == 0
    pages = {host.url(f"/{number}") for number in range(PAGES)}
    assert urls_in(tmp_path / "items.jsonl") == pages
    assert urls_in(tmp_path / "feed.jsonl") < pages
