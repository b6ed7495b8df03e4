"""What crawls keep one pace in: this process, a file or a server. Nothing waits."""

from __future__ import annotations

import logging
from functools import partial
from math import inf
from threading import Event, Semaphore
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, Spider
from scrapy.settings import Settings
from scrapy.statscollectors import StatsCollector

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.hosts.book import LEAST_WAIT, BookError, BookInMemory
from scrapy_robots_plus.hosts.book_in_file import BookInFile
from scrapy_robots_plus.hosts.shared_pace import (
    GO_SECONDS,
    Ask,
    BookedPace,
    PaceBetweenProcesses,
    shared_pace,
)
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.settings.robots_settings import RobotsSettings
from tests.waiting import LONGEST, in_loop, until

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_robots_plus.hosts.shared_pace import SharedPace

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
    crawl: Any = SimpleNamespace(crawler=made, settings=checked)
    return shared_pace(made, checked, Agents(crawl))


def question(since: float = inf) -> Ask:
    return Ask(HOST, 60.0, 5.0, since, REQUEST)


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
        self.book = BookInMemory(lambda: self.now)

    def pace(self) -> BookedPace:
        return BookedPace(self.book)

    def ask(self, pace: BookedPace) -> float:
        answers: list[float] = []
        pace.ask(question(), answers.append)
        return answers[0]


def test_crawls_of_one_process_take_turns() -> None:
    held = Held()
    one, other = held.pace(), held.pace()
    assert held.ask(one) == 0.0
    held.now += 1.0
    assert held.ask(other) == 59.0
    one.left(HOST, 0.5, 60.0)
    held.now += 59.5
    assert held.ask(other) == 0.0


def test_a_request_counts_as_sent_when_its_patience_ends() -> None:
    held = Held()
    one, other = held.pace(), held.pace()
    held.ask(one)
    held.now += 64.9
    assert held.ask(other) > 0.0
    held.now += 0.1
    assert held.ask(other) == 0.0


def test_what_is_booked_or_allowed_is_given_back_once() -> None:
    held = Held()
    one, other, third = held.pace(), held.pace(), held.pace()
    assert held.ask(one) == 0.0
    assert held.ask(other) == 60.0
    assert held.ask(third) == 120.0
    third.unused(HOST, inf, 60.0)
    third.unused(HOST, inf, 60.0)
    assert held.ask(third) == 120.0
    one.unused(HOST, inf, 60.0)
    assert held.ask(other) == 0.0
    other.left(HOST, 0.0, 60.0)
    other.unused(HOST, inf, 60.0)  # it has gone
    assert held.ask(third) == 60.0


def test_a_host_is_left_alone_by_all_until_the_last_crawl_ends() -> None:
    held = Held()
    one, other = held.pace(), held.pace()
    one.leave_alone(HOST, 30.0)
    held.ask(other)
    assert held.ask(other) == 30.0
    other.close()
    assert held.ask(other) == 0.0
    assert held.ask(one) > 30.0


# Which crawls share one


@in_loop
async def test_crawls_with_the_same_name_share_a_pace_in_their_process() -> None:
    one, other = opened(USER_AGENT="foobot/1.0 (+http://foo)"), opened(USER_AGENT="FooBot/2.0")
    third = opened(USER_AGENT="barbot")
    assert await waits(one, question()) == 0.0
    assert await waits(other, question()) > 0.0
    assert await waits(third, question()) == 0.0


@in_loop
async def test_crawls_without_a_name_share_one_too() -> None:
    one, other = opened(USER_AGENT=""), opened(USER_AGENT="*")
    assert await waits(one, question()) == 0.0
    assert await waits(other, question()) > 0.0


@in_loop
async def test_a_crawl_may_keep_its_pace_alone() -> None:
    off = {"ROBOTS_SHARED_PACE": "off"}
    one, other = opened(**off), opened(**off)
    assert await waits(one, question()) == 0.0
    assert await waits(other, question()) == 0.0
    for each in (one, other):
        each.left(HOST, 0.0, 60.0)
        each.leave_alone(HOST, 30.0)
        assert 29.0 < await waits(each, question()) <= 30.0
        await compat.sleep(0)


