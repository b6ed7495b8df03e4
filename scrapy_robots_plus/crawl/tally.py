"""How many requests each origin was allowed and denied, for the table at the end."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_robots_plus.policy.access import Access

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.policy.origin import Origin

    from .policy import Policy


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


def headline(tally: Tally) -> str:
    """The sums in words."""
    origins = "origin" if len(tally) == 1 else "origins"
    requests = "request" if tally.allowed == 1 else "requests"
    return (
        f"{len(tally):,} {origins}, {tally.allowed:,} {requests} allowed, {tally.denied:,} denied"
    )


def table(tally: Tally, limit: int = 20) -> str:
    """The origins as lines of text, most notable first: denied most, unreadable, slowest, largest.

    At most *limit* rows; the last line says how many are left out.
    """
    shown = sorted(tally, key=_notability, reverse=True)[:limit]
    rows = [("origin", "robots.txt", "delay", "allowed", "denied")]
    for origin, row in shown:
        robots, delay = _described(row.policy)
        rows.append((str(origin), robots, delay, str(row.allowed), str(row.denied)))
    wide, robots_wide = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = [
        f"{origin:<{wide}}  {robots:<{robots_wide}}  {delay:>8}  {allowed:>8}  {denied:>8}"
        for origin, robots, delay, allowed, denied in rows
    ]
    if len(tally) > len(shown):
        lines.append(f"and {len(tally) - len(shown):,} more")
    return "\n".join(lines)


def _described(policy: Policy | None) -> tuple[str, str]:
    """The robots.txt and its delay, as the table shows them."""
    if policy is None:
        return "- -", "-"
    delay = "-" if policy.delay is None else f"{policy.delay:g} s"
    return f"{policy.status} {policy.access.value}", delay


def _notability(item: tuple[Origin, Row]) -> tuple[int, bool, float, int]:
    _, row = item
    policy = row.policy
    unreachable = policy is not None and policy.access is Access.UNREACHABLE
    delay = policy.delay if policy else None
    return row.denied, unreachable, delay or 0.0, row.allowed
