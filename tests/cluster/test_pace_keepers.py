"""What processes keep a pace in: a file of one machine, or a Redis server."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_robots_plus.cluster.pace import in_file, machine_clock, on_server
from scrapy_robots_plus.cluster.pace.in_file import PaceInFile
from scrapy_robots_plus.cluster.pace.keeper import PaceError, PaceKeeper
from scrapy_robots_plus.cluster.pace.machine_clock import THIS_MACHINE, MachineClock
from scrapy_robots_plus.cluster.pace.on_server import PaceOnServer
from scrapy_robots_plus.cluster.pace.opening import check_pace, open_keeper
from scrapy_robots_plus.cluster.pace.saved import restored, saved
from scrapy_robots_plus.cluster.pace.turns import Turns
from tests.redis_server import RedisServer

from .simulation import Worker, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

A, B, C = "a/0", "b/0", "c/0"
HOST = "site.example"
NOW = 1000.0


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


@pytest.fixture(params=["file", "server"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., PaceKeeper]]:
    """Opens the same pace, once for each process that shares it."""
    keepers: list[PaceKeeper] = []
    if request.param == "file":
        value = f"sqlite:{tmp_path / 'a' / 'folder' / 'pace.db'}"
    else:
        value = request.getfixturevalue("redis").url

    def open_one(group: str = tmp_path.name) -> PaceKeeper:
        keeper = open_keeper(value, group)
        assert keeper is not None
        keepers.append(keeper)
        return keeper

    yield open_one
    for each in keepers:
        each.close()


def test_two_that_keep_one_pace(opened: Callable[..., PaceKeeper]) -> None:
    one, other = opened(), opened()
    assert one.ask(HOST, A, 30.0, 5.0) == 0.0
    assert 29.0 < other.ask(HOST, B, 30.0, 5.0) <= 30.0
    one.left(HOST, A, 20.0, 30.0)
    assert 9.0 < other.ask(HOST, B, 30.0, 5.0) <= 10.0
    one.left(HOST, A, 30.0, 30.0)
    assert other.ask(HOST, B, 30.0, 5.0) == 0.0


def test_hosts_and_groups_have_paces_of_their_own(opened: Callable[..., PaceKeeper]) -> None:
    one, other = opened(), opened("another")
    assert one.ask(HOST, A, 30.0, 0.0) == 0.0
    assert one.ask("other.example", B, 30.0, 0.0) == 0.0
    assert other.ask(HOST, B, 30.0, 0.0) == 0.0


def test_a_turn_is_reserved_and_given_back(opened: Callable[..., PaceKeeper]) -> None:
    one, other = opened(), opened()
    assert one.ask(HOST, A, 30.0, None) == 0.0
    assert other.ask(HOST, B, 30.0, 0.0) > 0.0
    one.unused(HOST, A, inf)
    assert other.ask(HOST, B, 30.0, 0.0) == 0.0
    assert one.ask(HOST, A, 30.0, 0.0) > 29.0
    other.unused(HOST, B, 40.0)
    assert one.ask(HOST, A, 30.0, 0.0) == 0.0


def test_a_host_is_left_alone_by_all(opened: Callable[..., PaceKeeper]) -> None:
    one, other = opened(), opened()
    one.leave_alone(HOST, 30.0)
    assert 29.0 < other.ask(HOST, B, 1.0, 0.0) <= 30.0


# The rules are the same in Lua

_TICKETS = st.sampled_from(["a/0", "a/1", "b/0", "c/0", "d/e/0", "odd"])
_DELAYS = st.sampled_from([0.1, 1.0, 2.5, 90.0])
_AGO = st.sampled_from([-15.0, -0.25, 0.0, 0.3, 1.7, 100.0])
_CALLS = st.one_of(
    st.tuples(
        st.just("ask"), _TICKETS, _DELAYS, st.one_of(st.none(), st.sampled_from([0.0, 3.0, 15.0]))
    ),
    st.tuples(st.just("left"), _TICKETS, _AGO, _DELAYS),
    st.tuples(st.just("unused"), _TICKETS, st.one_of(st.just(inf), _AGO)),
    st.tuples(st.just("leave_alone"), st.sampled_from([0.0, 0.5, 4.0])),
)
_STEPS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.001, 0.1, 0.25, 0.4, 1.0, 6.0, 61.0]), _CALLS), max_size=30
)


class AtATime(PaceOnServer):
    """Tells the server the time."""

    now = NOW

    def _now(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def told(redis: RedisServer) -> Iterator[AtATime]:
    keeper = AtATime(redis.url, "rules")
    yield keeper
    keeper.close()


@given(_STEPS)
@settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_the_server_goes_by_the_same_rules(
    told: AtATime, redis: RedisServer, steps: list[tuple[float, tuple[Any, ...]]]
) -> None:
    turns, now = Turns(), NOW
    redis.emptied()
    told._known.clear()
    for seconds, (name, *arguments) in steps:
        now += seconds
        if now >= turns.useful_until:
            turns = Turns()  # the server forgets it by its own clock
            redis.emptied()
        told.now = now
        expected = getattr(turns, name)(*arguments, now)
        assert getattr(told, name)(HOST, *arguments) == expected, (name, arguments)


class Both(Turns):
    """The rules, which the server has to keep as well."""

    def __init__(self, told: AtATime) -> None:
        super().__init__()
        self._told = told
        told._known.clear()

    def ask(self, ticket: str, delay: float, patience: float | None, now: float) -> float:
        self._told.now = now
        wait = super().ask(ticket, delay, patience, now)
        assert self._told.ask(HOST, ticket, delay, patience) == wait
        return wait

    def left(self, ticket: str, ago: float, delay: float, now: float) -> None:
        super().left(ticket, ago, delay, now)
        self._told.now = now
        self._told.left(HOST, ticket, ago, delay)

    def unused(self, ticket: str, ago: float, now: float) -> None:
        super().unused(ticket, ago, now)
        self._told.now = now
        self._told.unused(HOST, ticket, ago)


@pytest.mark.parametrize("seed", range(4))
def test_the_server_goes_by_the_same_rules_in_a_crowd(
    redis: RedisServer, told: AtATime, seed: int
) -> None:
    redis.emptied()
    world = World(Both(told), Random(seed))
    usual = {"requests": 8, "lag": 0.01, "connecting": 0.05, "answering": 0.1}
    changes: list[dict[str, float]] = [
        {"lag": 0.9}, {"lag": 0.6}, {"drops": 0.4}, {"dies_after": 2}, {"delay": 4.0}, {},
    ]  # fmt: skip
    for number, change in enumerate(changes):
        each = Worker(world, f"w{number}", **{**usual, **change})  # type: ignore[arg-type]
        world.after(world.random.uniform(0, 0.1), each.begin)
    world.run()


def test_the_server_waits_for_who_is_late_as_long_and_as_often(
    redis: RedisServer, told: AtATime
) -> None:
    redis.emptied()
    turns, now = Both(told), NOW
    turns.left(C, 0.0, 1.0, now)
    assert turns.ask(A, 1.0, 0.0, now) == 1.0
    now += 1.25
    assert turns.ask(B, 1.0, 0.0, now) > 0.0  # a may come in the last moment
    for _ in range(4):
        now += 100
        assert turns.ask(B, 1.0, 0.0, now) == 0.0
        assert turns.ask(C, 1.0, None, now + 0.5) > 0.0  # behind a, as long as that is waited for
        turns.unused(C, inf, now + 0.5)
    assert turns.waiting == []


@given(_STEPS)
@settings(deadline=None, max_examples=50)
def test_what_is_saved_goes_on_as_if_it_had_not_been(
    steps: list[tuple[float, tuple[Any, ...]]],
) -> None:
    turns, now = Turns(), NOW
    other = saved(Turns())
    for seconds, (name, *arguments) in steps:
        now += seconds
        expected = getattr(turns, name)(*arguments, now)
        read = restored(other, seconds)
        assert getattr(read, name)(*arguments, 0.0) == (
            None if expected is None else pytest.approx(expected, abs=1e-6)
        )
        other = saved(read)


def test_a_key_says_whose_it_is_and_expires(redis: RedisServer) -> None:
    keeper = PaceOnServer(redis.url, "foobot")
    keeper.ask(HOST, A, 90.0, 10.0)
    with redis.client() as client:
        left = client.pttl("{robots:pace:foobot:site.example}")
        assert 95_000 < left <= 100_000
        keeper.left(HOST, A, 200.0, 90.0)
        assert client.keys("*foobot*") == []
    keeper.close()


def test_a_server_that_was_restarted_is_asked_again(redis: RedisServer) -> None:
    keeper = PaceOnServer(redis.url, "again")
    assert keeper.ask(HOST, A, 30.0, 0.0) == 0.0
    with redis.client() as client:
        client.script_flush()
    assert keeper.ask(HOST, B, 30.0, 0.0) > 29.0
    keeper.close()


def test_a_server_that_was_emptied_leaves_hosts_alone_once(redis: RedisServer) -> None:
    keeper, other = (PaceOnServer(redis.url, "emptied") for _ in range(2))
    assert keeper.ask(HOST, A, 30.0, 0.0) == 0.0
    redis.emptied()
    assert keeper.ask(HOST, A, 30.0, 0.0) == pytest.approx(30.0, abs=1)
    assert keeper.ask("another.example", A, 30.0, 0.0) == 0.0
    assert other.ask(HOST, B, 30.0, 0.0) > 29.0
    keeper.close()
    other.close()


def test_a_server_that_comes_back_with_an_older_state_leaves_hosts_alone_once() -> None:
    with RedisServer() as server:
        keeper, other = (PaceOnServer(server.url, "older") for _ in range(2))
        keeper.left(HOST, A, 50.0, 40.0)
        with server.client() as client:
            client.save()
        assert keeper.ask(HOST, A, 40.0, 0.0) == 0.0
        server.kill()
        server.start()
        other.left(HOST, C, 300.0, 40.0)
        assert other.ask(HOST, B, 40.0, 0.0) == pytest.approx(40.0, abs=1)
        keeper.close()
        other.close()


def test_a_server_that_is_away_is_an_error_without_its_password() -> None:
    keeper = PaceOnServer("redis://:secret@127.0.0.1:1/0", "foobot")
    with pytest.raises(PaceError) as caught:
        keeper.ask(HOST, A, 1.0, 0.0)
    assert str(caught.value).startswith("redis://***@127.0.0.1:1/0: ")
    assert "secret" not in str(caught.value)


def test_all_that_is_known_of_a_host_is_saved() -> None:
    turns = Turns()
    turns.left(C, 0.0, 4.0, 0.0)
    turns.ask(A, 4.0, 2.0, 0.0)
    turns.ask(B, 4.0, None, 0.0)
    turns.leave_alone(9.0, 0.0)
    turns.waiting[0].passed = 2
    read = restored(saved(turns), 0.0)
    assert [read.departures, read.waiting] == [turns.departures, turns.waiting]
    assert read.paused_until == 9.0


# Files


def test_any_thread_may_ask(opened: Callable[..., PaceKeeper]) -> None:
    keeper = opened()
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(keeper.ask, HOST, A, 30.0, 0.0).result() == 0.0
        assert 29.0 < keeper.ask(HOST, B, 30.0, 0.0) <= 30.0
        thread.submit(keeper.close).result()


def test_what_is_told_counts_from_now(tmp_path: Path) -> None:
    keeper = PaceInFile(tmp_path / "p", "g", boot("x", {"monotonic": 50.0, "wall": 1e9}))
    keeper.left(HOST, A, 4.0, 10.0)
    assert keeper.ask(HOST, B, 10.0, 0.0) == 6.0
    keeper.ask(HOST, C, 10.0, None)
    keeper.unused(HOST, A, 8.0)
    assert keeper.ask(HOST, B, 10.0, 0.0) == 2.0
    keeper.leave_alone(HOST, 3.0)
    assert keeper.ask(HOST, B, 10.0, 0.0) == 3.0


def boot(name: str, now: dict[str, float]) -> MachineClock:
    return MachineClock(name, lambda: now["monotonic"], lambda: now["wall"])


@pytest.mark.parametrize("step", [-600.0, 600.0, -1e9])
def test_the_clock_of_the_machine_may_be_set(tmp_path: Path, step: float) -> None:
    now = {"monotonic": 50.0, "wall": 1e9}
    one = PaceInFile(tmp_path / "p", "g", boot("x", now))
    other = PaceInFile(tmp_path / "p", "g", boot("x", now))
    one.ask(HOST, A, 10.0, 0.0)
    now["wall"] += step
    now["monotonic"] += 4
    assert other.ask(HOST, B, 10.0, 0.0) == 6.0
    now["monotonic"] += 6
    assert other.ask(HOST, B, 10.0, 0.0) == 0.0


@pytest.mark.parametrize("later", ["", "y"])
def test_after_a_new_start_of_the_machine_the_wall_clock_counts(tmp_path: Path, later: str) -> None:
    before, after = {"monotonic": 5e6, "wall": 1e9}, {"monotonic": 3.0, "wall": 1e9 + 4}
    PaceInFile(tmp_path / "p", "g", boot("x", before)).ask(HOST, A, 10.0, 0.0)
    assert PaceInFile(tmp_path / "p", "g", boot(later, after)).ask(HOST, B, 10.0, 0.0) == 6.0


def test_a_time_in_the_future_is_not_believed(tmp_path: Path) -> None:
    """Without it the next request would wait until the clock is where it was."""
    before, after = {"monotonic": 0.0, "wall": 1e9}, {"monotonic": 0.0, "wall": 1e9 - 600}
    PaceInFile(tmp_path / "p", "g", boot("", before)).ask(HOST, A, 10.0, 0.0)
    keeper = PaceInFile(tmp_path / "p", "g", boot("", after))
    assert keeper.ask(HOST, B, 10.0, 0.0) == 10.0
    after["wall"] += 10
    assert keeper.ask(HOST, B, 10.0, 0.0) == 0.0


@pytest.mark.skipif(os.name != "posix", reason="Linux says which start of the machine it is")
def test_the_clock_of_this_machine_goes_on() -> None:
    first = THIS_MACHINE.now()
    boot_id = Path("/proc/sys/kernel/random/boot_id")
    assert first.boot == (boot_id.read_text().strip() if boot_id.exists() else "")
    assert 0.0 <= THIS_MACHINE.now().since(*first) < 10.0


@pytest.mark.parametrize("content", [None, b"\xff"])
def test_where_the_system_does_not_say_which_start_it_is_the_wall_clock_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "boot_id").write_bytes(content)
    monkeypatch.setattr(machine_clock, "_BOOT_ID", tmp_path / "boot_id")
    now = {"monotonic": 50.0, "wall": 1e9}
    clock = MachineClock(None, lambda: now["monotonic"], lambda: now["wall"])
    PaceInFile(tmp_path / "p", "g", clock).ask(HOST, A, 10.0, 0.0)
    now["wall"] += 4
    assert PaceInFile(tmp_path / "p", "g", clock).ask(HOST, B, 10.0, 0.0) == 6.0


def damage(path: Path) -> None:
    size = path.stat().st_size
    path.write_bytes(b"\xff" * size)


@pytest.mark.parametrize("lose", [Path.unlink, damage])
def test_a_file_that_is_lost_is_made_again_and_hosts_are_left_alone_once(
    tmp_path: Path, lose: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    now, path = {"monotonic": 50.0, "wall": 1e9}, tmp_path / "p"
    keeper, other = (PaceInFile(path, "g", boot("x", now)) for _ in range(2))
    for each in (keeper, other):
        each.left(HOST, A, 100.0, 30.0)
    lose(path)
    now["monotonic"] += 1
    assert keeper.ask(HOST, A, 30.0, 0.0) == 30.0
    now["monotonic"] += 1
    assert other.ask("another.example", B, 20.0, 0.0) == 20.0
    now["monotonic"] += 9
    fresh = PaceInFile(path, "g", boot("x", now))
    assert fresh.ask("a.third.example", C, 20.0, 0.0) == 11.0
    assert keeper.ask(HOST, A, 30.0, 0.0) == 21.0
    now["monotonic"] += 30
    assert keeper.ask(HOST, A, 30.0, 0.0) == 0.0
    assert caplog.text.count("each host is left alone for its delay once") == 2
    assert caplog.text.count("is damaged") == (lose is damage)


def test_a_file_that_is_lost_again_and_again(tmp_path: Path) -> None:
    now, path = {"monotonic": 50.0, "wall": 1e9}, tmp_path / "p"
    keeper = PaceInFile(path, "g", boot("x", now))
    keeper.ask(HOST, A, 2.0, 0.0)
    for _ in range(3):
        path.unlink()
        now["monotonic"] += 1
        assert keeper.ask(HOST, B, 2.0, 0.0) == 2.0
        damage(path)
        now["monotonic"] += 1
        assert keeper.ask(HOST, B, 2.0, 0.0) == 2.0


@pytest.mark.parametrize("content", [b"not a database, but a text of some length" * 9, None])
def test_a_file_that_is_not_ours_is_not_touched(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "p"
    if content is None:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE theirs (x)")
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    keeper = PaceInFile(path, "g")
    for _ in range(2):
        with pytest.raises(PaceError, match=r"p: .*not a (shared pace|database)"):
            keeper.ask(HOST, A, 30.0, 0.0)
    assert path.read_bytes() == before


def test_a_file_is_left_alone_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p"
    path.mkdir()
    keeper = PaceInFile(path, "g")
    with pytest.raises(PaceError):
        keeper.ask(HOST, A, 30.0, 0.0)
    path.rmdir()
    with pytest.raises(PaceError):
        keeper.ask(HOST, A, 30.0, 0.0)
    monkeypatch.setattr(in_file, "LEFT_ALONE", 0.0)
    keeper._alone_until = 0.0
    assert keeper.ask(HOST, A, 30.0, 0.0) == 0.0


def test_another_process_that_holds_the_file_is_an_error_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_file, "BUSY_SECONDS", 0.01)
    monkeypatch.setattr(in_file, "LEFT_ALONE", 0.0)
    keeper = PaceInFile(tmp_path / "p", "g")
    keeper.ask(HOST, A, 30.0, 0.0)
    with sqlite3.connect(tmp_path / "p", isolation_level=None) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(PaceError, match="locked"):
            PaceInFile(tmp_path / "p", "g").ask(HOST, B, 30.0, 0.0)
        holder.execute("ROLLBACK")
    assert keeper.ask(HOST, B, 30.0, 0.0) > 29.0


@pytest.mark.parametrize(
    "state",
    ["", "nonsense", "[]", "[1, 2, 3]", '[{"a": 1}, [], 0]', "[{}, [[]], 0]", "[{}, {}, null]"],
)
def test_a_state_that_cannot_be_read_is_none(tmp_path: Path, state: str) -> None:
    keeper = PaceInFile(tmp_path / "p", "g")
    keeper.ask(HOST, A, 30.0, 0.0)
    with sqlite3.connect(tmp_path / "p") as other:
        other.execute("UPDATE turns SET state = ?", (state,))
    assert keeper.ask(HOST, B, 30.0, 0.0) == 0.0


def test_hosts_that_nobody_asks_any_more_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_file, "CALLS_BETWEEN_CLEANUPS", 2)
    now = {"monotonic": 50.0, "wall": 1e9}
    keeper = PaceInFile(tmp_path / "p", "g", boot("x", now))
    for number in range(10):
        keeper.ask(f"{number}.example", A, 1.0, 0.0)
        now["wall"] += 100
        now["monotonic"] += 100
    with sqlite3.connect(tmp_path / "p") as other:
        assert other.execute("SELECT count(*) FROM turns").fetchone() == (2,)
    keeper.left("9.example", A, 1e6, 1.0)
    with sqlite3.connect(tmp_path / "p") as other:
        assert other.execute("SELECT host FROM turns").fetchall() == []


def test_a_change_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    keeper = PaceInFile(tmp_path / "p", "g")
    keeper.ask(HOST, A, 30.0, 0.0)
    with pytest.raises(ZeroDivisionError):
        keeper._changed(HOST, lambda _: 1 // 0, 0.0)
    assert PaceInFile(tmp_path / "p", "g").ask(HOST, C, 30.0, 0.0) > 29.0


# The setting


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("process", type(None)),
        ("off", type(None)),
        ("sqlite:a b.db", PaceInFile),
        ("redis://127.0.0.1:6379/0", PaceOnServer),
        ("rediss://127.0.0.1:6379/0", PaceOnServer),
        ("unix:///run/redis.sock", PaceOnServer),
    ],
)
def test_what_the_setting_may_be(value: str, kind: type) -> None:
    assert check_pace(value) == value
    assert type(open_keeper(value, "foobot")) is kind


@pytest.mark.parametrize("value", [None, "", 1, "memory", "sqlite", "sqlite:", "file.db", "redis"])
def test_what_the_setting_may_not_be(value: object) -> None:
    with pytest.raises(ValueError, match="sqlite:"):
        check_pace(value)


def test_an_error_says_what_is_accepted() -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        check_pace("memory")
    assert str(caught.value) == (
        "expected 'process', 'off', 'sqlite:PATH' (sqlite:pace.db, sqlite:/var/lib/pace.db) or the "
        "URL of a Redis server (redis://127.0.0.1:6379/0)"
    )


def test_of_very_many_hosts_those_of_long_ago_are_no_longer_known(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_server, "LEAST", 2)
    monkeypatch.setattr(on_server, "REMEMBERED", 0.0)
    keeper = PaceOnServer(redis.url, "many")
    for number in range(5):
        keeper.ask(f"{number}.example", A, 30.0, 5.0)
    assert len(keeper._known) <= 2
    keeper.close()
