"""What else is in the folder of a job: damaged by a full disk, or left by other queues."""

from __future__ import annotations

import logging
import pickle
import shutil
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
import pytest_twisted
from scrapy.squeues import FifoMemoryQueue, PickleFifoDiskQueue
from scrapy.utils.python import global_object_name

from scrapy_robots_plus.job import FILE_NAME, JobFile, JobFileError
from tests.crawl.jobs import (
    SCRAPYS_QUEUE,
    JobSpider,
    all_pages,
    fetched,
    run_to_the_end,
    run_until_so,
)
from tests.crawling import IN_FILES, make_crawler, resumes_jobs, run

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tests.sites import Host, Sites

pytestmark = resumes_jobs

RULES = "User-agent: *\nDisallow: /never\n"
BY_PRIORITY = "scrapy.pqueues.ScrapyPriorityQueue"
OUR_QUEUE = {"SCHEDULER_PRIORITY_QUEUE": "scrapy_robots_plus.RobotsPriorityQueue"}


async def begun(host: Host, job: Path, **settings: Any) -> None:
    """A job that was stopped after a few pages."""
    limits = {"JOBDIR": str(job), "CONCURRENT_REQUESTS": 1}
    await run_until_so(lambda: len(host.fetched) > 2, [host], **limits, **settings)
    assert fetched([host]) != all_pages([host])


@pytest.mark.parametrize("left", [b"", b'{"a.exa'])
@pytest_twisted.ensureDeferred
async def test_a_job_goes_on_with_what_a_full_disk_left_of_scrapys_state(
    sites: Sites, tmp_path: Path, left: bytes
) -> None:
    host = sites.host(RULES)
    await begun(host, tmp_path)
    (tmp_path / "requests.queue" / "active.json").write_bytes(left)
    await run_to_the_end([host], JOBDIR=str(tmp_path))
    assert fetched([host]) == all_pages([host])


@pytest.mark.parametrize("name", ["requests.queue", "spider.state"])
@pytest_twisted.ensureDeferred
async def test_a_job_goes_on_though_a_file_of_scrapys_own_is_out_of_reach(
    sites: Sites, path_of_nobody: Path, name: str
) -> None:
    host, job = sites.host(RULES), path_of_nobody.parent
    await begun(host, job)
    path = job / name
    path.chmod(0o555 if path.is_dir() else 0)
    await run_to_the_end([host], JOBDIR=str(job))
    path.chmod(0o755)
    assert fetched([host]) == all_pages([host])


class Counts(JobSpider):
    """Counts pages in its state."""

    def parse(self, response: Response) -> Any:
        self.state["pages"] = self.state.get("pages", 0) + 1  # type: ignore[attr-defined]
        yield from super().parse(response)


async def counted_after(job: Path, host: Host) -> int:
    """The state of the spider when a run of it begins."""
    found: list[dict[str, int]] = []

    class Looks(Counts):
        async def start(self) -> Any:
            found.append(dict(self.state))  # type: ignore[attr-defined]
            return
            yield

    await run(make_crawler(Looks, JOBDIR=str(job)), urls=[])
    return found[0].get("pages", 0)


