"""The store that keeps records in memory, for one crawl."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from .record import RobotsRecord, decode, encode, standing
from .store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol.origin import Origin


class MemoryStore(Store):
    """A store in memory. It drops the least recently used records first.

    Records are kept encoded: that takes hundreds of bytes each instead of thousands.
    """

    def __init__(self, max_records: int, max_body: int = MAX_BYTES) -> None:
        self._max_records = max_records
        self._max_body = max_body
        self._encoded: OrderedDict[str, bytes] = OrderedDict()

    def __len__(self) -> int:
        return len(self._encoded)

    def put(self, record: RobotsRecord) -> bool:
        encoded, origin = self._encoded, str(record.origin)
        data = encode(record, self._max_body)
        held = encoded.get(origin)
        if held is not None and standing(held) > standing(data):
            return False
        encoded[origin] = data
        encoded.move_to_end(origin)
        if len(encoded) > self._max_records:
            encoded.popitem(last=False)
        return True

    def delete(self, origin: Origin | str) -> None:
        self._encoded.pop(str(origin), None)

    def close(self) -> None:
        self._encoded.clear()

    def _found(self, name: str) -> RobotsRecord | None:
        if name not in self._encoded:
            return None
        self._encoded.move_to_end(name)
        return decode(self._encoded[name], self._max_body)

    def _names(self) -> Iterator[str]:
        return iter(sorted(self._encoded))
