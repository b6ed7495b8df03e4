"""Files and keys that another version has written are read, or refused with a sentence.

Those in ``tests/data/c7e4890`` are of a crawl of http://old.example/ with that commit, which has
got two of its eight pages: its job, its store, its audit log, its shared pace, what ``scrapy robots
cache export`` makes of the store, and the keys of a worker's Redis, each as DUMP gives it.
"""

from __future__ import annotations

import gzip
import json
import shutil
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import redis
from scrapy.http import TextResponse

from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage.opening import open_store
from tests.commands.running import Robots
from tests.crawling import crawl, stat
from tests.redis_server import redis_server, scrapy_redis_may_warn
from tests.workers import SHARED

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

DATA = Path(__file__).parent / "data" / "c7e4890"
ORIGIN = Origin("http", "old.example", 80)
PAGES = {f"http://old.example/{number}" for number in range(8)}
GOT = {"http://old.example/2", "http://old.example/5"}
RULES = b"User-agent: *\nDisallow: /private/\nCrawl-delay: 0.2\n"


class Anything:
    """A download handler that sends nothing, and answers all."""

    lazy = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Anything:
        return cls()

    async def download_request(self, request: Request) -> TextResponse:
        is_robots = request.url.endswith("/robots.txt")
        return TextResponse(request.url, body=RULES if is_robots else b"A page", request=request)

    async def close(self) -> None:
        pass


ALONE: dict[str, Any] = {"DOWNLOAD_HANDLERS": {"http": Anything}}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A folder with the files, unpacked."""
    for path in DATA.glob("*.gz"):
        (tmp_path / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    return tmp_path


@pytest_twisted.ensureDeferred
async def test_a_job_is_resumed(old: Path, caplog: pytest.LogCaptureFixture) -> None:
    (old / "job").mkdir()
    (old / "frontier.sqlite").rename(old / "job" / "frontier.sqlite")
    crawler = await crawl(JOBDIR=str(old / "job"), **ALONE)
    assert set(crawler.spider.got) == PAGES - GOT
    told = [each.getMessage() for each in caplog.records if "frontier.sqlite" in each.getMessage()]
    assert len(told) == 1
    assert "6 requests can be read" in told[0]


def test_a_store_is_read(old: Path) -> None:
    store = open_store(f"sqlite:{old / 'store.db'}", 10)
    record = store.get(ORIGIN)
    store.close()
    assert record is not None
    assert (record.body, record.outcome, record.lifetime) == (RULES, 200, 86_400)


def test_exported_records_of_before_the_first_release_are_refused(tmp_path: Path) -> None:
    """They name their fields otherwise; the store that they are of can be read."""
    robots, store = Robots(tmp_path), f"sqlite:{tmp_path / 'new.db'}"
    done = robots("cache", "import", DATA / "export.jsonl", "--store", store)
    assert done.status == 1
    assert done.errors == "line 1: 'status' is missing\n"
    assert done.lines == ["0 records imported, 0 newer in the store, 1 line left out"]


def test_an_audit_log_is_replayed(tmp_path: Path) -> None:
    shutil.copytree(DATA, tmp_path / "data")
    done = Robots(tmp_path / "data")("replay", "audit.jsonl", "--verify")
    assert done.status == 0, done.errors
    assert done.lines[0] == "whole: 4 lines"
    assert Robots(tmp_path / "data")("replay", "audit.jsonl").lines == ["1 verdict, 0 differ"]


@pytest_twisted.ensureDeferred
async def test_a_shared_pace_begins_anew(old: Path) -> None:
    pages = [f"http://old.example/{number}" for number in (8, 9)]
    crawler = await crawl(*pages, ROBOTS_SHARED_PACE=f"sqlite:{old / 'pace.db'}", **ALONE)
    assert set(crawler.spider.got) == set(pages)
    assert stat(crawler, "log_count/WARNING") == stat(crawler, "log_count/ERROR") == 0


@scrapy_redis_may_warn
@pytest_twisted.ensureDeferred
async def test_the_requests_of_workers_are_read_or_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with redis_server() as server:
        client = redis.Redis.from_url(server["REDIS_URL"])
        for key, _, dump in json.loads((DATA / "keys.json").read_text()):
            client.restore(key, 0, b64decode(dump))
        crawler = await crawl(**{**server, **SHARED, **ALONE, "ROBOTS_WORKER_LIFETIME": 10})
    assert set(crawler.spider.got) == PAGES - {f"http://old.example/{n}" for n in (0, 2)}
