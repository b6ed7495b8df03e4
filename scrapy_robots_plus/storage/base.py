"""The interface of all stores, the one in memory, and what is believed of one that fails."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from .record import CodecError, RobotsRecord, Standing, StoreError, decode, encode, standing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

    from scrapy_robots_plus.protocol.origin import Origin


SECONDS_OF_USE = 31 * 86_400.0
"""How long a record can be of use: the defaults of ROBOTS_STALE_MAX and ROBOTS_TTL together."""


class Scanned(NamedTuple):
    """One record of a store (``ROBOTS_STORE``), as :meth:`StoreReader.scan` finds it."""

    origin: str
    """Under which it is stored, such as ``https://site.example``."""
    record: RobotsRecord | None
    """None if what is stored cannot be trusted."""
    fault: str = ""
    """Why it cannot be trusted."""


class StoreReader(ABC):
    """What can be asked of a store, as ``ROBOTS_STORE`` names it, without changing it.

    No record that is returned has a body longer than the store was opened for.

    All methods but :meth:`close` raise :exc:`~scrapy_robots_plus.StoreError`, and nothing else,
    if the store fails (locked, closed, unreadable). Times are wall clock, in seconds since the
    epoch.
    """

    def get(self, origin: Origin) -> RobotsRecord | None:
        """The record of *origin*; None if there is none, or none that can be trusted."""
        try:
            return self._found(str(origin))
        except CodecError as error:
            self._distrust(origin, error)
            return None

    def scan(self, after: str = "") -> Iterator[Scanned]:
        """Goes through all records by origin, in the order of its text. One record is in memory at
        a time; of a Redis server also the names of all origins.

        *after*: only origins whose text comes after this one. Each record is as it is at the
        moment when it is returned; between two of them nothing is locked, and no old state of the
        store is kept for the reader. So a record that is there all the time is returned once, and
        one that is added or deleted meanwhile once or not at all.
        """
        for name in self._names(after):
            try:
                record = self._found(name)
            except CodecError as error:  # noqa: PERF203 - each by itself
                yield Scanned(name, None, str(error))
            else:
                if record is not None:
                    yield Scanned(name, record)

    @abstractmethod
    def _found(self, name: str) -> RobotsRecord | None:
        """The record of the origin *name*. Raises CodecError if it cannot be trusted."""

    @abstractmethod
    def _names(self, after: str) -> Iterator[str]:
        """The names of all origins that come after *after*, in order."""

    def _distrust(self, origin: Origin, error: CodecError) -> None:  # noqa: B027
        """Says that the record of *origin* cannot be trusted, where others may have changed it."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of records."""

    @abstractmethod
    def close(self) -> None:
        """Releases files and memory. Does nothing the second time. Never raises."""

    def __bool__(self) -> bool:
        return True  # an empty store is a store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Store(StoreReader):
    """Records by origin, outliving what is in memory: what ``ROBOTS_STORE`` names.

    No body is longer than the store was opened for: a longer one is neither taken nor given.

    All methods but ``close()`` raise :exc:`~scrapy_robots_plus.StoreError`, and nothing else,
    if the store fails (disk full, read-only, locked, closed). Times are wall clock, in
    seconds since the epoch. A store has no clock: whoever asks says what time it is.
    """

    remote = False
    """Whether a server keeps the records: asking it may take long, and it drops outdated ones by
    itself.
    """

    keeps_failures = True
    """Whether records of files that were never readable belong here. Not if the next crawl finds
    them.
    """

    losses = 0
    """How many times all stored records may have been lost: the file was damaged or replaced.

    Records found afterwards may be older than those put before.
    """

    @abstractmethod
    def put(self, record: RobotsRecord) -> bool:
        """Stores *record*. Returns False if the stored record is newer (:class:`Standing`).

        When this returns True, the whole record is stored and survives a kill of the process. The
        record must have its body; one whose ``sha256`` does not match its body is refused. A store
        over its maximum drops its least valuable records first.
        """

    def purge(self, before: float, after: float = inf, limit: int | None = None) -> int:
        """Deletes outdated records, at most *limit* of them; returns how many it deleted.

        A record is outdated if its ``fetched_at`` and ``failed_at`` are both earlier than *before*.
        With *after*, a record with a later time than that is deleted too: a fast clock wrote it,
        and no correct record could ever replace it. What cannot be trusted has no time: it is
        deleted with everything, if *before* is infinite.
        """
        outdated = (name for name in self._names("") if self._is_outdated(name, before, after))
        deleted = 0
        for name in islice(outdated, limit):
            self._delete(name)
            deleted += 1
        return deleted

    def delete(self, origin: Origin) -> None:
        """Forgets *origin*, known or not."""
        self._delete(str(origin))

    @abstractmethod
    def _delete(self, name: str) -> None:
        """Forgets the origin *name*, known or not."""

    def _is_outdated(self, name: str, before: float, after: float) -> bool:
        try:
            record = self._found(name)
        except CodecError:
            return before == inf
        return record is not None and not before <= Standing.of(record).touched_at <= after


