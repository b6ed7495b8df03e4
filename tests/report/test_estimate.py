"""One line says what the queue waits for, and how long it will take at least."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.hosts.shared_pace import shared_pace
from scrapy_robots_plus.hosts.stored_lanes import StoredLanes
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.report import progress
from scrapy_robots_plus.report.progress import describe
from tests.crawl.world import Host, World
from tests.crawling import far_from_now, make_crawler, parts_of_seconds, reads_paces, run
from tests.sites import hang
from tests.waiting import close_when

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_robots_plus.hosts.host import Lane
    from tests.sites import Host as Site
    from tests.sites import Sites

LOGGER = "scrapy_robots_plus.report.progress"


def test_hosts_by_what_they_wait_for() -> None:
    world = World([Host(), Host(delay=10.0), Host(), Host()], defer=60.0, fetches=4, total=1)
    for number, requests in enumerate((3, 1801, 2, 5)):
        for _ in range(requests):
            world.push(number)
    world.settle()
    world.land(1)
    world.pass_time(1)
    world.land(0)
    world.land(2, unreachable=True, lifetime=30)
    world.pass_time(1.2)
    line = describe(world.queue_hosts)
    assert line == (
        "Hosts in the queue: 1 waiting for robots.txt (5 requests), "
        "1 waiting for their delay (1,800 requests), 1 held back (2 requests). "
        "At least 5 h remaining: http://host1.example, 1,800 requests x 10 s"
    )


def test_one_request_is_not_several() -> None:
    world = World([Host(delay=10.0)])
    world.push(0)
    world.push(0)
    world.settle()
    world.land(0)
    world.pass_time(1)
    line = describe(world.queue_hosts)
    assert line == (
        "Hosts in the queue: 1 waiting for their delay (1 request). "
        "At least 10 s remaining: http://host0.example, 1 request x 10 s"
    )


def test_an_empty_queue_has_nothing_to_say() -> None:
    assert describe(World([]).queue_hosts) == ""


def test_the_remaining_time_contains_the_pause_of_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World([Host()])
    for _ in range(4):
        world.push(0)
    monkeypatch.setattr(world, "delay_of", lambda lane: 0.5)
    monkeypatch.setattr(world, "due_in", lambda lane: 30.5)
    line = describe(world.queue_hosts)
    assert line.endswith(
        "At least 32 s remaining: http://host0.example, 4 requests x 0.5 s after a pause of 30 s"
    )


@pytest_twisted.ensureDeferred
async def test_the_line_comes_with_the_stats_of_scrapy(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 20\n")
    lines = await lines_of_a_crawl(host, caplog)
    assert re.search(r"[23] requests x 20 s", lines[0])


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_it_says_how_long_other_crawls_leave_the_host_alone(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    """It said "at least 1 s" where a crawl of the process before it had got a Retry-After."""
    host = sites.host("User-agent: *\nCrawl-delay: 0.2\nDisallow: /private\n")
    first = Crawl.of(make_crawler())
    shared_pace(first.crawler, first.settings, first.get(Agents)).leave_alone(host.address, 1000.0)
    crawler = make_crawler(LOGSTATS_INTERVAL=0.1)
    close_when(lambda: lines_of_delays(caplog)[1:], crawler)
    with caplog.at_level(logging.INFO, LOGGER):
        await run(crawler, urls=[host.url(f"/{number}") for number in range(4)])
    assert "after a pause of 16 min" in lines_of_delays(caplog)[-1]


@reads_paces
@pytest.mark.parametrize(("record", "delay"), [("", 0), ("Crawl-delay: 2\n", 2)])
@pytest_twisted.ensureDeferred
async def test_it_says_how_long_until_the_visiting_hours(
    sites: Sites, caplog: pytest.LogCaptureFixture, record: str, delay: int
) -> None:
    host = sites.host(f"User-agent: *\nDisallow: /x\n{record}Visit-time: {far_from_now()}\n")
    crawler = make_crawler(LOGSTATS_INTERVAL=0.1, ROBOTS_VISIT_TIME="obey")
    close_when(lambda: "1 held back" in caplog.text, crawler)
    with caplog.at_level(logging.INFO, LOGGER):
        await run(crawler, urls=[host.url(f"/{number}") for number in range(4)])
    (line, *_) = re.findall("Hosts in the queue: 1 held back.*", caplog.text)
    name, hours = re.escape(host.origin), r"1[12] h( \d+ min)?"
    assert re.search(
        rf"At least {hours} remaining: {name}, \d requests x {delay} s after a pause of {hours}$",
        line,
    )


@pytest_twisted.ensureDeferred
@pytest.mark.parametrize(("asked", "own"), [(None, 20), (5, 20), (20, 5)])
async def test_a_delay_is_the_longest_and_with_jitter_counts_as_what_it_is_on_average(
    sites: Sites, caplog: pytest.LogCaptureFixture, asked: int | None, own: int
) -> None:
    text = f"User-agent: *\nCrawl-delay: {asked}\nDisallow: /never\n"
    lines = await lines_of_a_crawl(sites.host(text if asked else None), caplog, DOWNLOAD_DELAY=own)
    assert all(" x 20 s" in line for line in lines)


async def lines_of_a_crawl(
    host: Site, caplog: pytest.LogCaptureFixture, **settings: Any
) -> list[str]:
    """The first ones: it is closed then, with requests left."""
    crawler = make_crawler(LOGSTATS_INTERVAL=0.1, **settings)
    close_when(lambda: lines_of_delays(caplog), crawler)
    with caplog.at_level(logging.INFO, LOGGER):
        await run(crawler, urls=[host.url(f"/{number}") for number in range(4)])
    return lines_of_delays(caplog)


def lines_of_delays(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Those logged while the host waited for its delay, and no longer for its robots.txt."""
    lines = [record.message for record in caplog.records if record.name == LOGGER]
    return [line for line in lines if "1 waiting for their delay (" in line]


