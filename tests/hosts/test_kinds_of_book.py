"""Where processes keep the book: a file of one machine, or a Redis server."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_robots_plus.hosts import book_in_file as book_in_file
from scrapy_robots_plus.hosts import book_on_server as book_on_server
from scrapy_robots_plus.hosts.book import Book, BookError, Entry
from scrapy_robots_plus.hosts.book_on_server import BookOnServer
from scrapy_robots_plus.hosts.shared_pace import open_book
from scrapy_robots_plus.settings.checks import shared_pace
from scrapy_robots_plus.storage.redis_server import ServerError
from tests.hosts.simulation import Worker, World
from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_robots_plus.storage.redis_server import Seen


class BookInFile(book_in_file.BookInFile):
    """Closes its file when nobody has it any more, as crawls do when they end."""

    def __del__(self) -> None:
        self.close()


A, B, C = "a", "b", "c"
HOST = "site.example"
NOW = 1000.0
GO = (0.0, None)


def ask(
    book: Book,
    who: str,
    delay: float,
    patience: float = 0.0,
    moment: float | None = None,
    host: str = HOST,
) -> Any:
    return book.change(host, "ask", who, delay, patience, moment)


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


@pytest.fixture(params=["file", "server"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Book]]:
    """Opens the same book, once for each process that shares it."""
    books: list[Book] = []
    if request.param == "file":
        value = f"sqlite:{tmp_path / 'a' / 'folder' / 'pace.db'}"
    else:
        value = request.getfixturevalue("redis").url

    def open_one(group: str = tmp_path.name) -> Book:
        books.append(open_book(value, group))
        return books[-1]

    yield open_one
    for each in books:
        each.close()


def test_two_that_keep_one_pace(opened: Callable[..., Book]) -> None:
    one, other = opened(), opened()
    assert ask(one, A, 30.0, 5.0) == GO
    wait, moment = ask(other, B, 30.0, 5.0)
    assert 29.0 < wait <= 30.0
    one.change(HOST, "left", A, -20.0, 30.0)  # it is slow to connect, then faster than feared
    assert 29.0 < ask(other, B, 30.0, 5.0, moment)[0] <= 51.0
    one.change(HOST, "left", A, 0.0, 30.0)
    assert 29.0 < ask(other, B, 30.0, 5.0, moment)[0] <= 30.0


def test_hosts_and_groups_have_paces_of_their_own(opened: Callable[..., Book]) -> None:
    one, other = opened(), opened("another")
    assert ask(one, A, 30.0) == GO
    assert ask(one, B, 30.0, host="other.example") == GO
    assert ask(other, B, 30.0) == GO


def test_a_moment_is_booked_and_given_back(opened: Callable[..., Book]) -> None:
    one, other = opened(), opened()
    assert ask(one, A, 30.0, 5.0) == GO
    wait, moment = ask(one, C, 30.0)
    assert 29.0 < wait <= 30.0
    assert ask(other, B, 30.0)[0] > 59.0
    one.change(HOST, "unused", A, 1e9, 30.0, None)
    assert ask(one, C, 30.0, 0.0, moment) == GO


def test_a_host_is_left_alone_by_all(opened: Callable[..., Book]) -> None:
    one, other = opened(), opened()
    one.change(HOST, "leave_alone", 30.0)
    assert 29.0 < ask(other, B, 1.0)[0] <= 30.0


# What is kept goes by the same rules

_WHO = st.sampled_from(["a", "b", "c", ""])
_DELAYS = st.sampled_from([0.1, 1.0, 2.5, 90.0])
_AGO = st.sampled_from([-15.0, -0.25, 0.0, 0.3, 1.7, 100.0])
_CALLS = st.one_of(
    st.tuples(st.just("ask"), _WHO, _DELAYS, st.sampled_from([0.0, 3.0, 15.0]), st.booleans()),
    st.tuples(st.just("left"), _WHO, _AGO, _DELAYS),
    st.tuples(st.just("unused"), _WHO, st.one_of(st.just(1e9), _AGO), _DELAYS, st.booleans()),
    st.tuples(st.just("leave_alone"), st.sampled_from([0.0, 0.5, 4.0])),
)
_STEPS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.001, 0.1, 0.25, 0.4, 1.0, 6.0, 61.0]), _CALLS), max_size=30
)


class AtATime(BookOnServer):
    """Tells the server the time."""

    now = NOW

    def __init__(self, url: str, group: str) -> None:
        super().__init__(url, group, lambda: self.now)
        server: Any = self._server
        look = server.look
        server.look = lambda *arguments: look(*arguments)._replace(now=self.now)


@pytest.fixture(scope="module")
def told(redis: RedisServer) -> Iterator[AtATime]:
    book = AtATime(redis.url, "rules")
    yield book
    book.close()


class Both:
    """An entry, which the server has to keep as well, and the file."""

    def __init__(self, told: AtATime, redis: RedisServer, path: Path) -> None:
        self._told = told
        self._redis = redis
        self._at = {"monotonic": NOW}
        self._file = BookInFile(path, "g", clock(self._at))
        self._entry = Entry()
        redis.emptied()
        told._known.clear()

    def __getattr__(self, event: str) -> Callable[..., Any]:
        def happen(now: float, *arguments: Any) -> Any:
            if now >= self._entry.useful_until:
                self._entry = Entry()  # the server forgets it by its own clock
                self._redis.emptied()
                self._told._known.clear()
            self._told.now = self._at["monotonic"] = now
            answer = getattr(self._entry, event)(now, *arguments)
            assert self._told.change(HOST, event, *arguments) == answer, (event, arguments)
            self._file.change(HOST, event, *arguments)
            return answer

        return happen


@given(_STEPS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_the_server_goes_by_the_same_rules(
    told: AtATime, redis: RedisServer, steps: list[tuple[float, tuple[Any, ...]]]
) -> None:
    entry, now = Entry(), NOW
    redis.emptied()
    told._known.clear()
    moments: dict[str, float | None] = {}
    for seconds, (event, *arguments) in steps:
        now += seconds
        if now >= entry.useful_until:
            entry = Entry()  # the server forgets it by its own clock
            redis.emptied()
            told._known.clear()
        told.now = now
        if event in ("ask", "unused"):
            arguments[-1] = moments.get(arguments[0]) if arguments[-1] else None
        answer = getattr(entry, event)(now, *arguments)
        if event == "ask":
            moments[arguments[0]] = answer[1]
        assert told.change(HOST, event, *arguments) == answer, (event, arguments)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.stress) for seed in range(1, 8))]
)
def test_they_go_by_the_same_rules_in_a_crowd(
    redis: RedisServer, told: AtATime, tmp_path: Path, seed: int
) -> None:
    world = World(Both(told, redis, tmp_path / "p"), Random(seed))
    usual = {"requests": 8, "lag": 0.01, "connecting": 0.05, "answering": 0.1}
    changes: list[dict[str, float]] = [
        {"lag": 0.9}, {"lag": 0.6}, {"drops": 0.4}, {"dies_after": 2}, {"delay": 4.0},
        {"repeats": 0.5}, {"pauses": 0.2},
    ]  # fmt: skip
    for number, change in enumerate(changes):
        each = Worker(world, f"w{number}", **{**usual, **change})  # type: ignore[arg-type]
        world.after(world.random.uniform(0, 0.1), each.begin)
    world.run()


class InAFile:
    """What crawls share in a file, each of which has opened it."""

    def __init__(self, path: Path, random: Random) -> None:
        self._now = {"monotonic": NOW}
        self._books = [BookInFile(path, "g", clock(self._now)) for _ in range(3)]
        self._random = random

    def __getattr__(self, event: str) -> Callable[..., Any]:
        def happen(now: float, *arguments: Any) -> Any:
            self._now["monotonic"] = now
            return self._random.choice(self._books).change(HOST, event, *arguments)

        return happen


@pytest.mark.parametrize("seed", range(4))
def test_a_crowd_that_shares_a_file_keeps_the_delay(tmp_path: Path, seed: int) -> None:
    world = World(InAFile(tmp_path / "p", Random(seed)), Random(seed))
    usual = {"requests": 8, "lag": 0.01, "connecting": 0.05, "answering": 0.1}
    changes: list[dict[str, float]] = [{"lag": 0.9}, {"drops": 0.4}, {"dies_after": 2}, {}, {}]
    made = [
        Worker(world, f"w{number}", **{**usual, **change})  # type: ignore[arg-type]
        for number, change in enumerate(changes)
    ]
    for each in made:
        world.after(world.random.uniform(0, 0.1), each.begin)
    world.run()
    assert min(world.gaps()) >= 1.0 - 1e-6
    assert all(each.sent == (each.requests if each.lives else 2) for each in made)


@given(_STEPS)
def test_what_is_written_goes_on_as_if_it_had_not_been(
    steps: list[tuple[float, tuple[Any, ...]]],
) -> None:
    entry, now = Entry(), NOW
    for seconds, (event, *arguments) in steps:
        now += seconds
        if event in ("ask", "unused"):
            arguments[-1] = None
        other = Entry(*json.loads(json.dumps(entry.values)))
        assert getattr(entry, event)(now, *arguments) == getattr(other, event)(now, *arguments)
        assert entry.values == other.values


def test_a_key_says_whose_it_is_and_expires(redis: RedisServer) -> None:
    book = BookOnServer(redis.url, "foobot")
    ask(book, A, 90.0, 10.0)
    with redis.client() as client:
        left = client.pttl("{robots:pace:foobot:site.example}")
        assert 105_000 < left <= 110_000
        book.change("b.example", "leave_alone", 0.0)
        assert client.keys("*b.example*") == []
    book.close()


def test_who_asks_at_the_same_time_books_a_moment_of_its_own(redis: RedisServer) -> None:
    """Whoever has read an entry that another has changed meanwhile reads it again."""
    books = [BookOnServer(redis.url, "crowd") for _ in range(8)]
    ask(books[0], A, 30.0)
    with ThreadPoolExecutor(len(books)) as threads:
        asked = [threads.submit(ask, each, f"{at}", 30.0) for at, each in enumerate(books * 5)]
    waits = sorted(each.result()[0] for each in asked)
    assert all(30 * number - 5 < wait <= 30 * number for number, wait in enumerate(waits, 1))
    for each in books:
        each.close()


@pytest.mark.parametrize("value", [b"\x82\xa4last\xa0\xa4next\x00", b"[1]", b"7"])
def test_a_key_that_holds_something_else_is_refused_and_stays(
    redis: RedisServer, value: bytes
) -> None:
    """As that of a version before the first release does."""
    book = BookOnServer(redis.url, "old")
    with redis.client() as client:
        client.set(book.key(HOST), value)
        with pytest.raises(BookError, match="was written by another version of scrapy-robots-plus"):
            ask(book, A, 1.0)
        assert client.get(book.key(HOST)) == value
        client.delete(book.key(HOST))
    book.close()


def test_who_finds_an_entry_changed_again_and_again_waits_for_another_delay(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 50.0
    book, other = BookOnServer(redis.url, "busy", lambda: now), BookOnServer(redis.url, "busy")
    swap, tries = book._server.swap, 0

    def swap_after_the_other(*arguments: Any, **options: Any) -> Seen | None:
        nonlocal now, tries
        now, tries = now + 1.5, tries + 1
        other.change(HOST, "leave_alone", 30.0 + tries)
        return swap(*arguments, **options)

    monkeypatch.setattr(book._server, "swap", swap_after_the_other)
    before = redis.usage()
    assert ask(book, A, 7.0) == (7.0, None)
    assert ask(book, A, 7.0, 0.0, 1e9) == (7.0, 1e9)
    assert tries == 8
    # One look, and for each try that of the other, its change, and the one in vain.
    assert (redis.usage() - before).commands["EVALSHA"] <= 2 + 3 * tries
    with pytest.raises(BookError, match=r"other crawls keep changing the key .*busy:site\.example"):
        book.change(HOST, "leave_alone", 90.0)
    book.close()
    other.close()


def test_who_has_to_wait_on_keeps_nobody_else_from_writing(redis: RedisServer) -> None:
    """What changes nothing is not written: else who is far away would find it changed."""
    book = BookOnServer(redis.url, "waiting")
    assert ask(book, A, 30.0) == GO
    _, moment = ask(book, B, 30.0)
    with redis.client() as client:
        written = client.get(book.key(HOST))
        assert 29.0 < ask(book, B, 30.0, 0.0, moment)[0] <= 30.0
        assert client.get(book.key(HOST)) == written
    book.close()


def test_a_server_that_was_restarted_is_asked_again(redis: RedisServer) -> None:
    book = BookOnServer(redis.url, "again")
    assert ask(book, A, 30.0) == GO
    with redis.client() as client:
        client.script_flush()
    assert ask(book, B, 30.0)[0] > 29.0
    book.close()


def test_a_server_that_was_emptied_leaves_hosts_alone_once(redis: RedisServer) -> None:
    book, other = (BookOnServer(redis.url, "emptied") for _ in range(2))
    assert ask(book, A, 30.0) == GO
    redis.emptied()
    assert ask(book, A, 30.0)[0] == pytest.approx(30.0, abs=1)
    assert ask(book, A, 30.0, host="another.example") == GO
    assert ask(other, B, 30.0)[0] > 29.0
    book.close()
    other.close()


def test_a_loss_is_noticed_once_and_nobody_waits_for_ever(redis: RedisServer) -> None:
    """What is written of it stays there for as long as anybody expects something."""
    book = BookOnServer(redis.url, "once")
    assert ask(book, A, 0.1) == GO
    redis.emptied()
    wait, moment = ask(book, A, 0.1)
    assert 0.9 < wait <= 1.0
    with redis.client() as client:
        assert client.pttl(book.key(HOST)) > 1000 * (book._known[HOST] - time.monotonic())
    time.sleep(wait + 0.1)
    assert ask(book, A, 0.1, 0.0, moment) == GO
    book.close()


def test_who_gets_a_late_answer_takes_what_expired_meanwhile_for_no_loss(
    redis: RedisServer,
) -> None:
    book = BookOnServer(redis.url, "late", lambda: 50.0)  # when it asks
    book.change(HOST, "leave_alone", 0.05)
    time.sleep(0.1)
    assert ask(book, A, 30.0) == GO
    book.close()


def test_a_moment_that_is_given_back_is_no_sign_of_a_loss(redis: RedisServer) -> None:
    one, other = BookOnServer(redis.url, "given back"), BookOnServer(redis.url, "given back")
    assert ask(one, A, 0.05) == GO
    time.sleep(0.06)
    assert ask(other, B, 0.05) == GO
    other.change(HOST, "unused", B, 1e9, 0.05, None)
    with redis.client() as client:
        assert client.pttl(one.key(HOST)) > 1000 * (one._known[HOST] - time.monotonic())
    one.close()
    other.close()


def test_a_user_who_may_not_ask_for_the_process_has_lost_nothing() -> None:
    with RedisServer() as server, server.client() as client:
        client.acl_setuser(
            "plain", enabled=True, passwords="+x", commands=["+@all", "-info"], keys="*"
        )
        urls = server.url, server.url_for("plain", "x")
        books = [BookOnServer(url, "mixed") for url in urls]
        for each, crawl in zip((*books, *books), (A, B, A, B), strict=True):
            assert ask(each, crawl, 0.2) == GO
            time.sleep(0.21)
        for each in books:
            each.close()


def test_what_is_told_of_a_host_is_no_sign_of_a_loss(redis: RedisServer) -> None:
    """The server keeps it for at least as long as it is expected to."""
    book = AtATime(redis.url, "no loss")
    book.change(HOST, "left", A, 0.0, 1.0)
    with redis.client() as client:
        assert client.pttl(book.key(HOST)) > 1000 * (book._known[HOST] - book.now) - 1000
    book.close()


def test_a_server_that_comes_back_with_an_older_state_leaves_hosts_alone_once() -> None:
    with RedisServer() as server:
        book, other = (BookOnServer(server.url, "older") for _ in range(2))
        book.change(HOST, "left", A, 50.0, 40.0)
        with server.client() as client:
            client.save()
        assert ask(book, A, 40.0) == GO
        server.kill()
        server.start()
        other.change(HOST, "left", C, 300.0, 40.0)
        assert ask(other, B, 40.0)[0] == pytest.approx(40.0, abs=1)
        book.close()
        other.close()


def test_a_server_that_is_away_is_an_error_without_its_password() -> None:
    book = BookOnServer("redis://:secret@127.0.0.1:1/0", "foobot")
    with pytest.raises(ServerError) as caught:
        ask(book, A, 1.0)
    assert str(caught.value).startswith("redis://***@127.0.0.1:1/0: ")
    assert "secret" not in str(caught.value)


def test_a_server_that_is_full_keeps_the_book() -> None:
    with RedisServer() as server:
        server.run_out_of_memory()
        one, other = (BookOnServer(server.url, "full") for _ in range(2))
        assert ask(one, A, 60.0) == GO
        assert ask(other, B, 60.0)[0] > 0.0
        one.close()
        other.close()


def test_a_server_that_is_back_is_asked_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_on_server, "LEFT_ALONE", 0.2)
    with RedisServer() as server:
        book = BookOnServer(server.url, "back")
        server.kill()
        for _ in range(5):
            with pytest.raises(ServerError):
                ask(book, A, 1.0)
            time.sleep(0.2)
        server.start()
        time.sleep(0.2)
        assert ask(book, A, 1.0)[0] == 0.0
        book.close()


def test_nobody_waits_for_a_moment_that_was_to_come_by_another_clock(redis: RedisServer) -> None:
    """The clock of a server is set back, or a replica whose clock is behind takes over."""
    one, other = AtATime(redis.url, "back"), AtATime(redis.url, "back")
    assert ask(one, A, 1.0, 2.0) == GO
    one.change(HOST, "left", A, 0.0, 1.0)
    moment = ask(one, C, 1.0, 2.0)[1]
    other.now -= 600.0
    wait, booked = ask(other, B, 1.0, 2.0)
    assert 1 < wait <= 2
    other.now += 2.0
    assert ask(other, B, 1.0, 2.0, booked) == GO
    assert ask(other, C, 1.0, 2.0, moment)[0] <= 1.0  # booked by the old time
    other.change(HOST, "leave_alone", 30.0)
    one.now = other.now - 600.0
    wait, booked = ask(one, A, 1.0, 2.0)
    one.now += wait
    assert 26 < ask(one, A, 1.0, 2.0, booked)[0] <= 30
    one.close()
    other.close()


# Files


def test_any_thread_may_ask(opened: Callable[..., Book]) -> None:
    book = opened()
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(ask, book, A, 30.0).result() == GO
        assert 29.0 < ask(book, B, 30.0)[0] <= 30.0
        thread.submit(book.close).result()


def test_what_is_told_counts_from_now(tmp_path: Path) -> None:
    book = BookInFile(tmp_path / "p", "g", clock({"monotonic": 50.0}))
    book.change(HOST, "left", A, 4.0, 10.0)
    wait, moment = ask(book, B, 10.0)
    assert wait == 6.0
    book.change(HOST, "leave_alone", 7.0)
    assert ask(book, B, 10.0, 0.0, moment)[0] == 7.0


def clock(now: dict[str, float]) -> Callable[[], float]:
    return lambda: now["monotonic"]


def test_after_a_new_start_of_the_machine_a_host_is_left_alone_for_its_delay_once(
    tmp_path: Path,
) -> None:
    ask(BookInFile(tmp_path / "p", "g", lambda: 5e6), A, 10.0)
    now = {"monotonic": 3.0}
    book = BookInFile(tmp_path / "p", "g", clock(now))
    wait, moment = ask(book, B, 10.0)
    assert wait == 10.0
    now["monotonic"] += 10
    assert ask(book, B, 10.0, 0.0, moment) == GO


def test_a_file_that_was_lost_before_a_new_start_of_the_machine(tmp_path: Path) -> None:
    path = tmp_path / "p"
    before = BookInFile(path, "g", lambda: 5e6)
    ask(before, A, 10.0)
    path.unlink()
    ask(before, A, 10.0)
    now = {"monotonic": 3.0}
    book = BookInFile(path, "g", clock(now))
    wait, moment = ask(book, B, 10.0, host="another.example")
    assert wait == 10.0
    now["monotonic"] += 10
    assert ask(book, B, 10.0, 0.0, moment, host="another.example") == GO


def test_the_time_of_day_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(BookInFile(tmp_path / "p", "g"), A, 30.0)
    monkeypatch.setattr(time, "time", lambda: 5e9)
    assert 29.0 < ask(BookInFile(tmp_path / "p", "g"), B, 30.0)[0] <= 30.0


def damage(path: Path) -> None:
    size = path.stat().st_size
    path.write_bytes(b"\xff" * size)


@pytest.mark.parametrize("lose", [Path.unlink, damage])
def test_a_file_that_is_lost_is_made_again_and_hosts_are_left_alone_once(
    tmp_path: Path, lose: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    now, path = {"monotonic": 50.0}, tmp_path / "p"
    book, other = (BookInFile(path, "g", clock(now)) for _ in range(2))
    for each in (book, other):
        each.change(HOST, "left", A, 100.0, 30.0)
    lose(path)
    now["monotonic"] += 1
    wait, moment = ask(book, A, 30.0)
    assert wait == 30.0
    now["monotonic"] += 1
    assert ask(other, B, 20.0, host="another.example")[0] == 20.0
    now["monotonic"] += 9
    fresh = BookInFile(path, "g", clock(now))
    assert ask(fresh, C, 20.0, host="a.third.example")[0] == 11.0
    assert ask(book, A, 30.0, 0.0, moment)[0] == 21.0
    now["monotonic"] += 30
    assert ask(book, A, 30.0, 0.0, moment) == GO
    assert caplog.text.count("each host is left alone for its delay once") == 2
    assert caplog.text.count("is damaged") == (lose is damage)


@pytest.mark.parametrize("kept", [0, 1, 100])
def test_a_file_that_was_damaged_before_it_is_opened(
    tmp_path: Path, kept: int, caplog: pytest.LogCaptureFixture
) -> None:
    """It is made again if its header, the first hundred octets, says that it is ours."""
    now, path = {"monotonic": 50.0}, tmp_path / "p"
    before = BookInFile(path, "g", clock(now))
    ask(before, A, 30.0)
    before.close()
    intact = path.read_bytes()
    damaged = intact[:kept] + b"\xff" * (len(intact) - kept)
    path.write_bytes(damaged)
    book = BookInFile(path, "g", clock(now))
    if kept < 100:
        with pytest.raises(BookError, match="not a database"):
            ask(book, A, 30.0)
        assert path.read_bytes() == damaged
        return
    wait, moment = ask(book, A, 30.0)
    assert wait == 30.0
    now["monotonic"] += 30
    assert ask(book, A, 30.0, 0.0, moment) == GO
    assert ask(BookInFile(path, "g", clock(now)), B, 30.0)[0] == 30.0
    assert caplog.text.count("is damaged") == 1


@pytest.mark.parametrize("lose", [Path.unlink, damage])
def test_a_file_that_is_lost_in_the_middle_of_a_question(
    tmp_path: Path, lose: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    now, path = {"monotonic": 50.0}, tmp_path / "p"
    book = BookInFile(path, "g", clock(now))
    ask(book, A, 2.0)
    connected = BookInFile._connected

    def lost_then(of: BookInFile) -> sqlite3.Connection:
        connection = connected(of)
        monkeypatch.undo()
        lose(path)
        return connection

    monkeypatch.setattr(BookInFile, "_connected", lost_then)
    now["monotonic"] += 1
    assert ask(book, B, 2.0)[0] == 2.0


def test_a_file_that_was_emptied_and_is_filled_again_by_another(tmp_path: Path) -> None:
    now, path = {"monotonic": 50.0}, tmp_path / "p"
    book = BookInFile(path, "g", clock(now))
    book.change(HOST, "left", A, 0.0, 30.0)
    os.truncate(path, 0)
    now["monotonic"] += 1
    fresh = BookInFile(path, "g", clock(now))
    wait, _ = ask(fresh, B, 30.0)
    assert wait == 30.0
    assert ask(book, C, 30.0)[0] >= 30.0


def test_a_file_that_is_lost_again_and_again(tmp_path: Path) -> None:
    now, path = {"monotonic": 50.0}, tmp_path / "p"
    book = BookInFile(path, "g", clock(now))
    ask(book, A, 2.0)
    for _ in range(3):
        path.unlink()
        now["monotonic"] += 1
        assert ask(book, B, 2.0)[0] == 2.0
        damage(path)
        now["monotonic"] += 1
        assert ask(book, B, 2.0)[0] == 2.0


@pytest.mark.parametrize("content", [b"not a database, but a text of some length" * 9, None])
def test_a_file_that_is_not_ours_is_not_touched(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "p"
    if content is None:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE theirs (x)")
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    book = BookInFile(path, "g")
    for _ in range(2):
        with pytest.raises(BookError, match=r"p: .*(not a shared-pace file|not a database)"):
            ask(book, A, 30.0)
    assert path.read_bytes() == before


def test_a_file_is_left_alone_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p"
    path.mkdir()
    book = BookInFile(path, "g")
    with pytest.raises(BookError, match="p: it is not a regular file"):
        ask(book, A, 30.0)
    path.rmdir()
    with pytest.raises(BookError):
        ask(book, A, 30.0)
    monkeypatch.setattr(book_in_file, "LEFT_ALONE", 0.0)
    book._alone_until = 0.0
    assert ask(book, A, 30.0) == GO


def test_another_process_that_holds_the_file_is_an_error_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book_in_file, "BUSY_SECONDS", 0.01)
    monkeypatch.setattr(book_in_file, "LEFT_ALONE", 0.0)
    book = BookInFile(tmp_path / "p", "g")
    ask(book, A, 30.0)
    with sqlite3.connect(tmp_path / "p", isolation_level=None) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(BookError, match="locked"):
            ask(BookInFile(tmp_path / "p", "g"), B, 30.0)
        holder.execute("ROLLBACK")
    assert ask(book, B, 30.0)[0] > 29.0


@pytest.mark.parametrize(
    "state",
    ["", "nonsense", "[]", "[1, 2, 3]", '[{"a": 1}, [], 0]', "[{}, [[]], 0]", "[{}, {}, null]"],
)
def test_a_state_that_cannot_be_read_is_none(tmp_path: Path, state: str) -> None:
    book = BookInFile(tmp_path / "p", "g")
    ask(book, A, 30.0)
    with sqlite3.connect(tmp_path / "p") as other:
        other.execute("UPDATE book SET state = ?", (state,))
    assert ask(book, B, 30.0) == GO


def test_hosts_that_nobody_asks_any_more_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book_in_file, "CALLS_BETWEEN_CLEANUPS", 2)
    now = {"monotonic": 50.0}
    book = BookInFile(tmp_path / "p", "g", clock(now))
    for number in range(10):
        ask(book, A, 1.0, host=f"{number}.example")
        now["monotonic"] += 100
    with sqlite3.connect(tmp_path / "p") as other:
        assert other.execute("SELECT count(*) FROM book").fetchone() == (2,)
    book.change("9.example", "leave_alone", 0.0)
    with sqlite3.connect(tmp_path / "p") as other:
        assert other.execute("SELECT host FROM book").fetchall() == []


def test_a_change_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    book = BookInFile(tmp_path / "p", "g")
    ask(book, A, 30.0)
    with pytest.raises(TypeError):
        book.change(HOST, "ask", B, "nonsense", 0.0, None)
    assert ask(BookInFile(tmp_path / "p", "g"), C, 30.0)[0] > 29.0


# The setting


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("sqlite:a b.db", book_in_file.BookInFile),
        ("redis://127.0.0.1:6379/0", BookOnServer),
        ("rediss://127.0.0.1:6379/0", BookOnServer),
        ("unix:///run/redis.sock", BookOnServer),
    ],
)
def test_what_the_setting_may_be(value: str, kind: type) -> None:
    assert shared_pace.read(value) == value
    assert type(open_book(value, "foobot")) is kind


@pytest.mark.parametrize("value", ["process", "off", "OFF"])
def test_it_may_be_a_word(value: str) -> None:
    assert shared_pace.read(value) == value.lower()


@pytest.mark.parametrize("value", [None, "", 1, "memory", "sqlite", "sqlite:", "file.db", "redis"])
def test_what_the_setting_may_not_be(value: object) -> None:
    with pytest.raises(ValueError, match="sqlite:"):
        shared_pace.read(value)


def test_an_error_says_what_is_accepted() -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        shared_pace.read("memory")
    assert str(caught.value) == (
        "expected 'process', 'off', 'sqlite:PATH' (sqlite:pace.db, sqlite:/var/lib/pace.db) or the "
        "URL of a Redis server (redis://127.0.0.1:6379/0)"
    )


def test_of_very_many_hosts_those_of_long_ago_are_no_longer_known(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book_on_server, "MOST", 2)
    book = BookOnServer(redis.url, "many")
    for number in range(5):
        ask(book, A, 30.0, host=f"{number}.example")
    assert len(book._known) <= 2
    book.close()