@pytest.mark.parametrize("left", [b"", b"\x80\x04\x95\x10"])
@pytest_twisted.ensureDeferred
async def test_the_state_of_the_spider_outlives_a_full_disk(
    sites: Sites, tmp_path: Path, left: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(RULES)
    await run(make_crawler(Counts, JOBDIR=str(tmp_path)), urls=[host.url("/0")])
    state = tmp_path / "spider.state"
    pages = pickle.loads(state.read_bytes())["pages"]
    assert await counted_after(tmp_path, host) == pages > 0
    caplog.clear()
    state.write_bytes(left)
    assert await counted_after(tmp_path, host) == pages
    assert f"{state} is cut off. The spider begins with the state" in caplog.text
    for path in (state, tmp_path / "spider.state.kept"):
        path.write_bytes(b"")
    (tmp_path / "spider.state.kept").unlink()
    assert await counted_after(tmp_path, host) == 0
    assert f"{state} is cut off. The spider begins with an empty state" in caplog.text


async def refused(job: Path, **settings: Any) -> str:
    """What a start is refused with. It changes nothing in the folder."""
    before = {path: path.read_bytes() for path in job.rglob("*") if path.is_file()}
    with pytest.raises(JobFileError) as caught:
        await run(make_crawler(JobSpider, JOBDIR=str(job), **settings), urls=[])
    after = {path: path.read_bytes() for path in job.rglob("*") if path.is_file()}
    assert after == before
    return str(caught.value)


class OwnQueue(PickleFifoDiskQueue):  # type: ignore[misc, valid-type]
    """A project's own."""


class OwnMemoryQueue(FifoMemoryQueue):  # type: ignore[misc, valid-type]
    """A project's own."""


OTHERS: list[dict[str, str]] = [
    {"SCHEDULER_PRIORITY_QUEUE": SCRAPYS_QUEUE},
    {"SCHEDULER_PRIORITY_QUEUE": BY_PRIORITY},
    {"SCHEDULER_DISK_QUEUE": f"{__name__}.OwnQueue"},
]


@pytest.mark.parametrize("end", ["stopped", "killed"])
@pytest_twisted.ensureDeferred
async def test_with_queues_of_another_kind_no_second_job_is_begun(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    host, job = sites.host(RULES), tmp_path / "job"
    await begun(host, job)
    if end == "killed":  # such a run has not written its state
        shutil.rmtree(job / "requests.queue")
    monkeypatch.chdir(tmp_path)
    for queues, path in product(OTHERS, (job, Path("job"))):
        why = await refused(path, **queues)
        said = "this job, but SCHEDULER_PRIORITY_QUEUE is not RobotsPriorityQueue or a subclass"
        assert said in why, queues
    await run_to_the_end([host], JOBDIR=str(job))
    assert fetched([host]) == all_pages([host])


@pytest.mark.parametrize("end", ["stopped", "killed"])
@pytest_twisted.ensureDeferred
async def test_a_job_in_files_is_not_begun_anew_in_one(
    sites: Sites, tmp_path: Path, end: str
) -> None:
    host = sites.host(RULES)
    await begun(host, tmp_path, **IN_FILES)
    if end == "killed":
        (tmp_path / "requests.queue" / "active.json").unlink()
    why = await refused(tmp_path, **OUR_QUEUE)
    assert "the requests of this job are in files of their own. Convert the job" in why
    assert not (tmp_path / FILE_NAME).exists()


@pytest_twisted.ensureDeferred
async def test_a_job_whose_file_was_deleted_begins_anew_in_one(
    sites: Sites, tmp_path: Path
) -> None:
    host = sites.host(RULES)
    for _ in range(2):
        await run_to_the_end([host], JOBDIR=str(tmp_path))
        (tmp_path / FILE_NAME).unlink()
    assert set(fetched([host]).values()) == {2}


class CannotBeMade:
    @classmethod
    def from_crawler(cls, _: Crawler) -> NoReturn:
        raise RuntimeError("a mistake in the project")


@pytest_twisted.ensureDeferred
async def test_after_a_start_that_failed_the_same_process_can_resume_the_job(
    sites: Sites, tmp_path: Path
) -> None:
    host = sites.host(RULES)
    await begun(host, tmp_path)
    failing = {"JOBDIR": str(tmp_path), "ITEM_PIPELINES": {CannotBeMade: 1}}
    with pytest.raises(RuntimeError, match="a mistake in the project"):
        await run(make_crawler(JobSpider, **failing), urls=[])
    await run_to_the_end([host], JOBDIR=str(tmp_path))
    assert fetched([host]) == all_pages([host])


@pytest.mark.parametrize("start", ["", "START_"])
@pytest.mark.parametrize("kind", ["MEMORY", "DISK"])
@pytest_twisted.ensureDeferred
async def test_queues_of_another_kind_leave_scrapys_own_priority_queue_in_place(
    sites: Sites,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    kind: str,
    start: str,
) -> None:
    host, name = sites.host(RULES), f"SCHEDULER_{start}{kind}_QUEUE"
    settings = {name: OwnQueue if kind == "DISK" else OwnMemoryQueue, "JOBDIR": str(tmp_path)}
    with caplog.at_level(logging.INFO):
        crawler = await run_until_so(lambda: len(host.fetched) > 2, [host], **settings)
    assert crawler.settings["SCHEDULER_PRIORITY_QUEUE"] == SCRAPYS_QUEUE
    used = global_object_name(settings[name])
    assert f"a kill may lose requests of the job, because {name} is {used}." in caplog.text
    await run_to_the_end([host], **settings)
    assert fetched([host]) == all_pages([host])
    assert not (tmp_path / FILE_NAME).exists()


@pytest_twisted.ensureDeferred
async def test_a_file_that_holds_nothing_is_in_nobodys_way(sites: Sites, tmp_path: Path) -> None:
    """Nor are the requests of the run after it left behind when queues are the usual ones again."""
    host = sites.host(RULES)
    with JobFile(tmp_path / FILE_NAME):
        pass
    await begun(host, tmp_path, **IN_FILES)
    await run_to_the_end([host], JOBDIR=str(tmp_path))
    assert fetched([host]) == all_pages([host])
