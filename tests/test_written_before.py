"""Files and keys that another version has written are read, or refused with a sentence.

Those in ``tests/data/c7e4890`` are of crawls of http://old.example/ with that commit, which have
got two of its eight pages: the job, the store, the audit log, the shared pace in a file and in
Redis, and the keys of a worker's Redis, of one that was closed and of one that was killed, each as
DUMP gives it.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import redis
from scrapy.http import TextResponse

from scrapy_robots_plus.job import JobFileError
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage import open_store
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
async def test_a_job_is_refused_and_left_as_it_was(old: Path) -> None:
    file = old / "job" / "frontier.sqlite"
    file.parent.mkdir()
    (old / file.name).rename(file)
    before = file.read_bytes()
    told = (
        f"{file}: has layout 1; this version of scrapy-robots-plus knows 5. "
        "End the job with the version that began it, or choose another JOBDIR"
    )
    with pytest.raises(JobFileError, match=f"^{re.escape(told)}$"):
        await crawl(JOBDIR=str(file.parent), **ALONE)
    shown = Robots(old)("job", "show", "job")
    assert shown.status == 2
    assert shown.errors.startswith(f"scrapy robots job show: {told}")
    assert file.read_bytes() == before
    assert [each.name for each in file.parent.iterdir() if each.is_file()] == [file.name]


def test_the_records_of_a_store_are_fetched_anew(
    old: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_store(f"sqlite:{old / 'store.db'}", 10) as store:
        assert store.get(ORIGIN) is None
    assert caplog.messages[0].endswith("is deleted: not a record of version 2")


def test_an_audit_log_is_verified_and_its_parser_is_told_to_be_another_one(tmp_path: Path) -> None:
    shutil.copytree(DATA, tmp_path / "data")
    done = Robots(tmp_path / "data")("replay", "audit.jsonl", "--verify")
    assert done.status == 0, done.errors
    assert done.lines[0] == "whole: 4 lines"
    told, _ = Robots(tmp_path / "data")("replay", "audit.jsonl").lines
    assert "its crawl used scrapy_robots_plus.crawl.parsers.our_parser.RobotsParser" in told


OLD_PACE = "by another version of scrapy-robots-plus: end the crawls of that version, then delete"


@pytest_twisted.ensureDeferred
async def test_a_shared_pace_in_a_file_is_refused(
    old: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, pages = old / "pace.db", [f"http://old.example/{number}" for number in (8, 9)]
    before = file.read_bytes()
    crawler = await crawl(*pages, ROBOTS_SHARED_PACE=f"sqlite:{file}", **ALONE)
    assert set(crawler.spider.got) == set(pages)
    told = [each for each in caplog.messages if "not a shared-pace file of this version" in each]
    assert len(told) == stat(crawler, "log_count/WARNING") == 1
    assert f"{file}: " in told[0]
    assert file.read_bytes() == before


@pytest_twisted.ensureDeferred
async def test_a_shared_pace_in_redis_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    pages = [f"http://old.example/{number}" for number in (8, 9)]
    with redis_server() as server:
        restore(server, "keys_of_pace.json")
        crawler = await crawl(*pages, ROBOTS_SHARED_PACE=server["REDIS_URL"], **ALONE)
    assert set(crawler.spider.got) == set(pages)
    told = [each for each in caplog.messages if OLD_PACE in each]
    assert len(told) == stat(crawler, "log_count/WARNING") == 1
    assert "{robots:pace:foobot:old.example}" in told[0]


@scrapy_redis_may_warn
@pytest.mark.parametrize(
    ("keys", "finished"), [("keys.json", {0, 2}), ("keys_of_killed.json", {0, 1})]
)
@pytest_twisted.ensureDeferred
async def test_the_requests_of_workers_are_read(keys: str, finished: set[int]) -> None:
    """Those under way when a worker was killed are sent again when its time is over."""
    with redis_server() as server:
        restore(server, keys)
        crawler = await crawl(**{**server, **SHARED, **ALONE, "ROBOTS_WORKER_LIFETIME": 10})
    assert set(crawler.spider.got) == PAGES - {f"http://old.example/{n}" for n in finished}


def restore(server: dict[str, Any], keys: str) -> None:
    with redis.Redis.from_url(server["REDIS_URL"]) as client:
        for key, _, dump in json.loads((DATA / keys).read_text()):
            client.restore(key, 0, b64decode(dump))
