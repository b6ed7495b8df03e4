"""Which stored records a crawl believes after the store has failed."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.origin import Origin

    from .base import Store
    from .record import RobotsRecord

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
        self._out_of_date: dict[Origin, bool] = {}
        """For each origin, whether an outdated record may still be in the store."""
        self._since = -inf
        self._settle_before = -inf

    def believes(self, record: RobotsRecord) -> bool:
        """Whether *record*, found in the store, is at least as new as what the crawl has seen."""
        return record.fetched_at >= self._since and record.origin not in self._out_of_date

    def restore(self, origin: Origin) -> None:
        """The store has the latest record of *origin*."""
        self._out_of_date.pop(origin, None)

    def withdraw(self, origin: Origin, now: float, *, deleted: bool = False) -> None:
        """The store lacks the latest record of *origin*. *deleted*: it has no record of it.

        Even then, another process that knows less may store an older record again.
        """
        if len(self._out_of_date) >= self._most_origins:
            if any(self._out_of_date.values()):
                self._settle_before = now
            self.withdraw_all(now)
        self._out_of_date[origin] = not deleted

    def withdraw_all(self, now: float) -> None:
        """Records stored until *now* may be lost, and replaced by older ones."""
        self._since = now
        self._out_of_date.clear()

    def settle(self, store: Store) -> None:
        """Removes outdated records from *store*, so that the next crawl fetches those files again.

        Raises StoreError if the store still fails.
        """
        for origin, stored in list(self._out_of_date.items()):
            if stored:
                store.delete(origin)
        if self._settle_before > -inf:
            store.purge(self._settle_before)
