from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES
from scrapy_robots_plus.storage import Store, StoreError, open_store
from scrapy_robots_plus.storage.store import MemoryStore

from .conformance import BoundedStoreConformance
from .records import START, origin, rules

if TYPE_CHECKING:
    from pathlib import Path


class TestMemoryStore(BoundedStoreConformance):
    def open(self, folder: Path, max_records: int) -> Store:
        return MemoryStore(max_records)

    def test_closed_it_says_so(self, store: Store) -> None:
        """There is nothing that it could fail to do: closed, it is empty."""
        store.put(rules(1))
        store.close()
        assert len(store) == 0

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
        with pytest.raises(StoreError, match="too large"):
            store.put(rules(1, body=longer, sha256=sha256(longer).hexdigest()))
