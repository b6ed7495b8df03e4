"""What a crawl believes of a store that failed to do what it was told."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrapy_robots_plus.storage.record import StoreError
from scrapy_robots_plus.storage.sqlite_store import SqliteStore
from scrapy_robots_plus.storage.store import MemoryStore
from scrapy_robots_plus.storage.trust import MOST_ORIGINS, Trust

from .records import origin, rules

THEN, NOW, LATER = 1_000.0, 2_000.0, 3_000.0


def believed(trust: Trust, fetched_at: float, numbers: int = 4) -> list[int]:
    """The hosts whose records, fetched then, are believed."""
    return [number for number in range(numbers) if trust.believes(rules(number, fetched_at))]


def stored(store: MemoryStore, numbers: int = 4) -> list[int]:
    return [number for number in range(numbers) if store.get(origin(number))]


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore(100)
    for number in range(4):
        store.put(rules(number, THEN))
    return store


def test_what_never_failed_is_believed_however_old() -> None:
    assert believed(Trust(), 0.0) == [0, 1, 2, 3]
    assert believed(Trust(), -1e9) == [0, 1, 2, 3]


def test_what_could_not_be_stored_makes_that_host_alone_unbelieved_whatever_its_date() -> None:
    trust = Trust()
    trust.withdraw(origin(1), NOW)
    assert believed(trust, THEN) == believed(trust, LATER) == [0, 2, 3]


def test_until_something_newer_of_it_is_stored() -> None:
    trust = Trust()
    trust.withdraw(origin(1), NOW)
    trust.restore(origin(1))
    trust.restore(origin(2))  # which was never withdrawn
    assert believed(trust, THEN) == [0, 1, 2, 3]


def test_after_a_loss_only_what_is_fetched_from_then_on_is_believed() -> None:
    trust = Trust()
    trust.withdraw_all(NOW)
    assert believed(trust, NOW - 1) == []
    assert believed(trust, NOW) == believed(trust, LATER) == [0, 1, 2, 3]


def test_a_loss_changes_nothing_for_what_could_not_be_stored() -> None:
    trust = Trust()
    trust.withdraw(origin(1), THEN)
    trust.withdraw_all(NOW)
    assert believed(trust, NOW) == [0, 2, 3]
    trust.restore(origin(1))
    assert believed(trust, NOW) == [0, 1, 2, 3]


def test_after_a_loss_nothing_is_believed_that_is_dated_before_what_the_crawl_has_seen() -> None:
    trust = Trust()
    trust.saw(rules(0, LATER))
    trust.saw(rules(1, THEN))  # the clock was set back
    trust.withdraw_all(NOW)
    assert believed(trust, LATER - 1) == []
    trust.withdraw_all(NOW - 1)  # and once more
    assert believed(trust, LATER - 1) == []
    assert believed(trust, LATER) == [0, 1, 2, 3]


def test_too_many_hosts_end_the_trust_in_all_but_those_that_come_then() -> None:
    trust = Trust(most_origins=2)
    trust.withdraw(origin(0), THEN)
    trust.withdraw(origin(1), THEN)
    assert believed(trust, THEN) == [2, 3]
    trust.withdraw(origin(2), NOW)
    assert believed(trust, NOW - 1) == []
    assert believed(trust, NOW) == [0, 1, 3]


def test_so_many_are_remembered_that_few_crawls_come_to_that() -> None:
    trust = Trust()
    for number in range(MOST_ORIGINS):
        trust.withdraw(origin(number), NOW)
    assert trust.believes(rules(MOST_ORIGINS, THEN))
    assert MOST_ORIGINS == 50_000


class TestSettling:
    def test_what_is_out_of_date_is_removed_for_the_next_crawl(self, store: MemoryStore) -> None:
        trust = Trust()
        trust.withdraw(origin(1), NOW)
        trust.withdraw(origin(2), NOW)
        trust.restore(origin(2))
        trust.settle(store)
        assert stored(store) == [0, 2, 3]

    def test_where_nothing_failed_the_store_is_not_asked_for_anything(
        self, store: MemoryStore
    ) -> None:
        trust = Trust()
        trust.withdraw_all(NOW)
        store.close()  # else it would raise
        trust.settle(store)

    def test_a_store_that_still_fails_says_so(self, tmp_path: Path) -> None:
        store, trust = SqliteStore(tmp_path / "robots.db", 10), Trust()
        trust.withdraw(origin(1), NOW)
        store.close()
        with pytest.raises(StoreError):
            trust.settle(store)
