"""The interface of all stores, and the exception they raise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from scrapy_robots_plus.policy.origin import Origin
    from scrapy_robots_plus.policy.record import RobotsRecord


class StoreError(Exception):
    """A store (``ROBOTS_STORE``) cannot do what it was asked.

    The message names the store and says why. Nothing is half done: what was stored before still
    is. The crawl can go on without the store.
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


class Store(ABC):
    """Records by origin, outliving what is in memory: what ``ROBOTS_STORE`` names.

    No body is longer than the store was opened for: a longer one is neither taken nor given.

    All methods but :meth:`close` raise :exc:`~scrapy_robots_plus.StoreError`, and nothing else,
    if the store fails (disk full, read-only, locked, closed). Times are wall clock, in
    seconds since the epoch. A store has no clock: whoever asks says what time it is.
    """

    losses = 0
    """How many times all stored records may have been lost: the file was damaged or replaced.

    Records found afterwards may be older than those put before.
    """

    @abstractmethod
    def get(self, origin: Origin) -> RobotsRecord | None:
        """The record of *origin*; None if there is none, or none that can be trusted."""

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
    def purge(self, before: float, after: float = float("inf"), limit: int | None = None) -> int:
        """Deletes outdated records, at most *limit* of them; returns how many it deleted.

        A record is outdated if its ``fetched_at`` and ``failed_at`` are both earlier than *before*.
        With *after*, a record with a later time than that is deleted too: a fast clock wrote it,
        and no correct record could ever replace it.
        """

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


def checked_maximum(max_records: int) -> int:
    """*max_records*. Raises ValueError if it is not a valid size for a store."""
    if max_records < 1:
        raise ValueError(f"max_records = {max_records!r}: expected a whole number of at least 1")
    return max_records
