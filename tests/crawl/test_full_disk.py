"""A job on a disk that is full, on a real one: with room again, it goes on."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.job import FILE_NAME, JobFile, JobFileError, overview

from .job_process import PAGES, FillsDisk, Links, Long, run_job

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.sites import Sites

RULES = "User-agent: *\nDisallow: /never\n"


class Disk:
    """A file system of its own, in memory."""

    def __init__(self, path: Path, octets: int) -> None:
        self.path = path
        self._mount(f"size={octets}", "-t", "tmpfs", "tmpfs")

    def resize(self, octets: int) -> None:
        self._mount(f"remount,size={octets}")

    def unmount(self) -> None:
        subprocess.run(["umount", str(self.path)], check=True)

    def _mount(self, options: str, *more: str) -> None:
        command = ["mount", "-o", options, *more, str(self.path)]
        subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    path = tmp_path / "disk"
    path.mkdir()
    try:
        disk = Disk(path, 200_000)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no file system can be mounted here")
    yield disk
    disk.unmount()


@pytest.mark.parametrize("room", [110_000, pytest.param(250_000, marks=pytest.mark.stress)])
def test_with_room_again_the_job_goes_on(sites: Sites, disk: Disk, room: int) -> None:
    hosts = [sites.host(RULES) for _ in range(6)]
    urls, job = [host.url("/0") for host in hosts], disk.path / "job"
    disk.resize(room)
    full = run_job(Long, urls, JOBDIR=str(job))
    assert full.status == 0 or "cannot be used" in full.log, full.log
    if full.stats:
        assert full.stats["finish_reason"] == "job_file_failed", full.log
        assert "Fix the cause and resume the job" in full.log
        assert "lost when the crawl is stopped" not in full.log
    again = run_job(Long, urls, JOBDIR=str(job))  # still full
    assert "/scrapy_robots_plus/" not in again.log, "a traceback that is not Scrapy's own"
    disk.resize(50_000_000)
    done = run_job(Long, urls, JOBDIR=str(job))
    assert done.stats["finish_reason"] == "finished", done.log
    pages = {f"/{number}" for number in range(PAGES)}
    assert all(set(host.fetched) == pages for host in hosts)
    assert "are lost" not in done.log
    held = overview(job / FILE_NAME, 0)
    assert (held.stored, held.was_closed, held.losses) == (0, True, [])


def test_a_disk_that_is_full_when_the_crawl_ends(sites: Sites, disk: Disk) -> None:
    """What was done is beside the file, which cannot be written."""
    host, job = sites.host(RULES), disk.path / "job"
    disk.resize(1_000_000)
    urls = [host.url("/0")]
    run_job(Long, urls, JOBDIR=str(job), CONCURRENT_REQUESTS=1, CLOSESPIDER_PAGECOUNT=6)
    full = run_job(FillsDisk, [], JOBDIR=str(job))
    assert "Fix the cause and resume the job" in full.log
    before = len(host.fetched)
    assert set(host.fetched) == {f"/{number}" for number in range(PAGES)}
    disk.resize(50_000_000)
    done = run_job(Links, [], JOBDIR=str(job))
    assert done.stats["finish_reason"] == "finished", done.log
    assert len(host.fetched) == before
    assert "ERROR" not in done.log
    assert overview(job / FILE_NAME, 0).stored == 0


def take_a_page_that_leads_to_many(path: Path) -> None:
    with JobFile(path) as file:
        assert not file.was_killed
        assert file.take("host", 0, newest=False)
        file.commit()
        for number in range(60):
            file.add("host", 0, b"%d" % number * 2_000)
        file.commit()


@pytest.mark.parametrize("room", [60_000, 150_000, 220_000])
def test_a_page_that_leads_to_more_than_there_is_room_for_is_not_to_blame(
    disk: Disk, room: int
) -> None:
    path = disk.path / FILE_NAME
    with JobFile(path) as file:
        file.add("host", 0, b"page")
    used = sum(each.stat().st_blocks * 512 for each in disk.path.iterdir())
    for _ in range(5):
        disk.resize(used + room)
        with pytest.raises(JobFileError, match="Fix the cause"):
            take_a_page_that_leads_to_many(path)
        disk.resize(2_000_000)
        with JobFile(path) as file:
            assert not file.was_killed
            assert not file.newly_aside
            assert file.take("host", 0, newest=False)
