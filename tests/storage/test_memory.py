from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.storage import Store, open_store
from scrapy_robots_plus.storage.memory import MemoryStore

from .conformance import StoreConformance
from .records import START, origin, rules

if TYPE_CHECKING:
    from pathlib import Path


class TestMemoryStore(StoreConformance):
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
