"""A store on a real Redis server, which others write to as well."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_robots_plus.protocol.http_caching import CLOCK_SKEW
from scrapy_robots_plus.storage import (
    Standing,
    StoreError,
    open_store,
)
from scrapy_robots_plus.storage import record as codec
from scrapy_robots_plus.storage.redis_store import RedisStore, key_of
from scrapy_robots_plus.storage.store import SECONDS_OF_USE
from tests.redis_proxy import RedisProxy
from tests.redis_server import RedisServer

from .conformance import StoreConformance
from .records import START, never_read, origin, rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy_robots_plus.storage import Store


@pytest.fixture(scope="module")
def one_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def server(one_server: RedisServer) -> RedisServer:
    return one_server.emptied()


@pytest.fixture
def own_server() -> Iterator[RedisServer]:
    """For what is done to a server alone."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def store(server: RedisServer) -> Iterator[RedisStore]:
    with RedisStore(server.url) as store:
        yield store


@pytest.fixture
def client(server: RedisServer) -> Iterator[Any]:
    with server.client() as client:
        yield client


class TestRedisStore(StoreConformance):
    @pytest.fixture(autouse=True)
    def _server(self, server: RedisServer) -> None:
        self.url = server.url

    def open(self, folder: Path, max_records: int) -> Store:
        return RedisStore(self.url)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisServer]:
    with RedisServer(cluster=True) as server:
        yield server


class TestInACluster(StoreConformance):
    """All keys of a command or a script must be on one node."""

    @pytest.fixture(autouse=True)
    def _cluster(self, cluster: RedisServer) -> None:
        self.url = cluster.emptied().url

    def open(self, folder: Path, max_records: int) -> Store:
        return RedisStore(self.url)


KEY = key_of(origin(1))
GOOD = codec.encode(rules(1))


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def standing_like(value: int, *times: float) -> bytes:
    import struct

    return b"\x02" + bytes(16) + bytes([value]) + struct.pack(">dd", *times) + bytes(40)


STRANGE = {
    "text": b"hello",
    "zeros": bytes(100),
    "octets": bytes(range(256)) * 10,
    "cut": GOOD[:-1],
    "short": GOOD[:20],
    "longer": GOOD + b"x",
    "flipped": flipped(GOOD, 50),
    "flipped time": flipped(GOOD, 25),
    "later version": b"\x03" + GOOD[1:],
    "of another origin": codec.encode(rules(2)),
    "too large": codec.encode(rules(1, lines=90_000), 10_000_000),
    "not a number": standing_like(1, float("nan"), float("nan")),
    "for ever": standing_like(1, float("inf"), 0),
    "neither yes nor no": standing_like(255, 0, 0),
}