@pytest_twisted.ensureDeferred
async def test_hosts_that_only_the_file_of_a_job_holds_are_counted(
    sites: Sites,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(StoredLanes, "MOST_AWAKE", 2)
    monkeypatch.setattr(StoredLanes, "AT_ONCE", 2)
    urls = [host.url(f"/{n}") for host in (sites.host(hang) for _ in range(5)) for n in range(2)]
    settings: dict[str, Any] = {"JOBDIR": str(tmp_path), "LOGSTATS_INTERVAL": 0.05}

    def told() -> list[str]:
        lines = [each.message for each in caplog.records if each.name == LOGGER]
        return [line for line in lines if "in the job's file" in line]

    async def stopped_when_told(*urls: str) -> str:
        caplog.clear()
        crawler = make_crawler(**settings)
        close_when(told, crawler)
        await run(crawler, urls=urls)
        return told()[0]

    with caplog.at_level(logging.INFO, LOGGER):
        assert re.fullmatch(
            r"Hosts in the queue: 2 waiting for robots\.txt \(\d requests\); "
            r"\d hosts? in the job's file \(\d requests?\)",
            await stopped_when_told(*urls),
        )
        monkeypatch.setattr(StoredLanes, "pop", lambda self: None)  # none is awake yet
        assert await stopped_when_told() == "5 hosts in the job's file (10 requests)"


def test_of_very_many_hosts_only_the_longest_queues_are_asked_for_their_delay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert progress._ASKED_FOR_THEIR_DELAY == 1_000
    monkeypatch.setattr(progress, "_ASKED_FOR_THEIR_DELAY", 100)
    world = World([Host() for _ in range(120)])
    for number in [*range(120), 7]:
        world.push(number)
    asked: list[str] = []

    def delay_of(lane: Lane) -> float:
        asked.append(lane.address.slot)
        return 5.0

    monkeypatch.setattr(world, "delay_of", delay_of)
    line = describe(world.queue_hosts)
    assert line == (
        "Hosts in the queue: 120 waiting for robots.txt (121 requests). "
        "At least 10 s remaining: http://host7.example, 2 requests x 5 s"
    )
    assert len(asked) == 100
