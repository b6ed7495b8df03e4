"""A job whose process ends badly, or whose file cannot be used: what is seen, what is lost."""

from __future__ import annotations

import json
import os
import pickle
import signal
import sqlite3
import time
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_robots_plus.job import FILE_NAME, JobFile, overview
from scrapy_robots_plus.job.schema import RequestState
from tests.everywhere import Everywhere
from tests.programs import Program
from tests.sites import hang

from .job_process import (
    MAIN,
    MANY,
    PAGES,
    Ended,
    Links,
    Long,
    Other,
    Poisoned,
    PoisonedAtStart,
    Renaming,
    TwoPages,
    run_job,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.sites import Host, Sites

RULES = "User-agent: *\nDisallow: /never\n"


def all_of(host: Host) -> set[str]:
    return {f"/{number}" for number in range(PAGES)}


def test_a_page_that_ends_the_process_is_set_aside(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(RULES)
    runs: list[Ended] = []
    while not runs or runs[-1].status:
        assert len(runs) < 8, "the job never ends"
        runs.append(run_job(Poisoned, [host.url("/0")], JOBDIR=str(tmp_path)))
    assert set(host.fetched) == all_of(host)
    assert host.fetched.count("/5") == len(runs) - 1
    last = runs[-1]
    assert last.stats["finish_reason"] == "finished"
    assert last.stats["robotstxt/queue/set_aside"] == 1
    assert f"while it processed {host.url('/5')}, which is set aside" in last.log
    again = run_job(Poisoned, [host.url("/0")], JOBDIR=str(tmp_path))
    assert again.status == 0
    assert again.log.count("WARNING: Set aside and not sent in this job: 1 request.") == 1
    assert again.stats["robotstxt/queue/set_aside"] == 1


@pytest.mark.parametrize("reactor", ["asyncio", "none"])
def test_a_second_ctrl_c_is_no_fault_of_the_pages_under_way(
    sites: Sites, tmp_path: Path, reactor: str
) -> None:
    host = sites.host(RULES)
    for number in range(1, 6):
        host.pages[f"/{number}"] = hang
    settings = {"JOBDIR": str(tmp_path), "TWISTED_REACTOR_ENABLED": reactor != "none"}
    for number in range(4):
        program = Program(MAIN, Links.__name__)
        program.stdin.write(json.dumps({"urls": [host.url("/0")], "settings": settings}).encode())
        program.stdin.close()
        while program.poll() is None and (
            host.fetched.count("/1") == number or set(host.fetched) != all_of(host)
        ):
            time.sleep(0.01)
        program.send_signal(signal.SIGINT)
        time.sleep(0.3)
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate()
        assert b"was killed" not in errors, errors
    assert host.fetched.count("/1") == 4
    found = overview(tmp_path / FILE_NAME, 0)
    assert (found.was_closed, found.last, found.set_aside) == (True, 0, [])
    assert (found.stored, found.under_way) == (5, 5)
    host.pages.clear()
    done = run_job(Links, [host.url("/0")], JOBDIR=str(tmp_path))
    assert done.stats["finish_reason"] == "finished"
    assert set(host.fetched) == all_of(host)


def test_a_stop_that_is_ended_by_a_kill_is_no_fault_of_the_pages_under_way(
    sites: Sites, tmp_path: Path
) -> None:
    """As Docker and systemd end what does not stop in time."""
    host = sites.host(RULES)
    host.pages["/0"] = hang
    task = {"urls": [host.url("/0")], "settings": {"JOBDIR": str(tmp_path)}}
    for number in range(4):
        program = Program(MAIN, Links.__name__)
        program.stdin.write(json.dumps(task).encode())
        program.stdin.close()
        while host.fetched.count("/0") == number and program.poll() is None:
            time.sleep(0.01)
        program.send_signal(signal.SIGTERM)
        time.sleep(1)
        program.kill()
        program.communicate()
    found = overview(tmp_path / FILE_NAME, 0)
    assert (found.stored, found.last, found.set_aside) == (1, 0, [])


def test_when_a_callback_was_renamed_the_crawl_is_closed_and_the_job_kept(
    sites: Sites, tmp_path: Path
) -> None:
    host = sites.host(RULES)
    stopped = run_job(Renaming, [host.url("/0")], JOBDIR=str(tmp_path), CLOSESPIDER_PAGECOUNT=2)
    waiting = overview(tmp_path / FILE_NAME, 0).stored
    assert waiting > 2 * MANY // 3, stopped.log
    renamed = run_job(Links, [host.url("/other")], JOBDIR=str(tmp_path))
    assert renamed.stats["finish_reason"] == "job_requests_cannot_be_sent"
    assert renamed.log.count("ERROR:") == 5
    assert "cannot send 5 requests, all for the same reason" in renamed.log
    found = overview(tmp_path / FILE_NAME, 0)
    assert (found.stored >= waiting, found.set_aside) == (True, [])
    assert renamed.stats["robotstxt/queue/set_aside"] == 0
    done = run_job(Renaming, [], JOBDIR=str(tmp_path))
    assert done.stats["finish_reason"] == "finished"
    assert len(set(host.fetched)) == 1 + MANY + ("/other" in host.fetched)


def test_two_pages_that_end_the_process_are_both_set_aside(sites: Sites, tmp_path: Path) -> None:
    hosts = [sites.host(RULES) for _ in range(2)]
    for _ in range(12):
        done = run_job(Poisoned, [host.url("/0") for host in hosts], JOBDIR=str(tmp_path))
        if not done.status:
            break
    assert done.status == 0
    assert all(set(host.fetched) == all_of(host) for host in hosts)


def test_one_that_each_run_requests_anew_is_set_aside_too(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(RULES)
    urls = [host.url(f"/{number}") for number in (4, 5, 6, 7)]
    for _ in range(16):
        done = run_job(PoisonedAtStart, urls, JOBDIR=str(tmp_path), CONCURRENT_REQUESTS=2)
        if not done.status:
            break
    assert done.status == 0
    assert set(host.fetched) == {"/4", "/5", "/6", "/7"}
    found = overview(tmp_path / FILE_NAME, 0)
    assert len(found.set_aside) == found.stored <= 3


def test_a_suspect_is_kept_back_once_though_start_asks_for_it_again(
    sites: Sites, tmp_path: Path
) -> None:
    host, job = sites.host(RULES), tmp_path / "job"
    with JobFile(job / FILE_NAME, spider="links") as file:
        file.add(host.origin, 1, pickle.dumps({"url": host.url("/1"), "callback": "parse"}))
        taken = file.take(host.origin, 1, newest=True)
        assert taken is not None
        file._move(taken._replace(hard_ends=3), RequestState.SET_ASIDE)
    run_job(PoisonedAtStart, [host.url("/1")], JOBDIR=str(job))
    assert host.fetched == []
    run_job(PoisonedAtStart, [host.url("/1")] * 3, JOBDIR=str(job))
    assert host.fetched == ["/1"] * 2


def test_a_start_request_whose_callback_is_back_is_sent(sites: Sites, tmp_path: Path) -> None:
    host, job = sites.host(RULES), tmp_path / "job"
    with JobFile(job / FILE_NAME, spider="links") as file:
        fields = {"url": host.url("/1"), "callback": "gone", "meta": {"is_start_request": True}}
        file.add(host.origin, 1, pickle.dumps(fields))
    run_job(Links, [], JOBDIR=str(job))
    assert len(overview(job / FILE_NAME, 0).set_aside) == 1
    run_job(PoisonedAtStart, [host.url("/1")], JOBDIR=str(job))
    assert host.fetched == ["/1"]


class BrokenPipeline:
    @classmethod
    def from_crawler(cls, crawler: Any) -> None:
        raise OSError("its server is away")


def test_a_crawl_that_fails_before_it_begins_is_no_kill(sites: Sites, tmp_path: Path) -> None:
    host = sites.host()
    urls = [host.url("/0")]
    broken = {f"{__name__}.{BrokenPipeline.__name__}": 1}
    failed = run_job(Links, urls, JOBDIR=str(tmp_path), ITEM_PIPELINES=broken)
    assert "its server is away" in failed.log
    assert overview(tmp_path / FILE_NAME, 0).was_closed
    again = run_job(Links, urls, JOBDIR=str(tmp_path))
    assert "was killed" not in again.log
    assert "was not closed" not in again.log
    assert len(host.fetched) == PAGES


def test_a_second_crawl_of_a_job_ends_before_it_starts(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(RULES)
    with JobFile(tmp_path / FILE_NAME):
        second = run_job(Links, [host.url("/0")], JOBDIR=str(tmp_path))
    assert second.status == 1
    assert "is in use by another crawl or command" in second.log
    assert "Traceback" not in second.log
    assert host.hits == []


def test_the_job_of_another_spider_is_left_alone(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(RULES)
    run_job(Poisoned, [host.url("/0")], JOBDIR=str(tmp_path))
    other = run_job(Other, [host.url("/0")], JOBDIR=str(tmp_path))
    assert other.status == 1
    assert 'is the job of the spider "links"' in other.log
    assert "Traceback" not in other.log


def test_a_newer_file_is_left_alone(sites: Sites, tmp_path: Path) -> None:
    with JobFile(tmp_path / FILE_NAME):
        pass
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    done = run_job(Links, [sites.host(RULES).url("/0")], JOBDIR=str(tmp_path))
    assert done.status == 1
    assert "has layout 99; this version" in done.log
    assert "Traceback" not in done.log


def test_when_the_disk_is_full_the_crawl_is_closed_and_nothing_is_lost(
    sites: Sites, tmp_path: Path
) -> None:
    hosts = [sites.host(RULES) for _ in range(4)]
    urls = [host.url("/0") for host in hosts]
    full = run_job(Long, urls, JOBDIR=str(tmp_path), limits={"RLIMIT_FSIZE": 60_000})
    assert full.stats["finish_reason"] == "job_file_failed", full.log
    assert "The crawl is closed" in full.log
    assert FILE_NAME in full.log
    done = run_job(Long, urls, JOBDIR=str(tmp_path))
    assert done.stats["finish_reason"] == "finished"
    assert all(set(host.fetched) == all_of(host) for host in hosts)


# Many hosts, few files


@pytest.fixture
def everywhere() -> Iterator[Everywhere]:
    with Everywhere() as server:
        yield server


FIRST = 1 << 16 | 1
"""The number of the first host: 127.1.0.1."""


def crawl_many(server: Everywhere, hosts: int, limit: int, **settings: Any) -> Ended:
    at_once = min(32, limit // 5)
    return run_job(
        TwoPages,
        [str(FIRST), str(FIRST + hosts), str(server.port)],
        limits={"RLIMIT_NOFILE": limit},
        CONCURRENT_REQUESTS=at_once,
        ROBOTS_FETCH_CONCURRENCY=at_once,
        LOG_LEVEL="INFO",
        ROBOTS_CACHE_SIZE=100,
        ROBOTS_FETCH_TIMEOUT=300,
        **settings,
    )


def many_hosts_under_few_files(
    server: Everywhere, folder: Path, hosts: int, limit: int
) -> tuple[Ended, Ended]:
    """A job stopped in the middle and resumed; returns its runs."""
    stopped = crawl_many(server, hosts, limit, JOBDIR=str(folder), CLOSESPIDER_PAGECOUNT=hosts)
    assert stopped.stats["finish_reason"] == "closespider_pagecount"
    assert 0 < len(server.pages) < 2 * hosts
    done = crawl_many(server, hosts, limit, JOBDIR=str(folder))
    assert done.stats["finish_reason"] == "finished"
    assert len(server.pages) == 2 * hosts, (stopped.stats, done.stats)
    assert set(server.pages.values()) == {1}
    assert "oo many open files" not in stopped.log + done.log
    return stopped, done


def test_many_hosts_need_few_files(everywhere: Everywhere, tmp_path: Path) -> None:
    many_hosts_under_few_files(everywhere, tmp_path, 56, 44)
    assert len(os.listdir(tmp_path)) < 8


@pytest.mark.stress
def test_20000_hosts_under_1024_files(everywhere: Everywhere, tmp_path: Path) -> None:
    runs = many_hosts_under_few_files(everywhere, tmp_path / "job", 20_000, 1024)
    everywhere.hits.clear()
    without = crawl_many(everywhere, 20_000, 1024, CLOSESPIDER_PAGECOUNT=5_000)
    most = max(run.files for run in runs)
    print(f"\nopen files: {most} with JOBDIR, {without.files} without")
    assert most <= without.files + 8