@pytest.mark.parametrize("data", STRANGE.values(), ids=STRANGE)
def test_what_is_no_record_is_ignored_named_and_overwritten(
    store: RedisStore, client: Any, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    client.set(KEY, data)
    assert store.get(origin(1)) is None
    assert "the record of https://host1.example is ignored: " in caplog.text
    assert caplog.records[-1].name == "scrapy_robots_plus.storage.store"
    (found,) = store.scan()
    assert (found.origin, found.record) == ("https://host1.example", None)
    assert found.fault
    assert len(store) == 1
    assert store.put(rules(1, time.time())) is True
    assert store.get(origin(1)) is not None
    assert client.ttl(KEY) > 0


@pytest.mark.parametrize("kind", ["list", "hash", "set", "zset", "stream"])
def test_a_value_of_another_type_is_ignored_and_overwritten(
    store: RedisStore, client: Any, kind: str
) -> None:
    {
        "list": lambda: client.rpush(KEY, "a"),
        "hash": lambda: client.hset(KEY, "a", "b"),
        "set": lambda: client.sadd(KEY, "a"),
        "zset": lambda: client.zadd(KEY, {"a": 1}),
        "stream": lambda: client.xadd(KEY, {"a": 1}),
    }[kind]()
    assert store.get(origin(1)) is None
    assert list(store.scan()) == []
    assert store.put(rules(1)) is True
    assert store.get(origin(1)) == rules(1)


def test_of_something_huge_only_a_little_is_read(server: RedisServer, client: Any) -> None:
    client.setrange(KEY, 30_000_000, b"x")
    with RedisStore(server.url, max_body=1_000) as store:
        before = server.usage()
        assert store.get(origin(1)) is None
        assert [each.fault for each in store.scan()] == ["too large"]
        assert (server.usage() - before).sent < 400_000
        assert store.put(rules(1)) is True
        assert store.get(origin(1)) == rules(1)


def test_a_record_longer_than_this_crawl_reads_is_not_handed_over(server: RedisServer) -> None:
    with RedisStore(server.url, max_body=1_000_000) as store:
        store.put(rules(1, lines=20_000))
        assert store.get(origin(1)) == rules(1, lines=20_000)
    with RedisStore(server.url) as store:
        assert store.get(origin(1)) is None


def test_strange_keys_are_no_records(store: RedisStore, client: Any) -> None:
    for key in (b"{robots:\xff\xfe}:record", b"{robots:{}}:record", b"{robots:\n}:record"):
        client.set(key, GOOD)
    client.set("{robots:}:record", GOOD)  # of nobody
    client.set("{robots:https://host1.example}:lease", "x")
    client.set("robots:https://host1.example:record", GOOD)
    store.put(rules(1))
    found = list(store.scan())
    assert [each.record for each in found if each.record] == [rules(1)]
    assert len(found) == 5
    faults = {each.fault for each in found if not each.record}
    assert faults == {"it is of another origin than its key"}


NOW = time.time()
TIMES = st.sampled_from([0.0, START, NOW - 50, NOW - 0.5, NOW, NOW + 30, NOW + 86_400])


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(held=st.tuples(st.booleans(), TIMES, TIMES), new=st.tuples(st.booleans(), TIMES, TIMES))
def test_the_server_decides_which_record_is_newer_as_we_do(
    store: RedisStore, held: tuple[bool, float, float], new: tuple[bool, float, float]
) -> None:
    """But for records from the future, which any other overwrites."""
    store.delete(origin(1))
    first, second = (_dated(*each) for each in (held, new))
    assert store.put(first) is True
    is_older = Standing.of(second) < Standing.of(first)
    is_of_the_future = Standing.of(first).touched_at > NOW + 3_600
    assert store.put(second) is (not is_older or is_of_the_future)


def _dated(readable: bool, fetched_at: float, failed_at: float) -> Any:
    made = rules(1) if readable else never_read(1)
    return made._replace(fetched_at=fetched_at, failed_at=failed_at)


@pytest.mark.parametrize("later", [True, False])
def test_of_two_that_are_stored_at_the_same_time_the_newer_stays(
    server: RedisServer, store: RedisStore, monkeypatch: pytest.MonkeyPatch, later: bool
) -> None:
    other, look, looks = RedisStore(server.url), store.server.look, []

    def look_before_the_other_stores(*arguments: Any) -> Any:
        seen = look(*arguments)
        looks.append(seen)
        if len(looks) == 1:
            assert other.put(rules(1, START + later)) is True
        return seen

    monkeypatch.setattr(store.server, "look", look_before_the_other_stores)
    assert store.put(rules(1, START + 1 - later)) is not later
    assert len(looks) == 1  # the server says what it has when it refuses
    assert other.get(origin(1)) == rules(1, START + 1)
    other.close()


def test_a_record_from_the_future_keeps_no_correct_one_out(store: RedisStore) -> None:
    now = time.time()
    store.put(rules(1, now + CLOCK_SKEW + 60))
    assert store.put(rules(1, now)) is True
    store.put(rules(2, now + CLOCK_SKEW / 2))
    assert store.put(rules(2, now)) is False


def test_records_expire_when_they_are_of_no_use(server: RedisServer, client: Any) -> None:
    now = time.time()
    records = {
        1: rules(1, now - 86_400),
        2: rules(2, now - 400, failure=503, failures=1, failed_at=now - 100),
        3: never_read(3, now, retry_in=120),
        4: rules(4, START),  # by a clock that is far behind
        5: rules(5, now + 1e8),  # and far ahead
    }
    with open_store(server.url, 100, seconds_of_use=100_000) as store:
        for record in records.values():
            store.put(record)
    left = {number: client.ttl(key_of(origin(number))) for number in records}
    expected = {1: 13_600, 2: 99_900, 3: 3_720, 4: 60, 5: 100_000}
    assert left == pytest.approx(expected, abs=30)
    assert SECONDS_OF_USE == 31 * 86_400


def test_all_that_is_there_can_be_deleted_be_it_a_record_or_not(
    store: RedisStore, client: Any
) -> None:
    client.set(KEY, "x")
    client.set(key_of(origin(2)), b"\x01" + GOOD[1:])
    client.set(key_of(origin(3)), GOOD)
    assert store.purge(START + 1e9) == 0
    assert len(store) == store.delete_all() == 3
    assert len(store) == 0


def test_names_are_sorted(store: RedisStore) -> None:
    numbers = range(100)
    for number in numbers:
        store.put(rules(number))
    assert [each.origin for each in store.scan()] == sorted(str(origin(n)) for n in numbers)
    assert len(store) == 100


class TestLosses:
    """What is found after one may be older than what was stored."""

    def test_there_are_none_as_long_as_nothing_happens(self, server: RedisServer) -> None:
        with RedisStore(server.url) as store, RedisStore(server.url) as other:
            for number in range(3):
                store.put(rules(number))
                other.get(origin(number))
                store.get(origin(number))
            assert (store.losses, other.losses) == (0, 0)

    def test_a_server_that_was_restarted(self, own_server: RedisServer) -> None:
        with RedisStore(own_server.url) as store:
            store.get(origin(1))
            own_server.stop()
            own_server.start()
            store.get(origin(1))
            assert store.losses == 1

    def test_another_server_at_the_same_address(self, own_server: RedisServer) -> None:
        with RedisStore(own_server.url) as store:
            store.put(rules(1))
            own_server.fail_over_to_an_empty_one()
            assert store.get(origin(1)) is None
            assert store.losses >= 1

    def test_a_connection_that_was_cut_is_none(self, server: RedisServer) -> None:
        with RedisProxy(server) as proxy, RedisStore(proxy.url) as store:
            store.put(rules(1))
            store.get(origin(1))
            proxy.cut()
            assert store.get(origin(1)) == rules(1)
            assert store.losses == 0

    def test_a_user_who_may_not_ask_which_process_it_is(self) -> None:
        rights = "~{robots* +@read +@write +@scripting +time +ping"
        with (
            RedisServer(user="crawler", password="5ecret", rights=rights) as server,
            RedisStore(server.url) as store,
        ):
            store.put(rules(1))
            assert store.get(origin(1)) == rules(1)
            assert len(store) == 1
            store.delete(origin(1))
            assert store.delete_all() == 0


class TestAServerThatDoesNotTakeWrites:
    @pytest.mark.parametrize("why", ["memory", "replica"])
    def test_is_read_all_the_same(self, own_server: RedisServer, why: str) -> None:
        with RedisStore(own_server.url) as store:
            store.put(rules(1))
            own_server.run_out_of_memory() if why == "memory" else own_server.follow()
            for _ in range(3):
                with pytest.raises(StoreError, match=r"OOM|maxmemory|READONLY|read only"):
                    store.put(rules(2))
                assert store.get(origin(1)) == rules(1)
            own_server.limit_memory(0) if why == "memory" else own_server.lead()
            assert store.put(rules(2)) is True
            assert store.losses == 0


def test_a_script_that_the_server_forgot_is_sent_again(store: RedisStore, client: Any) -> None:
    store.put(rules(1))
    client.script_flush()
    assert store.put(rules(1, START + 1)) is True
    client.script_flush()
    assert store.delete_all() == 1


def test_a_server_that_is_away_is_a_store_error(own_server: RedisServer) -> None:
    with RedisStore(own_server.url) as store:
        store.put(rules(1))
        own_server.kill()
        for use in (
            lambda: store.get(origin(1)),
            lambda: store.put(rules(1)),
            lambda: store.delete(origin(1)),
            lambda: store.delete_all(),
            lambda: len(store),
            lambda: list(store.scan()),
        ):
            with pytest.raises(StoreError, match=own_server.url):
                use()


def test_opening_asks_nothing() -> None:
    url = "redis://127.0.0.1:1/0"
    open_store(url, 10).close()
    open_store(url, 10, as_it_is=True).close()


def test_a_reader_changes_nothing(server: RedisServer, client: Any) -> None:
    with RedisStore(server.url) as store:
        store.put(rules(1))
    client.set(key_of(origin(2)), "x")
    before = {key: client.dump(key) for key in client.keys("*")}
    with open_store(server.url, 10, as_it_is=True) as reader:
        assert reader.get(origin(1)) == rules(1)
        assert reader.get(origin(2)) is None
        assert len(list(reader.scan())) == len(reader) == 2
    assert {key: client.dump(key) for key in client.keys("*")} == before


def test_no_password_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    with RedisServer(user="crawler", password="5ecret") as server:
        with RedisStore(server.url) as store, server.client() as client:
            client.set(KEY, "x")
            store.get(origin(1))
            assert "is ignored" in caplog.text
            shown = [caplog.text, repr(store), str(store), repr(store.server)]
            server.kill()
            with pytest.raises(StoreError) as caught:
                store.get(origin(1))
            shown += [str(caught.value), repr(caught.value), repr(caught.value.__cause__)]
        assert not [text for text in shown if "5ecret" in text or "crawler" in text]


def test_without_the_package_opening_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ValueError, match=r'pip install "scrapy-robots-plus\[redis\]"'):
        open_store("redis://127.0.0.1", 10)