@in_loop
async def test_crawls_of_several_processes_share_a_file(tmp_path: Path) -> None:
    file = {"ROBOTS_SHARED_PACE": f"sqlite:{tmp_path / 'pace.db'}", "USER_AGENT": "foobot"}
    one, other = opened(**file), opened(**file)
    assert await waits(one, question()) == 0.0
    assert 59.0 < await waits(other, question()) <= 60.0
    one.leave_alone(HOST, 90.0)
    await closed(one)
    assert 59.0 < await waits(other, question()) <= 60.0
    await closed(other)
    group = BookInFile(tmp_path / "pace.db", "foobot")
    assert group.change(HOST, "ask", "third", 1.0, 0.0, None)[0] > 0.0
    group.close()


async def closed(pace: SharedPace) -> None:
    closing = pace.close()
    assert closing is not None
    assert await compat.wait_for(closing) is True


# Between processes


class Noted(BookInFile):
    """Notes what it is asked and told."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "pace")
        self.asked: list[tuple[object, ...]] = []

    def change(self, host: str, event: str, *arguments: Any) -> Any:
        self.asked.append((host, event, *arguments[1:]))
        return super().change(host, event, *arguments)


@in_loop
async def test_a_request_may_leave_some_time_after_the_answer(tmp_path: Path) -> None:
    book = Noted(tmp_path / "pace.db")
    pace = PaceBetweenProcesses(crawler(), book, 3)
    await waits(pace, question())
    pace.unused(HOST, inf, 60.0)
    await closed(pace)
    assert book.asked == [
        (HOST, "ask", 60.0, 5.0 + GO_SECONDS, None),
        (HOST, "unused", inf, 60.0, None),
    ]
    assert book._connection is None  # closed, too


class FarAway(BookInMemory):
    """Each change takes *seconds*, and begins when the test says so."""

    def __init__(self, seconds: float) -> None:
        super().__init__(lambda: self.now)
        self.now, self.seconds = 1000.0, seconds
        self.may_go = Semaphore(0)

    def change(self, host: str, event: str, *arguments: Any) -> Any:
        assert self.may_go.acquire(timeout=LONGEST)
        answer = super().change(host, event, *arguments)
        self.now += self.seconds
        return answer


@in_loop
async def test_an_answer_that_came_too_late_is_not_used_and_given_back() -> None:
    book = FarAway(GO_SECONDS)
    pace = PaceBetweenProcesses(crawler(), book, 3, lambda: book.now)
    book.may_go.release(9)
    assert await waits(pace, question()) == LEAST_WAIT
    book.seconds = 0.0
    assert await waits(pace, question()) == 0.0
    assert await waits(BookedPace(book), question()) > 0.0
    await closed(pace)


@in_loop
async def test_however_many_hosts_are_asked_about_before_an_answer_is_used() -> None:
    book = FarAway(GO_SECONDS / 2)
    pace = PaceBetweenProcesses(crawler(), book, 3, lambda: book.now)
    answers: list[float] = []
    for number in range(10):
        pace.ask(question()._replace(host=f"{number}.example"), answers.append)
    for number in range(10):
        book.may_go.release()
        await until(partial(answers.__getitem__, slice(number, None)))
    assert answers == [0.0] * 10
    await closed(pace)


@in_loop
async def test_what_is_told_counts_from_when_it_was_sent() -> None:
    book = FarAway(10.0)
    pace, other = PaceBetweenProcesses(crawler(), book, 3, lambda: book.now), BookedPace(book)
    began = book.now
    pace.leave_alone("b.example", 5.0)
    pace.left(HOST, 0.0, 60.0)
    pace.leave_alone("c.example", 90.0)
    book.may_go.release(9)
    await closed(pace)
    book.seconds, book.now = 0.0, began + 59.0
    assert await waits(other, question()) == 1.0
    assert await waits(other, question()._replace(host="c.example")) == 31.0


class AnswersSometimes(BookInMemory):
    fails = True

    def change(self, host: str, event: str, *arguments: Any) -> Any:
        if self.fails:
            raise BookError
        return super().change(host, event, *arguments)


@in_loop
async def test_an_error_is_told_again_after_ten_minutes(caplog: pytest.LogCaptureFixture) -> None:
    now = [1000.0]
    book = AnswersSometimes(lambda: now[0])
    pace = PaceBetweenProcesses(crawler(), book, 3, lambda: now[0])
    for told in (1, 1, 2):
        await waits(pace, question())
        assert caplog.text.count("keeps delays on its own") == told
        now[0] += 301.0
    await closed(pace)


@in_loop
async def test_who_gets_no_answer_asks_again_for_a_while() -> None:
    """An answer may be lost, and the others know nothing of it."""
    now = [1000.0]
    book = AnswersSometimes(lambda: now[0])
    pace = PaceBetweenProcesses(crawler(), book, 3, lambda: now[0])
    for _ in range(2):
        book.fails = True
        for _ in range(9):
            assert await waits(pace, question()) == pace.ASKS_EVERY
            now[0] += pace.ASKS_EVERY
        book.fails = False
        assert await waits(pace, question()) == 0.0
    book.fails = True
    assert await waits(pace, question()) == pace.ASKS_EVERY
    now[0] += pace.ASKS_SECONDS
    assert await waits(pace, question()) == 0.0
    await closed(pace)


@in_loop
async def test_while_it_cannot_be_asked_a_crawl_keeps_the_delays_as_if_all_took_turns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PaceBetweenProcesses, "ASKS_SECONDS", 0.0)
    made = crawler()
    path = tmp_path / "pace.db"
    path.write_bytes(b"of somebody else" * 99)
    pace = PaceBetweenProcesses(made, BookInFile(path, "pace"), 3)
    assert await waits(pace, question(since=70.0)) == 110.0
    assert await waits(pace, question()) == 0.0
    pace.left(HOST, 0.0, 60.0)
    await closed(pace)
    assert made.stats.get_stats() == {stats.SHARED_PACE_ERRORS: 3}
    (said,) = (each for each in caplog.records if each.levelno >= logging.WARNING)
    assert said.getMessage() == (
        f"ROBOTS_SHARED_PACE: {path}: file is not a database. If it cannot be asked again within "
        "0 s, the crawl keeps delays on its own until it can, multiplied by ROBOTS_WORKERS (3); "
        f"further errors are counted as {stats.SHARED_PACE_ERRORS}."
    )
    assert said.levelno == logging.WARNING
    assert vars(said)["spider"] is made.spider


class Hangs(BookInMemory):
    """Does not answer until the test says so."""

    def __init__(self) -> None:
        super().__init__(lambda: 1000.0)
        self.goes_on = Event()

    def change(self, host: str, event: str, *arguments: Any) -> Any:
        assert self.goes_on.wait(LONGEST)
        return super().change(host, event, *arguments)


@in_loop
async def test_a_book_that_hangs_is_not_waited_for(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ASKS_SECONDS", "HANGS_SECONDS"):
        monkeypatch.setattr(PaceBetweenProcesses, name, 0.3)
    book = Hangs()
    pace = PaceBetweenProcesses(crawler(), book, 3)
    answers: list[float] = []
    pace.ask(question(), answers.append)
    pace.ask(question()._replace(host="b.example"), answers.append)  # waits behind it
    await until(lambda: len(answers) == 2)
    pace.leave_alone(HOST, 30.0)
    pace.ask(question(since=60.0), answers.append)  # answered at once
    assert answers == [0.0, 0.0, 120.0]
    assert caplog.text.count("ROBOTS_SHARED_PACE: no answer for 0.3 s. ") == 1
    assert pace._courier._errands.qsize() == 1
    book.goes_on.set()
    await until(lambda: pace._courier.busy_for < 0)
    other = BookedPace(book)
    assert await waits(pace, question()._replace(host="b.example")) == 0.0
    assert await waits(other, question()._replace(host="b.example")) > 0.0
    assert len(answers) == 3  # those that came late are not used
    await closed(pace)


@in_loop
async def test_closing_does_not_wait_long_for_a_book_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PaceBetweenProcesses, "HANGS_SECONDS", 0.1)
    monkeypatch.setattr(PaceBetweenProcesses, "CLOSING_SECONDS", 0.1)
    book = Hangs()
    pace = PaceBetweenProcesses(crawler(), book, 3)
    await waits(pace, question())
    closing = pace.close()
    assert closing is not None
    assert await compat.wait_for(closing) is False
    book.goes_on.set()
