"""The table at the end of a crawl: each origin's robots.txt, and the outcome of its requests."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scrapy_robots_plus.policy.access import Access
from scrapy_robots_plus.protocol.printable import printable

from .words import counted

if TYPE_CHECKING:
    from scrapy_robots_plus.crawl.gate.tally import Row, Tally
    from scrapy_robots_plus.crawl.policies.policy import Policy
    from scrapy_robots_plus.policy.origin import Origin

_HEAD = ("origin", "robots.txt", "delay", "allowed", "denied")


def headline(tally: Tally) -> str:
    """The totals in words."""
    origins, requests = counted(len(tally), "origin"), counted(tally.allowed, "request")
    return f"{origins}, {requests} allowed, {tally.denied:,} denied"


def table(tally: Tally, limit: int = 20) -> str:
    """One row per origin, most notable first: most denials, unreadable, slowest, most requests.

    At most *limit* rows; a last line says how many are left out.
    """
    ordered = sorted(tally, key=_notability, reverse=True)
    shown, left_out = ordered[:limit], ordered[limit:]
    rows = [_HEAD, *(_cells(origin, row) for origin, row in shown)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    texts = [_text(row, widths) for row in rows]
    if len(tally) > len(shown):
        texts.append(f"and {len(tally) - len(shown):,} more{_summed_up(left_out)}")
    return "\n".join(texts)


def _summed_up(rows: list[tuple[Origin, Row]]) -> str:
    """``: 12 x 503, all denied; 3 x 200, rules``"""
    found = Counter(row.policy.in_words for _, row in rows if row.policy is not None)
    kinds = "; ".join(f"{count:,} x {printable(kind)}" for kind, count in found.most_common(5))
    return f": {kinds}" if kinds else ""


def _text(cells: tuple[str, ...], widths: list[int]) -> str:
    """Words are aligned left, numbers right."""
    words = [cell.ljust(width) for cell, width in zip(cells[:2], widths[:2], strict=True)]
    numbers = [cell.rjust(max(width, 8)) for cell, width in zip(cells[2:], widths[2:], strict=True)]
    return "  ".join([*words, *numbers])


def _cells(origin: Origin, row: Row) -> tuple[str, ...]:
    policy = row.policy
    robots, delay = ("not read", "-") if policy is None else (policy.in_words, _delay(policy))
    return printable(origin), printable(robots), delay, f"{row.allowed:,}", f"{row.denied:,}"


def _delay(policy: Policy) -> str:
    """The delay in force, and the requested one if it differs."""
    asked = policy.asked_delay
    if asked is not None and asked.skip:
        return f"{asked.asked:g} s, too long"
    if policy.delay is None:
        return "-"
    kept = f"{policy.delay:g} s"
    return f"{kept} (asked {asked.asked:g} s)" if asked is not None and asked.clamped else kept


def _notability(item: tuple[Origin, Row]) -> tuple[int, bool, float, int]:
    _, row = item
    policy = row.policy
    unreachable = policy is not None and policy.access is Access.UNREACHABLE
    delay = policy.delay if policy else None
    return row.denied, unreachable, delay or 0.0, row.allowed