def checked_maximum(max_records: int) -> int:
    """*max_records*. Raises ValueError if it is not a valid size for a store."""
    if max_records < 1:
        raise ValueError(f"max_records = {max_records!r}: expected a whole number of at least 1")
    return max_records


class MemoryStore(Store):
    """Drops the least recently used records first.

    Records are kept encoded: some hundred bytes each rather than some thousand.
    """

    def __init__(self, max_records: int, max_body: int = MAX_BYTES) -> None:
        self._max_records = checked_maximum(max_records)
        self._max_body = max_body
        self._encoded: OrderedDict[str, bytes] | None = OrderedDict()

    def get(self, origin: Origin) -> RobotsRecord | None:
        if str(origin) in self._open():
            self._open().move_to_end(str(origin))
        return super().get(origin)

    def _found(self, name: str) -> RobotsRecord | None:
        data = self._open().get(name)
        return None if data is None else decode(data, self._max_body)

    def _names(self, after: str) -> Iterator[str]:
        return iter(sorted(name for name in self._open() if name > after))

    def put(self, record: RobotsRecord) -> bool:
        encoded, origin = self._open(), str(record.origin)
        data = encode(record, self._max_body)
        held = encoded.get(origin)
        if held is not None and standing(held) > standing(data):
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


MOST_ORIGINS = 50_000
"""Origins that are remembered individually: some 10 MB."""


class Trust:
    """A crawl never falls back to rules older than those it has seen, stored or not.

    If the store could not take a record, the stored one of that origin is out of date. It is not
    believed until the crawl has stored a newer one. If that happens to too many origins, or the
    file itself is lost, no record that was fetched before is believed.

    Times are wall clock, in seconds since the epoch.
    """

    def __init__(self, most_origins: int = MOST_ORIGINS) -> None:
        self._most_origins = most_origins
        self._out_of_date: set[Origin] = set()
        self._since = -inf

    def believes(self, record: RobotsRecord) -> bool:
        """Whether *record*, found in the store, is at least as new as what the crawl has seen."""
        return record.fetched_at >= self._since and record.origin not in self._out_of_date

    def restore(self, origin: Origin) -> None:
        """The store has the latest record of *origin*."""
        self._out_of_date.discard(origin)

    def withdraw(self, origin: Origin, now: float) -> None:
        """The store lacks the latest record of *origin*.

        Even if it has none, another process that knows less may store an older one again.
        """
        if len(self._out_of_date) >= self._most_origins:
            self.withdraw_all(now)
        self._out_of_date.add(origin)

    def withdraw_all(self, now: float) -> None:
        """Records stored until *now* may be lost, and replaced by older ones."""
        self._since = now
        self._out_of_date.clear()

    def settle(self, store: Store) -> None:
        """Removes outdated records from *store*, so that the next crawl fetches those files again.

        Raises StoreError if the store still fails.
        """
        for origin in self._out_of_date:
            store.delete(origin)
