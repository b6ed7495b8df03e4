"""The table at the end of a crawl: each origin's robots.txt, and the outcome of its requests.

Of a large crawl it shows some origins of each group, and the sum of the others, so that the columns
always add up to the headline. A group is what happened, ``timeout, all denied`` for example:
thirty dead hosts take no more lines than any other group.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.counting import counted
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.standing import Standing
from scrapy_robots_plus.settings.options import Mode

from .sites import sites_of
from .words import columns, in_seconds, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scrapy_robots_plus.origins.tally import Forgotten, Tally

    from .sites import Kind, Site

MOST_LINES = 20
MOST_GROUPS = 8
"""The smallest are shown as one. Half of the lines at most: each group needs one for an origin and
one for the sum of the others."""
MOST_OF_A_NAME = 60
"""Columns of an origin that are shown."""

_HEAD = ("site", "robots.txt", "delay asked", "delay kept", "allowed", "denied")
_WORDS = 2
"""So many columns hold words, the others numbers."""
_DELAYS = slice(2, 4)


class Line(NamedTuple):
    """What a line of the table shows."""

    name: str
    in_words: str
    asked: str
    kept: str
    allowed: int
    denied: int


def headline(tally: Tally, mode: Mode = Mode.OBEY) -> str:
    """The totals in words."""
    sites, requests = counted(len(tally), "site"), counted(tally.allowed, "request")
    enforces = mode is Mode.OBEY
    parts = [
        sites,
        f"{requests} allowed",
        f"{tally.denied:,} {'' if enforces else 'would be '}denied",
    ]
    if tally.undecided:
        parts.append(f"{tally.undecided:,} undecided")
    if tally.not_asked:
        parts.append(f"{tally.not_asked:,} with dont_obey_robotstxt")
    parts += _of_pages(tally, "" if enforces else "would be ")
    return ("" if enforces else "observe mode, nothing was enforced: ") + ", ".join(parts)


def _of_pages(tally: Tally, to_be: str) -> Iterator[str]:
    if tally.not_followed:
        yield f"{counted(tally.not_followed, 'link')} {to_be}dropped (nofollow)"
    if tally.not_indexed:
        yield f"{counted(tally.not_indexed, 'item')} {to_be}dropped (noindex)"


def table(tally: Tally, most: int = MOST_LINES, *, delays: bool = True) -> str:
    """The most notable origins of each group, and sums of the others, in at most *most* lines.

    *delays*: whether the crawl keeps delays, so that there are any to show.
    """
    forgotten = tally.forgotten
    rows = [_HEAD, *map(_cells, _lines(sites_of(tally), most - bool(forgotten.origins)))]
    if forgotten.origins:
        rows.append(_cells(_forgotten(forgotten)))
    if not delays:
        rows = [row[: _DELAYS.start] + row[_DELAYS.stop :] for row in rows]
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_text(row, widths) for row in rows)


def _lines(sites: Sequence[Site], most: int) -> Iterator[Line]:
    groups = _groups(sites)
    share = _share([len(group) for group in groups], most)
    for group in groups:
        shown = len(group) if len(group) <= share else share - 1
        yield from map(_line, group[:shown])
        if group[shown:]:
            yield _sum(group[shown:])


def _groups(sites: Iterable[Site]) -> list[list[Site]]:
    """*sites* by what happened, in their order; the smallest groups together as the last."""
    by_what: defaultdict[tuple[Kind, str], list[Site]] = defaultdict(list)
    for site in sites:
        by_what[site.kind, site.in_words].append(site)
    groups = sorted(by_what.values(), key=_rank)
    if len(groups) <= MOST_GROUPS:
        return groups
    smallest = {id(group) for group in sorted(groups, key=len)[: 1 - MOST_GROUPS]}
    kept = [group for group in groups if id(group) not in smallest]
    return [*kept, [site for group in groups if id(group) in smallest for site in group]]


def _rank(group: Sequence[Site]) -> tuple[Kind, int, int]:
    return group[0].kind, -sum(site.denied for site in group), -len(group)


def _share(sizes: Sequence[int], most: int) -> int:
    """How many lines each group may take, so that all together take *most*; at least two."""
    share = 2
    while share < most and sum(min(size, share + 1) for size in sizes) <= most:
        share += 1
    return share


def _line(site: Site) -> Line:
    asked = "-" if site.delay_asked is None else in_seconds(site.delay_asked)
    kept = "-" if site.delay is None else in_seconds(site.delay)
    return Line(
        shortened(site.origin, MOST_OF_A_NAME),
        printable(site.in_words),
        asked,
        "skipped" if site.is_skipped else kept,
        site.allowed,
        site.denied,
    )


def _sum(sites: Sequence[Site]) -> Line:
    return Line(
        f"{len(sites):,} more",
        ", ".join(_in_sum(sites)),
        _range(site.delay_asked for site in sites),
        _range(site.delay for site in sites),
        sum(site.allowed for site in sites),
        sum(site.denied for site in sites),
    )


def _in_sum(sites: Sequence[Site]) -> Iterator[str]:
    """What happened, with the number of those that a sum must not hide."""
    happened = {site.in_words for site in sites}
    yield printable(happened.pop()) if len(happened) == 1 else "various"
    unread = sum(site.is_unreadable for site in sites)
    closed = sum(site.is_closed for site in sites)
    if unread and happened:
        yield f"{unread:,} unreadable"
    skipped = sum(site.is_skipped for site in sites)
    if closed:
        yield f"{closed:,} all denied"
    if happened:
        for answers, count in Counter(site.answers for site in sites).items():
            if answers is not Standing.OPEN:
                yield f"{count:,} {answers}"
    if skipped:
        yield f"{skipped:,} skipped"


def _range(delays: Iterable[float | None]) -> str:
    """``-``, ``2 s``, ``0.5 to 60 s``; ``2 s for 7`` if so many of them have one."""
    all_of_them = list(delays)
    known = sorted(delay for delay in all_of_them if delay is not None)
    if not known:
        return "-"
    low, high = in_seconds(known[0]), in_seconds(known[-1])
    range_ = high if low == high else f"{low.removesuffix(' s')} to {high}"
    return range_ if len(known) == len(all_of_them) else f"{range_} for {len(known):,}"


def _forgotten(forgotten: Forgotten) -> Line:
    name = f"{forgotten.origins:,} more"
    return Line(name, "forgotten", "-", "-", forgotten.allowed, forgotten.denied)


def _cells(line: Line) -> tuple[str, ...]:
    return (*line[:-2], f"{line.allowed:,}", f"{line.denied:,}")


def _text(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Words are aligned left, numbers right."""
    padded = []
    for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        space = " " * (width - columns(cell))
        padded.append(cell + space if number < _WORDS else space + cell)
    return "  ".join(padded)
