"""What a crawl has learnt holds for that crawl, whatever the store does."""

from __future__ import annotations

import logging
import sqlite3
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_robots_plus.crawl import crawl as shared
from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.origins.crawl_store import CrawlStore
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.storage import StoreError
from scrapy_robots_plus.storage.sqlite_store import SqliteStore
from scrapy_robots_plus.storage.store import MemoryStore
from scrapy_robots_plus.storage.trust import Trust
from tests.crawl.scripted import make_crawler
from tests.storage.records import START, never_read, origin, rules

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from pathlib import Path

    from scrapy_robots_plus.storage.record import RobotsRecord
_T = TypeVar("_T")


def at_once(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """What *coroutine* returns, which waits for nothing."""
    with pytest.raises(StopIteration) as ended:
        coroutine.send(None)
    return cast("_T", ended.value.value)


OLD, NEW, NEWER = (rules(1, START + time) for time in (0, 100, 200))


class Crawl:
    """A crawl on a store of its own or on that of others."""

    def __init__(self, store: str = "memory", now: float = START, **overrides: Any) -> None:
        self.now = now
        self.crawler = make_crawler(ROBOTS_STORE=store, **overrides)
        clock = Clock(wall=lambda: self.now)
        self.archive = CrawlStore(shared.Crawl.of(self.crawler, clock))
        self.store: Any = self.archive._store

    @property
    def settings(self) -> Any:
        return self.crawler.settings

    def learn(self, record: RobotsRecord) -> None:
        self.now = max(self.now, record.fetched_at, record.failed_at)
        self.archive.save(record)

    def load(self, number: int = 1) -> RobotsRecord | None:
        return at_once(self.archive.load(origin(number)))

    def stat(self, name: str) -> int:
        return self.crawler.stats.get_value(f"robotstxt/store/{name}", 0)

    def close(self) -> None:
        at_once(self.archive._close())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store in which an earlier crawl has left the old file."""
    path = tmp_path / "robots.db"
    with SqliteStore(path, 100) as store:
        store.put(OLD)
    return path


@pytest.fixture
def crawl(file: Path) -> Iterator[Crawl]:
    crawl = Crawl(f"sqlite:{file}")
    yield crawl
    crawl.close()


class locked:  # noqa: N801 - as a context it reads as a word
    """Another process writes, and does not end."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __enter__(self) -> None:
        self.other = sqlite3.connect(self.file, isolation_level=None)
        self.other.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_: object) -> None:
        self.other.execute("ROLLBACK")
        self.other.close()


def closed(fetched_at: float) -> RobotsRecord:
    """A 403 under a policy that closes the site for it."""
    return never_read(1, fetched_at, outcome=403, failure=403, fetched_at=fetched_at)


@pytest.mark.parametrize("learnt", [NEW, closed(START + 100)], ids=["tightened", "closed"])
class TestWhatCouldNotBeStored:
    def test_is_not_answered_by_what_was_stored_before(
        self, file: Path, crawl: Crawl, learnt: RobotsRecord
    ) -> None:
        assert crawl.load() == OLD
        with locked(file):
            crawl.learn(learnt)
            assert crawl.load() is None
        assert crawl.load() is None
        assert crawl.stat("errors") == 1

    def test_is_replaced_by_what_is_stored_later(
        self, file: Path, crawl: Crawl, learnt: RobotsRecord
    ) -> None:
        with locked(file):
            crawl.learn(learnt)
        crawl.learn(NEWER)
        assert crawl.load() == NEWER

    def test_holds_when_the_store_fails_a_second_time(
        self, file: Path, crawl: Crawl, learnt: RobotsRecord
    ) -> None:
        with locked(file):
            crawl.learn(learnt)
        crawl.learn(NEWER)
        with locked(file):
            crawl.learn(learnt._replace(fetched_at=START + 300))
        assert crawl.load() is None

    def test_is_not_answered_by_an_older_record_of_another_crawl(
        self, file: Path, crawl: Crawl, learnt: RobotsRecord
    ) -> None:
        with locked(file):
            crawl.learn(learnt)
        with SqliteStore(file, 100) as other:
            other.put(rules(1, START + 50)._replace(failure=503, failed_at=START + 400))
        assert crawl.load() is None

    def test_is_removed_for_the_next_crawl(
        self, file: Path, crawl: Crawl, learnt: RobotsRecord
    ) -> None:
        with locked(file):
            crawl.learn(learnt)
        crawl.close()
        assert Crawl(f"sqlite:{file}", START + 200).load() is None

    def test_holds_through_an_outage_of_the_site(
        self, file: Path, crawl: Crawl, learnt: RobotsRecord
    ) -> None:
        with locked(file):
            crawl.learn(learnt)
        slim = learnt._replace(body=b"")
        crawl.learn(slim._replace(failure=503, failures=1, failed_at=START + 150))
        assert crawl.load() is None

    def test_holds_where_the_file_is_lost(
        self, file: Path, tmp_path: Path, crawl: Crawl, learnt: RobotsRecord
    ) -> None:
        """Somebody puts a copy of yesterday in its place."""
        (tmp_path / "copy").write_bytes(file.read_bytes())
        crawl.learn(learnt)
        (tmp_path / "copy").replace(file)
        for suffix in ("-wal", "-shm"):
            file.with_name(file.name + suffix).unlink()
        crawl.learn(rules(2, START + 150))
        assert crawl.store.get(origin(1)) == OLD
        assert crawl.load() is None


