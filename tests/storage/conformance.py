"""What every store promises. A test class for a store inherits this and says how to open one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage import Store, StoreError, redis_store, sqlite_store

from .records import START, never_read, origin, rules

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_robots_plus.storage.record import RobotsRecord

Opener = Callable[[int], Store]


class StoreConformance(ABC):
    @abstractmethod
    def open(self, folder: Path, max_records: int) -> Store:
        """A store of the kind under test, empty at first."""

    @pytest.fixture(autouse=True)
    def small_pages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """So a few hundred records take several of them."""
        monkeypatch.setattr(redis_store, "_AT_ONCE", 100)
        monkeypatch.setattr(sqlite_store, "_ORIGINS", 50)
        monkeypatch.setattr(sqlite_store, "_BATCH", 20)

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Iterator[Opener]:
        with ExitStack() as stack:
            yield lambda max_records: stack.enter_context(self.open(tmp_path, max_records))

    @pytest.fixture
    def store(self, open_store: Opener) -> Store:
        return open_store(1000)

    def test_an_unknown_origin_has_no_record(self, store: Store) -> None:
        assert store.get(origin(1)) is None

    @pytest.mark.parametrize(
        "record",
        [
            rules(1),
            rules(1, lines=15_000),
            rules(1, body=b"", sha256=""),
            rules(1, outcome=404, access=Access.UNAVAILABLE, body=b"", sha256="", headers={}),
            rules(1, failure=503, failures=3, failed_at=START + 9.25, retry_in=120.5),
            never_read(1),
            rules(1, origin=Origin("http", "2001:db8::1", 8080)),
            rules(1, origin=Origin("http", "xn--bcher-kva.example", 80), url="http://b\u00fccher/"),
        ],
        ids=["rules", "large", "empty", "unavailable", "failing", "never read", "ipv6", "unicode"],
    )
    def test_what_is_put_is_what_is_got(self, store: Store, record: RobotsRecord) -> None:
        store.put(record)
        assert store.get(record.origin) == record

    def test_scheme_host_and_port_each_make_another_origin(self, store: Store) -> None:
        origins = [
            Origin("http", "a.example", 80),
            Origin("https", "a.example", 443),
            Origin("http", "a.example", 443),
            Origin("https", "b.example", 443),
        ]
        for number, each in enumerate(origins):
            store.put(rules(number, origin=each))
        assert len(store) == len(origins)
        for number, each in enumerate(origins):
            assert store.get(each) == rules(number, origin=each)

    def test_a_newer_answer_takes_the_place_of_an_older_one(self, store: Store) -> None:
        store.put(rules(1, START))
        store.put(rules(1, START + 1))
        assert store.get(origin(1)) == rules(1, START + 1)
        assert len(store) == 1

    def test_an_older_answer_never_takes_the_place_of_a_newer_one(self, store: Store) -> None:
        assert store.put(rules(1, START + 1)) is True
        assert store.put(rules(1, START)) is False
        assert store.put(rules(1, START, failure=503, failures=1, failed_at=START + 2)) is False
        assert store.get(origin(1)) == rules(1, START + 1)

    def test_a_later_failure_is_added_to_its_answer(self, store: Store) -> None:
        later = rules(1, failure=503, failures=2, failed_at=START + 20)
        store.put(rules(1))
        store.put(later)
        store.put(rules(1, failure=503, failures=1, failed_at=START + 10))
        store.put(rules(1))
        assert store.get(origin(1)) == later

    def test_a_host_never_read_is_no_newer_than_an_answer(self, store: Store) -> None:
        store.put(never_read(1, START))
        store.put(rules(1, START))
        store.put(never_read(1, START + 99))
        store.put(never_read(1, START + 99, fetched_at=START + 99))
        assert store.get(origin(1)) == rules(1, START)

    def test_the_same_moment_takes_the_place(self, store: Store) -> None:
        assert store.put(rules(1)) is True
        assert store.put(rules(1)._replace(lifetime=60.0)) is True
        assert store.get(origin(1)) == rules(1)._replace(lifetime=60.0)

    def test_a_record_without_its_body_is_refused(self, store: Store) -> None:
        store.put(rules(1))
        with pytest.raises(StoreError, match="sha256"):
            store.put(rules(1, START + 1)._replace(body=b""))
        assert store.get(origin(1)) == rules(1)

    @pytest.mark.parametrize("time", [float("nan"), float("inf"), float("-inf")])
    def test_a_record_of_no_time_is_refused(self, store: Store, time: float) -> None:
        for name in ("fetched_at", "failed_at", "lifetime", "retry_in"):
            with pytest.raises(StoreError, match="not JSON compliant"):
                store.put(rules(1)._replace(**{name: time}))  # type: ignore[arg-type]
        assert len(store) == 0

    def test_a_body_over_the_maximum_is_refused(self, store: Store) -> None:
        store.put(rules(1))
        with pytest.raises(StoreError, match="too large"):
            store.put(rules(1, START + 1, lines=20_000))
        assert store.get(origin(1)) == rules(1)

    def test_what_is_deleted_is_gone(self, store: Store) -> None:
        store.put(rules(1, START + 1))
        store.put(rules(2))
        assert store.delete(origin(1)) is True
        assert store.delete(origin(3)) is False
        assert store.get(origin(1)) is None
        assert len(store) == 1
        store.put(rules(1, START))  # no memory of the newer one
        assert store.get(origin(1)) == rules(1, START)

    def test_all_can_be_deleted(self, open_store: Opener) -> None:
        store = open_store(10_000)
        for number in range(234):
            store.put(rules(number, START + number))
        store.put(never_read(2_000))
        assert store.delete_all() == 235
        assert len(store) == store.delete_all() == 0

    def test_an_empty_store_is_true(self, store: Store) -> None:
        assert len(store) == 0
        assert store

    def test_a_scan_returns_each_record_once_by_origin(self, open_store: Opener) -> None:
        store = open_store(10_000)
        records = {str(origin(number)): rules(number) for number in range(234)}
        for each in (Origin("http", "host1.example", 8080), Origin("http", "2001:db8::1", 80)):
            records[str(each)] = rules(1, origin=each)
        for record in records.values():
            store.put(record)
        found = list(store.scan())
        assert [each.origin for each in found] == sorted(records)
        assert {each.origin: each.record for each in found} == records
        assert {each.fault for each in found} == {""}

    def test_an_empty_store_has_nothing_to_scan(self, store: Store) -> None:
        assert list(store.scan()) == []

    def test_a_store_can_be_changed_while_it_is_scanned(self, open_store: Opener) -> None:
        """What is there all the time is found once, in its state of that moment."""
        store = open_store(10_000)
        for number in range(1_000, 1_240):
            store.put(rules(number))
        found = {}
        for count, each in enumerate(store.scan()):
            assert each.origin not in found
            found[each.origin] = each.record
            if count == 10:
                for number in range(1_030, 1_070):
                    store.delete(origin(number))
                store.put(rules(1_200, START + 1))
                for number in range(100):  # before and after where the scan is
                    store.put(rules(number * 100))
        assert all(
            found[str(origin(number))] == rules(number, START + (number == 1_200))
            for number in (*range(1_000, 1_030), *range(1_070, 1_240))
        )
        assert not any(str(origin(number)) in found for number in range(1_030, 1_070))

    def test_closed_it_says_so(self, store: Store) -> None:
        store.put(rules(1))
        store.close()
        store.close()
        for use in (
            lambda: store.get(origin(1)),
            lambda: store.put(rules(1)),
            lambda: store.delete(origin(1)),
            lambda: store.delete_all(),
            lambda: len(store),
            lambda: list(store.scan()),
        ):
            with pytest.raises(StoreError, match="closed"):
                use()


class BoundedStoreConformance(StoreConformance):
    """Of a store that keeps to its maximum itself."""

    def test_it_never_grows_over_its_maximum(self, open_store: Opener) -> None:
        store = open_store(10)
        for number in range(50):
            store.put(rules(number, START + number))
            assert len(store) <= 10
        for number in range(40, 50):  # an origin that is known makes no room
            store.put(rules(number, START + 100 + number))
        assert [store.get(origin(number)) is not None for number in range(38, 50)] == [
            *[False] * 2,
            *[True] * 10,
        ]

    def test_a_scan_counts_as_no_use(self, open_store: Opener) -> None:
        store = open_store(3)
        for number in (1, 2, 3):
            store.put(rules(number, START + number))
        for _ in store.scan():
            pass
        store.put(rules(4, START + 4))
        assert store.get(origin(1)) is None
        assert len(store) == 3
