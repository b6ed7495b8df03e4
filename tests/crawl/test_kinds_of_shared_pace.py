"""What crawls keep one pace in: this process, a file or a server. Nothing waits."""

from __future__ import annotations

import logging
from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, Spider
from scrapy.settings import Settings
from scrapy.statscollectors import StatsCollector

from scrapy_robots_plus.cluster.pace.hosts import Hosts
from scrapy_robots_plus.cluster.pace.in_file import PaceInFile
from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.crawl.agents import Agents
from scrapy_robots_plus.crawl.pacing.shared.between_processes import PaceBetweenProcesses
from scrapy_robots_plus.crawl.pacing.shared.choosing import shared_pace
from scrapy_robots_plus.crawl.pacing.shared.in_process import PaceInProcess
from scrapy_robots_plus.crawl.pacing.shared.shared_pace import GO_SECONDS, Ask
from scrapy_robots_plus.crawl.settings import RobotsSettings
from tests.waiting import in_loop, until

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_robots_plus.crawl.pacing.shared.shared_pace import SharedPace

HOST = "a.example"
REQUEST = Request("http://a.example/")


def crawler(**settings: Any) -> Any:
    made: Any = SimpleNamespace(spider=Spider("pace"), settings=Settings(settings))
    made.stats = StatsCollector(made)
    return made


def opened(**settings: Any) -> SharedPace:
    """The pace of a crawl with these settings."""
    made = crawler(**settings)
    checked = RobotsSettings.from_settings(made.settings)
    return shared_pace(made, checked, Agents(made, checked))


def question(ticket: str, request: Request | None = REQUEST, since: float = inf) -> Ask:
    return Ask(HOST, ticket, 60.0, 5.0, since, request)


async def waits(pace: SharedPace, asked: Ask) -> float:
    """What *pace* answers."""
    answers: list[float] = []
    pace.ask(asked, answers.append)
    await until(lambda: answers)
    return answers[0]


# In one process


class Held:
    def __init__(self) -> None:
        self.now = 1000.0
        self.hosts = Hosts()

    def pace(self) -> PaceInProcess:
        return PaceInProcess(self.hosts, lambda: self.now)

    def ask(self, pace: PaceInProcess, ticket: str, request: Request | None = REQUEST) -> float:
        answers: list[float] = []
        pace.ask(question(ticket, request), answers.append)
        return answers[0]


def test_crawls_of_one_process_take_turns() -> None:
    held = Held()
    one, other = held.pace(), held.pace()
    assert held.ask(one, "one/0") == 0.0
    held.now += 1.0
    assert held.ask(other, "other/0") == 59.0
    one.left(HOST, "one/0", 0.5, 60.0)
    held.now += 59.5
    assert held.ask(other, "other/0") == 0.0


def test_a_request_counts_as_sent_when_its_patience_ends() -> None:
    held = Held()
    one, other = held.pace(), held.pace()
    held.ask(one, "one/0")
    held.now += 64.9
    assert held.ask(other, "other/0") > 0.0
    held.now += 0.1
    assert held.ask(other, "other/0") == 0.0


def test_a_turn_without_a_request_is_reserved_and_given_back() -> None:
    held = Held()
    one, other = held.pace(), held.pace()
    assert held.ask(one, "one/0", None) == 0.0
    assert held.ask(other, "other/0") > 0.0
    one.unused(HOST, "one/0", inf)
    assert held.ask(other, "other/0") == 0.0


def test_a_host_is_left_alone_by_all_until_the_last_crawl_ends() -> None:
    held = Held()
    one, other = held.pace(), held.pace()
    one.leave_alone(HOST, 30.0)
    assert held.ask(other, "other/0") == 30.0
    other.close()
    assert held.ask(other, "other/0") == 0.0
    assert held.ask(one, "one/0") > 30.0


# Which crawls share one