def test_an_outage_that_outlasts_the_copy_is_not_forgotten(file: Path) -> None:
    crawl = Crawl(f"sqlite:{file}", ROBOTS_STALE_MAX=0)
    with locked(file):
        crawl.learn(OLD._replace(failure=503, failures=1, failed_at=START + 100))
    assert crawl.load() is None
    crawl.close()


def test_an_outage_leaves_the_copy_in_force(file: Path, crawl: Crawl) -> None:
    with locked(file):
        crawl.learn(OLD._replace(failure=503, failures=1, failed_at=START + 100))
    assert crawl.load() == OLD


def test_a_crawl_that_closed_a_site_does_not_take_it_from_one_that_lags_behind(
    file: Path, crawl: Crawl
) -> None:
    crawl.learn(closed(START + 100))
    assert crawl.store.get(origin(1)) is None
    with SqliteStore(file, 100) as other:
        other.put(OLD._replace(failure=503, failed_at=START + 200))
    assert crawl.load() is None
    crawl.close()
    with SqliteStore(file, 100) as other:  # the next crawl asks again
        assert other.get(origin(1)) is None


def test_a_renewed_answer_whose_text_is_not_stored_is_not_replaced_by_the_old(
    file: Path, crawl: Crawl
) -> None:
    """After the put of a new file failed, a 304 renews what is held without its text."""
    with locked(file):
        crawl.learn(NEW)
    crawl.learn(NEW._replace(body=b"", fetched_at=START + 200))
    assert crawl.load() is None


def test_what_is_held_without_its_text_does_not_replace_what_is_stored(crawl: Crawl) -> None:
    """What is held in memory has neither text nor validators: the next crawl could not ask whether
    the file had changed.
    """
    validators = {"etag": '"1"', "last-modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
    stored = NEW._replace(headers={**validators, "content-type": "text/plain; charset=ascii"})
    crawl.learn(stored)
    held = stored._replace(body=b"", headers={"content-type": "text/plain; charset=utf-8"})
    crawl.learn(held._replace(failure=503, failures=1, failed_at=START + 200))
    assert crawl.load() == stored


def test_an_empty_file_is_stored_as_any_other(crawl: Crawl) -> None:
    empty = rules(1, START + 100, body=b"", sha256=sha256(b"").hexdigest())
    crawl.learn(empty)
    assert crawl.load() == empty


def test_rules_that_another_crawl_has_fetched_since_are_taken(file: Path, crawl: Crawl) -> None:
    crawl.learn(NEW)
    with SqliteStore(file, 100) as other:
        other.put(NEWER)
    assert crawl.load() == NEWER


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_clock_that_is_set_back_brings_nothing_back(tmp_path: Path, store: str) -> None:
    uri = "memory" if store == "memory" else f"sqlite:{tmp_path / 'robots.db'}"
    crawl = Crawl(uri, START + 1_000)
    crawl.learn(rules(1, START + 1_000))
    crawl.now = START + 970  # little enough to pass for clocks that differ
    crawl.archive.save(rules(1, START + 970, lines=9))
    for now in (START + 970, START + 1_001, START + 2_000):
        crawl.now = now
        assert crawl.load() is None
    crawl.learn(rules(1, START + 2_000, lines=9))
    assert crawl.load() == rules(1, START + 2_000, lines=9)


def test_nor_does_an_older_copy_of_the_file_after_that(
    file: Path, tmp_path: Path, crawl: Crawl
) -> None:
    with SqliteStore(tmp_path / "copy", 100) as copy:
        copy.put(NEW)
    crawl.learn(NEWER)
    crawl.now = NEW.fetched_at - 10
    (tmp_path / "copy").replace(file)
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).unlink()
    crawl.archive.save(rules(2, crawl.now))
    assert crawl.store.get(origin(1)) == NEW
    assert crawl.load() is None


