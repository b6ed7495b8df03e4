"""The interface of all stores, and the exceptions they raise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from typing_extensions import Self

    from scrapy_robots_plus.protocol.origin import Origin

    from .record import RobotsRecord

SECONDS_OF_USE = 31 * 86_400.0
"""How long a record can be of use: the defaults of ROBOTS_STALE_MAX and ROBOTS_TTL together."""


class StoreError(Exception):
    """A store (``ROBOTS_STORE``) cannot do what it was asked.

    The message names the store and says why. Nothing is half done: what was stored before still
    is. The crawl can go on without the store.
    """


class StoreDamagedError(StoreError):
    """What a store (``ROBOTS_STORE``) has on disk is damaged.

    Only readers raise it: a store sets the damaged file aside and begins a new one.
    """


class Standing(NamedTuple):
    """Which of two records of one origin is the newer: the greater one.

    An answer is newer than any failure to get one. A failure since then adds to its answer, so
    the time of the answer counts before the time of the failure: a copy outlives an outage (RFC
    9309 2.3.1.4). Times are wall clock, in seconds since the epoch.
    """

    readable: bool
    """Whether the origin ever gave a definite answer."""
    fetched_at: float
    """When the answer was received, or last found to be unchanged."""
    failed_at: float
    """When it was last tried in vain to get it; 0 for never since."""

    @classmethod
    def of(cls, record: RobotsRecord) -> Standing:
        """That of *record*."""
        return cls(record.readable, record.fetched_at, record.failed_at)

    @property
    def touched_at(self) -> float:
        """When the origin was last asked, answer or not: wall clock, seconds since the epoch."""
        return max(self.fetched_at, self.failed_at)


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

    @abstractmethod
    def get(self, origin: Origin) -> RobotsRecord | None:
        """The record of *origin*; None if there is none, or none that can be trusted."""

    @abstractmethod
    def scan(self, after: str = "") -> Iterator[Scanned]:
        """Goes through all records by origin, in the order of its text, in constant memory.

        *after*: only origins whose text comes after this one. Each record is as it is at the
        moment when it is returned; between two of them nothing is locked, and no old state of the
        store is kept for the reader. So a record that is there all the time is returned once, and
        one that is added or deleted meanwhile once or not at all.
        """

    @abstractmethod
    def faults(self) -> Iterator[str]:
        """What is wrong with the store itself, apart from its records: a line each."""

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

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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

    @abstractmethod
    def delete(self, origin: Origin) -> None:
        """Forgets *origin*, known or not."""

    @abstractmethod
    def purge(self, before: float, after: float = inf, limit: int | None = None) -> int:
        """Deletes outdated records, at most *limit* of them; returns how many it deleted.

        A record is outdated if its ``fetched_at`` and ``failed_at`` are both earlier than *before*.
        With *after*, a record with a later time than that is deleted too: a fast clock wrote it,
        and no correct record could ever replace it.
        """


def checked_maximum(max_records: int) -> int:
    """*max_records*. Raises ValueError if it is not a valid size for a store."""
    if max_records < 1:
        raise ValueError(f"max_records = {max_records!r}: expected a whole number of at least 1")
    return max_records