@in_loop
async def test_crawls_with_the_same_name_share_a_pace_in_their_process() -> None:
    one, other = opened(USER_AGENT="foobot/1.0 (+http://foo)"), opened(USER_AGENT="FooBot/2.0")
    third = opened(USER_AGENT="barbot")
    assert await waits(one, question("one/0")) == 0.0
    assert await waits(other, question("other/0")) > 0.0
    assert await waits(third, question("third/0")) == 0.0


@in_loop
async def test_crawls_without_a_name_share_one_too() -> None:
    one, other = opened(USER_AGENT=""), opened(USER_AGENT="*")
    assert await waits(one, question("one/0")) == 0.0
    assert await waits(other, question("other/0")) > 0.0


@in_loop
async def test_a_crawl_may_keep_its_pace_alone() -> None:
    off = {"ROBOTS_SHARED_PACE": "off"}
    one, other = opened(**off), opened(**off)
    assert await waits(one, question("one/0")) == 0.0
    assert await waits(other, question("other/0")) == 0.0
    assert await waits(one, question("two/0")) > 0.0


@in_loop
async def test_crawls_of_several_processes_share_a_file(tmp_path: Path) -> None:
    file = {"ROBOTS_SHARED_PACE": f"sqlite:{tmp_path / 'pace.db'}", "USER_AGENT": "foobot"}
    one, other = opened(**file), opened(**file)
    assert await waits(one, question("one/0")) == 0.0
    assert 59.0 < await waits(other, question("other/0")) <= 60.0
    one.left(HOST, "one/0", 60.0, 60.0)
    one.leave_alone(HOST, 20.0)
    await closed(one)
    assert 19.0 < await waits(other, question("other/0")) <= 20.0
    await closed(other)
    group = PaceInFile(tmp_path / "pace.db", "foobot")
    assert group.ask(HOST, "third/0", 1.0, 0.0) > 0.0
    group.close()


async def closed(pace: SharedPace) -> None:
    closing = pace.close()
    assert closing is not None
    assert await compat.wait_for(closing) is True


# Between processes


class Keeper(PaceInFile):
    """Notes what it is asked."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "pace")
        self.asked: list[tuple[object, ...]] = []

    def ask(self, host: str, ticket: str, delay: float, patience: float | None) -> float:
        self.asked.append((host, ticket, delay, patience))
        return super().ask(host, ticket, delay, patience)

    def unused(self, host: str, ticket: str, ago: float) -> None:
        self.asked.append(("unused", host, ticket, ago))
        super().unused(host, ticket, ago)


@in_loop
async def test_a_request_may_leave_some_time_after_the_answer(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path / "pace.db")
    pace = PaceBetweenProcesses(crawler(), keeper, 3)
    await waits(pace, question("one/0"))
    await waits(pace, question("two/0", None))
    pace.unused(HOST, "two/0", 7.0)
    await closed(pace)
    assert keeper.asked == [
        (HOST, "one/0", 60.0, 5.0 + GO_SECONDS),
        (HOST, "two/0", 60.0, None),
        ("unused", HOST, "two/0", 7.0),
    ]
    assert keeper._connection is None  # closed, too


@in_loop
async def test_while_it_cannot_be_asked_a_crawl_keeps_the_delays_as_if_all_took_turns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = crawler()
    path = tmp_path / "pace.db"
    path.write_bytes(b"of somebody else" * 99)
    pace = PaceBetweenProcesses(made, PaceInFile(path, "pace"), 3)
    assert await waits(pace, question("one/0", since=70.0)) == 110.0
    assert await waits(pace, question("one/0")) == 0.0
    pace.left(HOST, "one/0", 0.0, 60.0)
    await closed(pace)
    assert made.stats.get_stats() == {stats.SHARED_PACE_ERRORS: 3}
    (said,) = (each for each in caplog.records if each.levelno >= logging.WARNING)
    assert said.getMessage() == (
        f"ROBOTS_SHARED_PACE: {path}: file is not a database. Until it can be asked again, "
        "the crawl keeps delays on its own, times ROBOTS_WORKERS, which is 3; further "
        f"errors are counted as {stats.SHARED_PACE_ERRORS}."
    )
    assert said.levelno == logging.WARNING
    assert vars(said)["spider"] is made.spider