def test_too_much_to_remember_ends_the_trust_in_all(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Trust.__init__, "__defaults__", (3,))
    crawl = Crawl(f"sqlite:{file}")
    with SqliteStore(file, 100) as store:
        for number in range(1, 7):
            store.put(rules(number, START))
    with locked(file):
        for number in range(1, 5):
            crawl.learn(rules(number, START + number))
    assert len(crawl.archive._trust._out_of_date) <= 3
    assert [crawl.load(number) for number in range(1, 7)] == [None] * 6
    crawl.learn(rules(5, START + 9))
    assert crawl.load(5) == rules(5, START + 9)
    crawl.close()
    with SqliteStore(file, 100) as store:  # the last that could not be stored is removed
        assert [number for number in range(1, 7) if store.get(origin(number))] == [1, 2, 3, 5, 6]


def test_a_record_holds_by_the_settings_of_this_crawl(file: Path) -> None:
    with SqliteStore(file, 100) as store:
        store.put(rules(1, START, lifetime=1e300))
        store.put(never_read(2, access=Access.UNREACHABLE, retry_in=1e300))
    crawl = Crawl(f"sqlite:{file}", ROBOTS_TTL=(300, 600), ROBOTS_RETRY_INTERVAL=(60, 90))
    assert (found := crawl.load(1)) is not None
    assert found.lifetime == 600
    assert (found := crawl.load(2)) is not None
    assert found.retry_in == 90


@pytest.mark.parametrize(
    ("vary", "is_shared"),
    [("Accept-Encoding", True), ("accept-encoding, user-agent", False), ("*", False)],
)
def test_what_varies_by_user_agent_answers_that_one_alone(
    tmp_path: Path, vary: str, is_shared: bool
) -> None:
    store = f"sqlite:{tmp_path / 'robots.db'}"
    first, second = (Crawl(store, USER_AGENT=name) for name in ("Foobot/1.0", "Barbot/1.0"))
    first.learn(rules(1, headers={"vary": vary}))
    assert first.load() is not None
    assert (second.load() is not None) is is_shared
    second.learn(rules(1, START + 1, headers={"vary": vary}))
    assert second.load() is not None
    first.close()
    second.close()


def test_only_a_store_that_outlives_the_crawl_is_counted(file: Path) -> None:
    crawls = Crawl("memory"), Crawl(f"sqlite:{file}")
    for crawl in crawls:
        crawl.load(1)
        crawl.load(2)
    assert [crawl.stat("hits") for crawl in crawls] == [0, 1]
    assert [crawl.stat("misses") for crawl in crawls] == [0, 1]


def test_an_error_is_not_counted_as_a_miss(crawl: Crawl) -> None:
    crawl.store.close()
    assert crawl.load() is None
    assert (crawl.stat("errors"), crawl.stat("misses"), crawl.stat("hits")) == (1, 0, 0)


class FlakyStore(MemoryStore):
    """Reads and writes fail while they are told to."""

    fails: frozenset[str] = frozenset()

    def get(self, origin: Any) -> Any:
        self._check("get")
        return super().get(origin)

    def put(self, record: Any) -> bool:
        self._check("put")
        return super().put(record)

    def delete(self, origin: Any) -> bool:
        self._check("delete")
        return super().delete(origin)

    def _check(self, what: str) -> None:
        if what in self.fails:
            raise StoreError(f"{what} fails")


