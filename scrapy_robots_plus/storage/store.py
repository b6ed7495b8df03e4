"""What every store can be asked: the interface of ``memory_store.py``, ``sqlite_store.py`` and
``redis_store.py``. ``open_by_scheme.py`` finds one by its URI; a new kind begins there.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from .record import CodecError, RobotsRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

    from scrapy_robots_plus.protocol.origin import Origin

logger = logging.getLogger(__name__)

SECONDS_OF_USE = 31 * 86_400.0
"""How long a record can be of use: the defaults of ROBOTS_STALE_MAX and ROBOTS_TTL together."""


class Scanned(NamedTuple):
    """One record of a store (``ROBOTS_STORE``), as :meth:`Store.scan` finds it."""

    origin: str
    """Under which it is stored, such as ``https://site.example``."""
    record: RobotsRecord | None
    """None if what is stored cannot be trusted."""
    fault: str = ""
    """Why it cannot be trusted."""


class Store(ABC):
    """Records by origin, outliving what is in memory: what ``ROBOTS_STORE`` names.

    No body is longer than the store was opened for: a longer one is neither taken nor given.

    All methods but :meth:`close` raise :exc:`~scrapy_robots_plus.StoreError`, and nothing else,
    if the store fails (disk full, read-only, locked, closed). Times are wall clock, in
    seconds since the epoch. A store has no clock: whoever asks says what time it is.
    """

    name = ""
    """What messages call it."""

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

    def get(self, origin: Origin) -> RobotsRecord | None:
        """The record of *origin*; None if there is none, or none that can be trusted."""
        try:
            return self._found(str(origin))
        except CodecError as error:
            self._distrust(origin, error)
            return None

    def scan(self) -> Iterator[Scanned]:
        """Goes through all records by origin, in the order of its text. One record is in memory at
        a time; of a Redis server also the names of all origins.

        Each record is as it is at the moment when it is returned; between two of them nothing is
        locked, and no old state of the store is kept for the reader. So a record that is there all
        the time is returned once, and one that is added or deleted meanwhile once or not at all.
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

        When this returns True, the whole record is stored and survives a kill of the process. The
        record must have its body; one whose ``sha256`` does not match its body is refused. A store
        over its maximum drops its least valuable records first.
        """

    @abstractmethod
    def delete(self, origin: Origin | str) -> None:
        """Forgets *origin*, or that of this name, known or not."""

    def delete_all(self) -> int:
        """Forgets all origins; returns how many. Others can use the store meanwhile."""
        deleted = 0
        for name in self._names():
            self.delete(name)
            deleted += 1
        return deleted

    def purge(self, before: float, after: float = inf, limit: float = inf) -> int:  # noqa: ARG002
        """Deletes outdated records, at most *limit* of them; returns how many it deleted. For a
        file: what is in memory ends with the crawl, and a server deletes them by itself.

        A record is outdated if its ``fetched_at`` and ``failed_at`` are both earlier than *before*,
        or one of them is later than *after*: a fast clock wrote it, and no correct record could
        ever replace it.
        """
        return 0

    @abstractmethod
    def _found(self, name: str) -> RobotsRecord | None:
        """The record of the origin *name*. Raises CodecError if it cannot be trusted."""

    @abstractmethod
    def _names(self) -> Iterator[str]:
        """The names of all origins, in order."""

    def _distrust(self, origin: Origin, error: CodecError) -> None:
        """The record of *origin* cannot be trusted."""
        logger.warning("%s: the record of %s is ignored: %s", self.name, origin, error)

    @abstractmethod
    def __len__(self) -> int:
        """The number of records."""

    def __bool__(self) -> bool:
        return True  # an empty store is a store

    @abstractmethod
    def close(self) -> None:
        """Releases files and memory. Does nothing the second time. Never raises."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
