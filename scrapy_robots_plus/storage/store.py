"""The interface of all stores, and the store in memory."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import OrderedDict
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from .record import CodecError, RobotsRecord, decode, encode, standing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

    from scrapy_robots_plus.protocol.origin import Origin

logger = logging.getLogger(__name__)

SECONDS_OF_USE = 31 * 86_400.0
"""How many seconds a record is of use: the defaults of ROBOTS_STALE_MAX and ROBOTS_TTL added."""


class Scanned(NamedTuple):
    """One record of a store (``ROBOTS_STORE``), as :meth:`Store.scan` finds it."""

    origin: str
    """The origin under which the record is stored, such as ``https://site.example``."""
    record: RobotsRecord | None
    """The record; None if what is stored cannot be trusted."""
    fault: str = ""
    """Why what is stored cannot be trusted; empty if it can."""


class Store(ABC):
    """A store of records by origin, as ``ROBOTS_STORE`` names it.

    A body longer than the store was opened for is neither stored nor returned.

    All methods but :meth:`close` raise :exc:`~scrapy_robots_plus.StoreError`, and nothing else,
    if the store fails (disk full, read-only, locked, closed). Times are wall clock, in
    seconds since the epoch. A store has no clock: callers say what time it is.
    """

    name = ""
    """The name of the store in messages."""

    remote = False
    """Whether a server keeps the records: calls may take long, and it drops outdated ones."""

    keeps_failures = True
    """Whether records of files that were never readable are stored: not where the next crawl would
    find them."""

    losses = 0
    """How many times all stored records may have been lost: the file was damaged or replaced, or
    the server restarted. Records found afterwards may be older than those put before."""

    def get(self, origin: Origin) -> RobotsRecord | None:
        """Returns the record of *origin*; None if there is none, or none that can be trusted."""
        try:
            return self._found(str(origin))
        except CodecError as error:
            self._distrust(origin, error)
            return None

    def scan(self) -> Iterator[Scanned]:
        """Yields all records, in the order of their origins as text.

        One record is in memory at a time; of a Redis server also the names of all origins. Between
        two records nothing is locked, and the reader sees the store as it is then, not as it was at
        the start. So a record that is there all the time is yielded once, and one that is added or
        deleted meanwhile once or not at all.
        """
        for name in self._names():
            try:
                record = self._found(name)
            except CodecError as error:  # noqa: PERF203 - each by itself
                yield Scanned(name, None, str(error))
            else:
                if record is not None:
                    yield Scanned(name, record)

    @abstractmethod
    def put(self, record: RobotsRecord) -> bool:
        """Stores *record*. Returns False if the stored record is newer (:class:`Standing`).

        If it returns True, the whole record is stored, and survives a kill of the process unless
        the store is in memory. The record must have its body: StoreError is raised if its
        ``sha256`` does not match. A store over its maximum drops its least valuable records.
        """

    @abstractmethod
    def delete(self, origin: Origin | str) -> bool:
        """Deletes the record of *origin*, which may be given by name; returns if there was one."""

    def delete_all(self) -> int:
        """Deletes all records; returns how many. Others can use the store meanwhile."""
        deleted = 0
        for name in self._names():
            self.delete(name)
            deleted += 1
        return deleted

    def purge(self, before: float, after: float = inf, limit: float = inf) -> int:  # noqa: ARG002
        """Deletes outdated records, at most *limit* of them; returns how many.

        Only a file does so: memory ends with the crawl, and a server deletes them by itself. A
        record is outdated if its ``fetched_at`` and ``failed_at`` are both earlier than *before*,
        or one of them is later than *after*: a fast clock dated it, and no correct record could
        ever replace it.
        """
        return 0

    @abstractmethod
    def _found(self, name: str) -> RobotsRecord | None:
        """Returns the record of the origin *name*. Raises CodecError if it cannot be trusted."""

    @abstractmethod
    def _names(self) -> Iterator[str]:
        """Returns the names of all origins, in order."""

    def _distrust(self, origin: Origin, error: CodecError) -> None:
        """Warns that the record of *origin* cannot be trusted."""
        logger.warning("%s: the record of %s is ignored: %s", self.name, origin, error)

    def __len__(self) -> int:
        """Returns the number of records."""
        return sum(1 for _ in self._names())

    def __bool__(self) -> bool:
        return True  # even an empty store

    @abstractmethod
    def close(self) -> None:
        """Releases files and memory. A second call does nothing. Never raises."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
        if origin in encoded and standing(encoded[origin]) > standing(data):
            return False
        encoded[origin] = data
        encoded.move_to_end(origin)
        if len(encoded) > self._max_records:
            encoded.popitem(last=False)
        return True

    def delete(self, origin: Origin | str) -> bool:
        return self._encoded.pop(str(origin), None) is not None

    def close(self) -> None:
        self._encoded.clear()

    def _found(self, name: str) -> RobotsRecord | None:
        if name not in self._encoded:
            return None
        self._encoded.move_to_end(name)
        return decode(self._encoded[name], self._max_body)

    def _names(self) -> Iterator[str]:
        return iter(sorted(self._encoded))
