"""The records that a crawl still believes of a store that has failed."""

from __future__ import annotations

from math import inf

from scrapy_robots_plus.protocol.origin import Origin

from .record import RobotsRecord
from .store import Store

MOST_ORIGINS = 50_000
"""The most origins that are remembered one by one: some 10 MB."""


class Trust:
    """The guard that keeps a crawl from rules older than those it has seen, stored or not.

    If the store failed to take a record, the stored one of that origin is out of date. It is not
    believed until the crawl has stored a newer one. If that happens to too many origins, or the
    file itself is lost, no record fetched before that is believed, nor one dated before the latest
    of this crawl: the clock may have been set back.

    Times are wall clock, in seconds since the epoch.
    """

    def __init__(self, most_origins: int = MOST_ORIGINS) -> None:
        self._most_origins = most_origins
        self._out_of_date: set[Origin] = set()
        self._since = self._latest = -inf

    def saw(self, record: RobotsRecord) -> None:
        """Notes that the crawl has made *record*, which the store may fail to take."""
        self._latest = max(self._latest, record.fetched_at)

    def believes(self, record: RobotsRecord) -> bool:
        """Returns whether *record*, from the store, is no older than what the crawl has seen."""
        return record.fetched_at >= self._since and record.origin not in self._out_of_date

    def restore(self, origin: Origin) -> None:
        """Notes that the store has the latest record of *origin*."""
        self._out_of_date.discard(origin)

    def withdraw(self, origin: Origin, now: float) -> None:
        """Notes that the store lacks the latest record of *origin*.

        Even if it has none, another process that knows less may store an older one again.
        """
        if len(self._out_of_date) >= self._most_origins:
            self.withdraw_all(now)
            self._out_of_date.clear()
        self._out_of_date.add(origin)

    def withdraw_all(self, now: float) -> None:
        """Notes that records stored until *now* may be lost, and replaced by older ones."""
        self._since = max(now, self._since, self._latest)

    def settle(self, store: Store) -> None:
        """Deletes out-of-date records from *store*, so that the next crawl fetches the files again.

        Raises StoreError if the store still fails.
        """
        for origin in self._out_of_date:
            store.delete(origin)