ORIGINS = st.integers(1, 2)
FAILS = st.frozensets(st.sampled_from(["get", "put", "delete"]))
STEPS = st.one_of(
    st.tuples(st.sampled_from(["answer", "refusal", "outage", "renewal", "check"]), ORIGINS),
    st.tuples(st.just("another crawl"), ORIGINS, st.integers(0, 12), st.booleans()),
    st.tuples(st.just("fails"), FAILS),
)
CLOCKS = st.tuples(st.just("clock"), st.sampled_from([-7_200, -50, -3, 3, 7_200]))
LOSSES = st.tuples(st.just("loss"), st.integers(0, 12))


class World:
    """One crawl, others beside it, and the truth: the order in which answers were given."""

    def __init__(self, most_origins: int, clock_is_right: bool = True) -> None:
        self.clock_is_right = clock_is_right  # otherwise old records may be dated as new ones
        self.store = FlakyStore(1_000)
        self.crawl = Crawl()
        self.crawl.archive._store = self.store
        self.crawl.archive._trust = Trust(most_origins)
        self.answers: list[RobotsRecord] = []
        self.learnt: dict[int, int] = {}
        self.held: dict[int, RobotsRecord] = {}

    def step(self, what: str, *how: Any) -> None:
        self.crawl.now += 1.5
        getattr(self, what.replace(" ", "_"))(*how)
        for number in self.learnt:
            self.check(number)

    def check(self, number: int) -> None:
        found = self.crawl.load(number)
        assert found is None or self.order(found) >= self.learnt.get(number, 0)

    def order(self, record: RobotsRecord) -> int:
        return int(record.url.rpartition("#")[2])

    def given(self, number: int) -> RobotsRecord:
        """What the site says now."""
        url = f"https://host{number}.example/robots.txt#{len(self.answers) + 1}"
        record = rules(number, self.crawl.now, lines=len(self.answers), url=url)
        self.answers.append(record)
        return record

    def learn(self, record: RobotsRecord, number: int, order: int) -> None:
        self.learnt[number] = order
        self.held[number] = record._replace(body=b"")
        self.crawl.archive.save(record)

    def answer(self, number: int) -> None:
        record = self.given(number)
        self.learn(record, number, self.order(record))

    def refusal(self, number: int) -> None:
        now = self.crawl.now
        record = never_read(number, now, outcome=403, failure=403, fetched_at=now)
        self.answers.append(record)
        self.learn(record, number, len(self.answers))

    def outage(self, number: int) -> None:
        if number in self.held and self.held[number].readable:
            record = self.held[number]._replace(failure=503, failures=1, failed_at=self.crawl.now)
            self.crawl.archive.save(record)

    def renewal(self, number: int) -> None:
        if number in self.held and self.held[number].readable:
            self.crawl.archive.save(self.held[number]._replace(fetched_at=self.crawl.now))

    def another_crawl(self, number: int, which: int, fails: bool) -> None:
        """Writes what the site says now, or what it has held for long."""
        past = [each for each in self.answers if each.origin == origin(number) and each.readable]
        past = past if self.clock_is_right else []
        record = past[which] if which < len(past) else self.given(number)
        if fails:
            record = record._replace(failure=503, failures=1, failed_at=self.crawl.now)
        MemoryStore.put(self.store, record)

    def fails(self, what: frozenset[str]) -> None:
        self.store.fails = what

    def clock(self, seconds: float) -> None:
        self.crawl.now += seconds

    def loss(self, which: int) -> None:
        """An older copy of the file, or none, is in its place."""
        self.store._encoded.clear()
        for record in self.answers[:which]:
            if record.readable:
                MemoryStore.put(self.store, record)
        self.store.losses += 1


@pytest.fixture
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("_quiet")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS | LOSSES, min_size=8, max_size=30), st.integers(1, 2))
def test_whatever_fails_and_whoever_writes_nothing_older_comes_back(
    steps: list[Any], most_origins: int
) -> None:
    world = World(most_origins)
    for what, *how in steps:
        world.step(what, *how)


@pytest.mark.usefixtures("_quiet")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS | CLOCKS, min_size=8, max_size=30))
def test_nor_where_the_clock_jumps(steps: list[Any]) -> None:
    world = World(100, clock_is_right=False)
    for what, *how in steps:
        world.step(what, *how)
