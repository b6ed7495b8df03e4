"""Crawls in several processes keep one pace, in a SQLite file or on a Redis server."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import closing, contextmanager
from statistics import median
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.hosts.book_in_file import BookInFile
from scrapy_robots_plus.hosts.shared_pace import GO_SECONDS, PaceBetweenProcesses
from tests.crawl.redis_away import FAULTS, noticed
from tests.crawl_process import MODES
from tests.crawling import crawl, parts_of_seconds, stat
from tests.redis_proxy import RedisProxy
from tests.redis_server import RedisServer
from tests.sites import hang

from .pace_process import LONGEST, ended, gaps, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.sites import Host, Sites

DELAY = 0.3
KEEPERS = ["file", "server"]
ONE_KEEPER = ["file", pytest.param("server", marks=pytest.mark.stress)]


@contextmanager
def kept_in(keeper: str, folder: Path) -> Iterator[str]:
    """The value of ``ROBOTS_SHARED_PACE``."""
    if keeper == "file":
        yield f"sqlite:{folder / 'pace.db'}"
    else:
        with RedisServer() as server:
            yield server.url


def paced(sites: Sites, delay: float = DELAY) -> Host:
    return sites.host(f"User-agent: *\nDisallow: /never\nCrawl-delay: {delay}\n")


def pages(host: Host, crawl: int, number: int) -> list[str]:
    return [host.url(f"/{crawl}/{page}") for page in range(number)]


def wait_for(condition: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < give_up_at, "what is waited for does not come"
        time.sleep(0.01)


@parts_of_seconds
@pytest.mark.parametrize("keeper", KEEPERS)
def test_four_processes_keep_one_pace(sites: Sites, tmp_path: Path, keeper: str) -> None:
    host, each = paced(sites), 3
    with kept_in(keeper, tmp_path) as value:
        forks = [
            start(tmp_path, *pages(host, number, each), ROBOTS_SHARED_PACE=value)
            for number in range(4)
        ]
        sent, ends = ended(forks)
    assert len(ends) == 4, (tmp_path / "log").read_text()
    found = gaps(sent, host)
    assert len(found) == 4 * each - 1
    assert min(found) >= DELAY - 0.01
    assert sum(found) < len(found) * DELAY * 1.3
    assert not any(stats.SHARED_PACE_ERRORS in each for each in ends)


def loses_its_file(path: Path) -> None:
    path.unlink()


def damages_its_file(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")  # who is in the middle of a change would mend it
        path.write_bytes(b"\xff" * path.stat().st_size)


@parts_of_seconds
@pytest.mark.parametrize("act", [loses_its_file, damages_its_file])
def test_a_file_that_is_lost_in_the_middle(
    sites: Sites, tmp_path: Path, act: Callable[[Path], object]
) -> None:
    host, each, delay = paced(sites, 1.0), 4, 1.0
    file = tmp_path / "pace.db"
    value = f"sqlite:{file}"
    forks = [
        start(tmp_path, *pages(host, number, each), ROBOTS_SHARED_PACE=value) for number in range(3)
    ]
    wait_for(lambda: len(host.fetched) >= 3)
    act(file)
    wait_for(lambda: len(host.fetched) >= 6)
    act(file)
    sent, ends = ended(forks)
    assert len(ends) == 3, (tmp_path / "log").read_text()
    assert min(gaps(sent, host)) >= delay - 0.05
    assert "each host is left alone for its delay once" in (tmp_path / "log").read_text()


@parts_of_seconds
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "asyncio"])
def test_in_other_reactor_modes(sites: Sites, tmp_path: Path, mode: str) -> None:
    host = paced(sites)
    with kept_in("file", tmp_path) as value:
        forks = [
            start(tmp_path, *pages(host, number, 2), mode=mode, ROBOTS_SHARED_PACE=value)
            for number in range(2)
        ]
        sent, ends = ended(forks)
    assert len(ends) == 2, (tmp_path / "log").read_text()
    assert min(gaps(sent, host)) >= DELAY - 0.01
    assert len(host.fetched) == 4


@parts_of_seconds
@pytest.mark.parametrize("keeper", ONE_KEEPER)
def test_clocks_ten_minutes_apart_do_not_matter(sites: Sites, tmp_path: Path, keeper: str) -> None:
    host = paced(sites)
    with kept_in(keeper, tmp_path) as value:
        forks = [
            start(tmp_path, *pages(host, number, 3), ahead=ahead, ROBOTS_SHARED_PACE=value)
            for number, ahead in enumerate((0.0, 600.0))
        ]
        sent, ends = ended(forks)
    assert len(ends) == 2, (tmp_path / "log").read_text()
    assert min(gaps(sent, host)) >= DELAY - 0.01
    assert median(gaps(sent, host)) < DELAY * 1.5


@parts_of_seconds
@pytest.mark.parametrize("keeper", ONE_KEEPER)
def test_a_crawl_that_is_killed_costs_the_others_its_patience(
    sites: Sites, tmp_path: Path, keeper: str
) -> None:
    """It dies with a request under way, whose answer never comes."""
    host = paced(sites)
    host.pages["/killed/3"] = hang
    with kept_in(keeper, tmp_path) as value:
        killed = start(
            tmp_path, *(host.url(f"/killed/{page}") for page in range(9)), ROBOTS_SHARED_PACE=value
        )
        wait_for(lambda: "/killed/3" in host.fetched)
        other = start(tmp_path, *pages(host, 1, 4), ROBOTS_SHARED_PACE=value)
        killed.send(signal.SIGKILL)
        sent, ends = ended([killed, other])
    assert len(ends) == 1, (tmp_path / "log").read_text()
    found = gaps(sent, host)
    assert len(found) == 7
    assert min(found) >= DELAY - 0.01
    # Its patience is one delay once it has had an answer.
    assert max(found) < DELAY + DELAY + GO_SECONDS + 2


@parts_of_seconds
def test_while_the_server_is_away_each_crawl_is_slower(sites: Sites, tmp_path: Path) -> None:
    host = paced(sites)
    settings: Any = {"ROBOTS_SHARED_PACE": "redis://127.0.0.1:1/0", "ROBOTS_WORKERS": 2}
    forks = [start(tmp_path, *pages(host, number, 3), **settings) for number in range(2)]
    sent, ends = ended(forks)
    log = (tmp_path / "log").read_text()
    assert len(ends) == 2, log
    assert log.count("ROBOTS_SHARED_PACE: redis://127.0.0.1:1/0: ") == 2
    assert all(each[stats.SHARED_PACE_ERRORS] >= 3 for each in ends)
    for number in range(2):
        own = [(at, url) for at, url in sent if f"/{number}/" in url]
        assert min(gaps(own, host)) >= 2 * DELAY - 0.01


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_a_file_that_does_not_answer_costs_some_seconds(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    goes_on = Event()
    for name in ("ASKS_SECONDS", "HANGS_SECONDS"):
        monkeypatch.setattr(PaceBetweenProcesses, name, 1.0)
    monkeypatch.setattr(BookInFile, "change", lambda *_: goes_on.wait(LONGEST))
    host = paced(sites)
    crawler = await crawl(
        *pages(host, 0, 3), ROBOTS_SHARED_PACE=f"sqlite:{tmp_path / 'pace.db'}", ROBOTS_WORKERS=2
    )
    goes_on.set()
    assert len(host.fetched) == 3
    assert min(host.gaps) >= 2 * DELAY - 0.01
    assert "ROBOTS_SHARED_PACE: no answer for 1 s. " in caplog.text
    assert stat(crawler, stats.SHARED_PACE_ERRORS) >= 3


@parts_of_seconds
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest_twisted.ensureDeferred
async def test_what_is_no_regular_file_is_not_opened(
    sites: Sites, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, host = tmp_path / "pace.db", paced(sites)
    os.mkfifo(path)
    await crawl(*pages(host, 0, 2), ROBOTS_SHARED_PACE=f"sqlite:{path}")
    assert len(host.fetched) == 2
    assert f"ROBOTS_SHARED_PACE: {path}: it is not a regular file. " in caplog.text


@parts_of_seconds
@pytest.mark.parametrize(
    "fault",
    [
        "paused",
        *(pytest.param(each, marks=pytest.mark.stress) for each in FAULTS if each != "paused"),
    ],
)
def test_when_the_server_is_back_they_keep_one_pace_again(
    sites: Sites, tmp_path: Path, fault: str
) -> None:
    delay, each = 0.1, 30
    host = paced(sites, delay)
    with RedisServer(durable=True) as server:
        forks = [
            start(tmp_path, *pages(host, number, each), ROBOTS_SHARED_PACE=server.url)
            for number in range(2)
        ]
        wait_for(lambda: len(host.fetched) >= 3)
        FAULTS[fault].begin(server)
        fetched = len(host.fetched)
        wait_for(lambda: len(host.fetched) >= fetched + 4)
        FAULTS[fault].end(server)
        sent, ends = ended(forks)
    assert len(ends) == 2, (tmp_path / "log").read_text()
    if fault != "empty":  # how long that one takes to start decides whether anybody notices
        assert all((stats.SHARED_PACE_ERRORS in each) == noticed(fault, "pace") for each in ends)
    assert len(host.fetched) == 2 * each
    assert min(gaps(sent, host)[-10:]) >= delay - 0.01
    for number in range(2):
        own = [(at, url) for at, url in sent if f"/{number}/" in url]
        assert min(gaps(own, host)) >= delay - 0.01


@pytest.mark.stress
def test_with_many_hosts_and_a_server_far_away_all_pages_come(sites: Sites, tmp_path: Path) -> None:
    """A question waits for those about other hosts, for longer than an answer may be used."""
    road, each = 0.05, 3
    hosts = [paced(sites) for _ in range(2 * int(GO_SECONDS / (2 * road)))]
    urls = [host.url(f"/{page}") for page in range(each) for host in hosts]
    with RedisServer() as server, RedisProxy(server) as proxy:
        proxy.delay = road
        fork = start(tmp_path, *urls, longest=3 * LONGEST, ROBOTS_SHARED_PACE=proxy.url)
        sent, ends = ended([fork], 3 * LONGEST)
    assert len(ends) == 1, (tmp_path / "log").read_text()
    for host in hosts:
        assert len(gaps(sent, host)) == each - 1
        assert min(gaps(sent, host)) >= DELAY - 0.01
