"""Which records of a store a crawl believes after the store failed to do what it was told."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_robots_plus.policy.origin import Origin
    from scrapy_robots_plus.policy.record import RobotsRecord

    from .base import Store

MOST_ORIGINS = 50_000
"""Origins that are remembered one by one: some 10 MB."""


class Trust:
    """What a crawl has learnt holds for that crawl, stored or not.

    Where the store could not take it, what is stored of that origin is out of date, and not
    believed until the crawl has stored something newer. Where that happens to too many origins,
    or the file itself is lost, nothing is believed that was fetched before.

    Times are wall clock, in seconds since the epoch.
    """

    def __init__(self, most_origins: int = MOST_ORIGINS) -> None:
        self._most_origins = most_origins
        self._out_of_date: dict[Origin, bool] = {}
        """For each origin, whether what is out of date may still be in the store."""
        self._since = -inf
        self._settle_before = -inf

    def believes(self, record: RobotsRecord) -> bool:
        """Whether *record*, as found in the store, is not older than what the crawl has learnt."""
        return record.fetched_at >= self._since and record.origin not in self._out_of_date

    def restore(self, origin: Origin) -> None:
        """The store has the latest of *origin*."""
        self._out_of_date.pop(origin, None)

    def withdraw(self, origin: Origin, now: float, *, deleted: bool = False) -> None:
        """The store lacks the latest of *origin*. *deleted*: it has nothing of it.

        Even so another process, one that knows less, may bring an older record back.
        """
        if len(self._out_of_date) >= self._most_origins:
            if any(self._out_of_date.values()):
                self._settle_before = now
            self.withdraw_all(now)
        self._out_of_date[origin] = not deleted

    def withdraw_all(self, now: float) -> None:
        """Whatever was stored until *now* may be gone, and an older record be in its place."""
        self._since = now
        self._out_of_date.clear()

    def settle(self, store: Store) -> None:
        """Removes what is out of date from *store*, so that the next crawl asks anew.

        Raises StoreError where the store still cannot do what it is told.
        """
        for origin, stored in self._out_of_date.items():
            if stored:
                store.delete(origin)
        if self._settle_before > -inf:
            store.purge(self._settle_before)
