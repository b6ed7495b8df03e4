from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES
from scrapy_robots_plus.storage import Store, StoreError, open_store
from scrapy_robots_plus.storage.base import MemoryStore

from .conformance import BoundedStoreConformance
from .records import START, never_read, origin, rules

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_robots_plus.storage.record import RobotsRecord


class TestMemoryStore(BoundedStoreConformance):
    def open(self, folder: Path, max_records: int) -> Store:
        return MemoryStore(max_records)

    def test_the_least_recently_used_goes_first(self) -> None:
        store = open_store("memory", 3)
        for number in (1, 2, 3):
            store.put(rules(number))
        store.get(origin(1))
        store.put(rules(2, START + 1))
        store.put(rules(4))
        assert store.get(origin(3)) is None
        assert len(store) == 3

    @pytest.mark.parametrize("size", [1_000, 2 * MAX_BYTES])
    def test_a_body_is_as_long_as_it_is_opened_for(self, size: int) -> None:
        store = open_store("memory", 3, size)
        body = b"#" * size
        record = rules(1, body=body, sha256=sha256(body).hexdigest())
        assert store.put(record)
        assert store.get(origin(1)) == record
        longer = body + b"#"
        with pytest.raises(StoreError, match=f"the body has {size + 1:,} bytes"):
            store.put(rules(1, body=longer, sha256=sha256(longer).hexdigest()))


class TestTwoThatShare:
    def test_what_one_puts_or_deletes_the_other_sees(self) -> None:
        one, other = MemoryStore(10), MemoryStore(10)
        assert not one.is_shared
        one.put(rules(1))
        other.put(rules(2))
        other.share(one)
        assert one.is_shared
        assert other.is_shared
        assert len(one) == len(other) == 2
        assert other.get(origin(1)) == rules(1)
        assert one.get(origin(2)) == rules(2)
        one.put(rules(3))
        other.delete(origin(1))
        assert [each.record for each in one.scan()] == [rules(2), rules(3)]
        assert [each.record for each in other.scan()] == [rules(2), rules(3)]

    @pytest.mark.parametrize("older", [rules(1), never_read(1, START + 50)])
    def test_the_newer_of_two_records_is_kept(self, older: RobotsRecord) -> None:
        newer = rules(1, START + 100)
        for mine, theirs in ((older, newer), (newer, older)):
            one, other = MemoryStore(10), MemoryStore(10)
            one.put(mine)
            other.put(theirs)
            one.share(other)
            assert one.get(origin(1)) == other.get(origin(1)) == newer

    def test_they_hold_no_more_than_one_of_them_may(self) -> None:
        one, other = MemoryStore(2), MemoryStore(2)
        for number in (1, 2):
            one.put(rules(number))
            other.put(rules(number + 2))
        one.share(other)
        assert len(one) == 2
        one.put(rules(5))
        assert len(other) == 2

    def test_one_that_is_closed_takes_nothing_from_the_other(self) -> None:
        one, other = MemoryStore(10), MemoryStore(10)
        one.put(rules(1))
        other.share(one)
        one.close()
        assert other.get(origin(1)) == rules(1)
        with pytest.raises(StoreError, match="closed"):
            one.get(origin(1))

    def test_one_that_is_closed_is_not_shared(self) -> None:
        one, other = MemoryStore(10), MemoryStore(10)
        one.put(rules(1))
        other.close()
        for store, with_it in ((one, other), (other, one)):
            with pytest.raises(StoreError, match="closed"):
                store.share(with_it)
        assert one.get(origin(1)) == rules(1)
        assert not one.is_shared

    def test_one_may_share_with_itself(self) -> None:
        store = MemoryStore(10)
        store.put(rules(1))
        store.share(store)
        assert store.get(origin(1)) == rules(1)
