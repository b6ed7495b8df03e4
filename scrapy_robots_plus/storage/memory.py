"""Records for as long as the process lives."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from . import codec
from .base import RobotsRecord, Store, StoreError, checked_maximum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol.origin import Origin


class MemoryStore(Store):
    """Drops the least recently used records first.

    Records are kept encoded: some hundred bytes each rather than some thousand.
    """

    def __init__(self, max_records: int, max_body: int = MAX_BYTES) -> None:
        self._max_records = checked_maximum(max_records)
        self._max_body = max_body
        self._encoded: OrderedDict[str, bytes] | None = OrderedDict()
        self.is_shared = False
        """Whether it ever held the records of another one too."""

    def share(self, other: MemoryStore) -> None:
        """From now on both hold the same records, those of *other* and of this one, until each is
        closed. They must have been made for the same sizes.

        Raises StoreError if one of them is closed.
        """
        ours, theirs = self._open(), other._open()
        self.is_shared = other.is_shared = True
        self._encoded = theirs
        for origin, data in list(ours.items()):
            self._keep(origin, data)

    def get(self, origin: Origin) -> RobotsRecord | None:
        if str(origin) in self._open():
            self._open().move_to_end(str(origin))
        return super().get(origin)

    def _found(self, name: str) -> RobotsRecord | None:
        data = self._open().get(name)
        return None if data is None else codec.decode(data, self._max_body)

    def _names(self, after: str) -> Iterator[str]:
        return iter(sorted(name for name in self._open() if name > after))

    def put(self, record: RobotsRecord) -> bool:
        self._open()
        return self._keep(str(record.origin), codec.encode(record, self._max_body))

    def _keep(self, origin: str, data: bytes) -> bool:
        encoded = self._open()
        held = encoded.get(origin)
        if held is not None and codec.standing(held) > codec.standing(data):
            return False
        encoded[origin] = data
        encoded.move_to_end(origin)
        if len(encoded) > self._max_records:
            encoded.popitem(last=False)
        return True

    def _delete(self, name: str) -> None:
        self._open().pop(name, None)

    def __len__(self) -> int:
        return len(self._open())

    def close(self) -> None:
        self._encoded = None

    def _open(self) -> OrderedDict[str, bytes]:
        if self._encoded is None:
            raise StoreError("the memory store is closed")
        return self._encoded
