from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.storage.sqlite import SqliteStore

from .conformance import StoreConformance

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_robots_plus.storage import Store


class TestSqliteStore(StoreConformance):
    def open(self, folder: Path, max_records: int) -> Store:
        return SqliteStore(folder / "robots.db", max_records)
