"""How many requests each origin was allowed and denied, for the table at the end."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.crawl.policies.policy import Policy
    from scrapy_robots_plus.policy.origin import Origin


@dataclass(slots=True)
class Row:
    """One origin's numbers, with its robots.txt as it was last seen."""

    allowed: int = 0
    denied: int = 0
    policy: Policy | None = None


class Tally:
    """Counts by origin, bounded: the least recently used origins are added up in ``others``."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._rows: OrderedDict[Origin, Row] = OrderedDict()
        self.others = Row()
        self.others_count = 0

    def row(self, origin: Origin, policy: Policy | None = None) -> Row:
        """The numbers of *origin*, to be counted up."""
        row = self._rows.get(origin)
        if row is None:
            row = self._rows[origin] = Row()
            self._shrink()
        else:
            self._rows.move_to_end(origin)
        if policy is not None:
            row.policy = policy
        return row

    def __iter__(self) -> Iterator[tuple[Origin, Row]]:
        return iter(self._rows.items())

    def __len__(self) -> int:
        return len(self._rows) + self.others_count

    def _shrink(self) -> None:
        if len(self._rows) > self._size:
            _, row = self._rows.popitem(last=False)
            self.others.allowed += row.allowed
            self.others.denied += row.denied
            self.others_count += 1

    @property
    def allowed(self) -> int:
        return self.others.allowed + sum(row.allowed for row in self._rows.values())

    @property
    def denied(self) -> int:
        return self.others.denied + sum(row.denied for row in self._rows.values())
