"""What is believed of a store that fails."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.origin import Origin

    from .record import RobotsRecord
    from .store import Store

MOST_ORIGINS = 50_000
"""Origins that are remembered individually: some 10 MB."""


class Trust:
    """A crawl never falls back to rules older than those it has seen, stored or not.

    If the store could not take a record, the stored one of that origin is out of date. It is not
    believed until the crawl has stored a newer one. If that happens to too many origins, or the
    file itself is lost, no record that was fetched before is believed, nor one that is dated before
    the latest of this crawl: the clock may have been set back.

    Times are wall clock, in seconds since the epoch.
    """

    def __init__(self, most_origins: int = MOST_ORIGINS) -> None:
        self._most_origins = most_origins
        self._out_of_date: set[Origin] = set()
        self._since = self._latest = -inf

    def saw(self, record: RobotsRecord) -> None:
        """The crawl has made *record*, which may not be stored."""
        self._latest = max(self._latest, record.fetched_at)

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
            self._out_of_date.clear()
        self._out_of_date.add(origin)

    def withdraw_all(self, now: float) -> None:
        """Records stored until *now* may be lost, and replaced by older ones."""
        self._since = max(now, self._since, self._latest)

    def settle(self, store: Store) -> None:
        """Removes outdated records from *store*, so that the next crawl fetches those files again.

        Raises StoreError if the store still fails.
        """
        for origin in self._out_of_date:
            store.delete(origin)
