"""The table at the end of a crawl: each origin's robots.txt, and the outcome of its requests.

For a large crawl it shows some origins of each group, and the sum of the others, so that the
columns always add up to the headline. A group is all origins to which the same happened, such as
``timeout, all denied``: thirty dead hosts take no more lines than any other group.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum

from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.origins.tally import Row, Tally
from scrapy_robots_plus.protocol.access import Access, Failure
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import counted, printable
from scrapy_robots_plus.protocol.standing import Standing


class Kind(IntEnum):
    """The most notable thing about an origin, in the order in which origins are shown."""

    DENIED = 0
    """Some requests were denied."""
    SKIPPED = 1
    """The origin asks for a delay that is too long, and is not crawled."""
    UNREADABLE = 2
    """The robots.txt cannot be read."""
    CLOSED = 3
    """The origin refuses pages that its robots.txt allows, or fails."""
    SLOW = 4
    """The origin asks for a delay, which is kept."""
    OTHER = 5


class Site:
    """One origin, as the crawl leaves it."""

    def __init__(self, origin: Origin, row: Row) -> None:
        self.origin = origin
        self.policy = policy = row.policy
        """The policy of its robots.txt; None if that was not read."""
        self.allowed, self.denied = row.allowed, row.denied
        self.given_up = row.given_up
        """Whether its host was given up because it had refused too many requests."""
        self.answers = row.standing
        """How the origin treats allowed requests."""
        self.failure = None if policy is None else policy.record.failure
        """Why the robots.txt cannot be read now; None if it can, or if it was not read at all."""
        self._is_unreachable = policy is not None and policy.access is Access.UNREACHABLE
        self.is_unreadable = self.failure is not None or self._is_unreachable
        """Whether the robots.txt cannot be read now, whatever follows from that."""
        asked = None if policy is None else policy.asked_delay
        self.is_skipped = asked is not None and asked.skip
        self.delay_asked = None if asked is None else asked.asked
        """The longest delay that the robots.txt asks for, in seconds."""
        self.delay = None if policy is None else policy.delay
        """The longest delay that was kept for the origin, in seconds."""

    @property
    def kind(self) -> Kind:
        if self.is_skipped:
            return Kind.SKIPPED
        if self.denied and not self._is_unreachable:
            return Kind.DENIED
        if self.is_unreadable:
            return Kind.UNREADABLE
        if self.answers is not Standing.OPEN:
            return Kind.CLOSED
        return Kind.SLOW if self.delay else Kind.OTHER

    @property
    def in_words(self) -> str:
        """What happened, in words: ``200, rules``, ``503, all denied``, ..."""
        words = "not read" if self.policy is None else self.policy.in_words
        if self.given_up:
            return f"{words}, given up"
        return words if self.answers is Standing.OPEN else f"{words}, {self.answers}"

    @property
    def standing(self) -> Standing:
        """How the origin treats the crawl: by its robots.txt first, then by its answers."""
        if self.allowed or not self.denied:
            return self.answers
        if self._is_unreachable:
            return Standing.WALLED if self.failure is Failure.CHALLENGE else Standing.BROKEN
        return Standing.DENIED


def sites_of(tally: Tally) -> list[Site]:
    """Returns every origin that *tally* remembers, the most notable first.

    The order is by kind; then by most denials, longest delay, most allowed requests.
    """
    return sorted(
        (Site(origin, row) for origin, row in tally),
        key=lambda each: (each.kind, -each.denied, -(each.delay or 0.0), -each.allowed),
    )


MOST_LINES = 20
MOST_GROUPS = 8
"""How many groups are shown; the smallest are merged. At most half of the lines, as each group
needs one line for an origin and one for the sum of the others."""
MOST_OF_A_NAME = 60
"""Characters of an origin that are shown."""

_HEAD = ("site", "robots.txt", "delay asked", "delay kept", "allowed", "denied")
_WORDS = 2
"""How many columns hold words, before those that hold numbers."""
_DELAYS = slice(2, 4)


def headline(tally: Tally, mode: str = "obey") -> str:
    """Returns the totals in words."""
    to_be = "" if mode == "obey" else "would be "
    parts = {
        f"{counted(len(tally), 'site')}, {counted(tally.allowed, 'request')} allowed": True,
        f"{tally.denied:,} {to_be}denied": True,
        f"{tally.not_asked:,} with dont_obey_robotstxt": tally.not_asked,
        f"{counted(tally.not_followed, 'link')} {to_be}dropped (nofollow)": tally.not_followed,
        f"{counted(tally.not_indexed, 'item')} {to_be}dropped (noindex)": tally.not_indexed,
    }
    mode_in_words = "observe mode, nothing was enforced: " if to_be else ""
    return mode_in_words + ", ".join(filter(parts.get, parts))


def table(tally: Tally, *, delays: bool = True) -> str:
    """Returns the most notable origins of each group, and sums of the others.

    It has ``MOST_LINES`` at most below its head. *delays*: whether the crawl keeps delays to show.
    """
    forgotten, origins = tally.forgotten, tally.forgotten_origins
    rows = [_HEAD, *_lines(sites_of(tally), MOST_LINES - bool(origins))]
    if origins:
        counts = f"{forgotten.allowed:,}", f"{forgotten.denied:,}"
        rows.append((f"{origins:,} more", "forgotten", "-", "-", *counts))
    if not delays:
        rows = [row[: _DELAYS.start] + row[_DELAYS.stop :] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_text(row, widths) for row in rows)


def _lines(sites: Sequence[Site], most: int) -> Iterator[tuple[str, ...]]:
    groups = _groups(sites)
    share = _share([len(group) for group in groups], most)
    for group in groups:
        shown = len(group) if len(group) <= share else share - 1
        yield from (_line(shortened(site.origin, MOST_OF_A_NAME), [site]) for site in group[:shown])
        if rest := group[shown:]:
            yield _line(f"{len(rest):,} more", rest)


def _line(name: str, sites: Sequence[Site]) -> tuple[str, ...]:
    """Returns the cells of one site, or of the sum of several."""
    are_skipped = all(site.is_skipped for site in sites)
    asked = _range([site.delay_asked for site in sites])
    kept = "skipped" if are_skipped else _range([site.delay for site in sites])
    allowed, denied = sum(site.allowed for site in sites), sum(site.denied for site in sites)
    return name, ", ".join(_in_words(sites)), asked, kept, f"{allowed:,}", f"{denied:,}"


def _groups(sites: Iterable[Site]) -> list[list[Site]]:
    """Returns *sites* by what happened, in their order; the smallest groups are one, the last."""
    by_what: defaultdict[tuple[Kind, str], list[Site]] = defaultdict(list)
    for site in sites:
        by_what[site.kind, site.in_words].append(site)
    groups = sorted(by_what.values(), key=_rank)
    if len(groups) <= MOST_GROUPS:
        return groups
    largest = sorted(groups, key=len)[1 - MOST_GROUPS :]
    others = [site for group in groups if group not in largest for site in group]
    return [*(group for group in groups if group in largest), others]


def _rank(group: Sequence[Site]) -> tuple[Kind, int, int]:
    return group[0].kind, -sum(site.denied for site in group), -len(group)


def _share(sizes: Sequence[int], most: int) -> int:
    """Returns how many lines each group may take, at least two, so that all take at most *most*."""
    fit = (n for n in range(2, most + 1) if sum(min(size, n) for size in sizes) <= most)
    return max(fit, default=2)


def _in_words(sites: Sequence[Site]) -> Iterator[str]:
    """Yields what happened to *sites*, and the numbers of those that a sum must not hide."""
    happened = {site.in_words for site in sites}
    is_one = len(happened) == 1
    yield printable(happened.pop()) if is_one else "various"
    if len(sites) == 1:
        return
    hidden: Counter[str] = Counter()
    for site in sites:
        hidden["unreadable"] += site.is_unreadable and not is_one
        is_denied = site.kind is Kind.DENIED and not site.is_unreadable
        hidden["all denied"] += is_denied and not site.allowed
        hidden[site.answers] += site.answers is not Standing.OPEN and not is_one
        hidden["skipped"] += site.is_skipped
    for what in ("unreadable", "all denied", *Standing, "skipped"):
        if hidden[what]:
            yield f"{hidden[what]:,} {what}"


def _range(delays: Sequence[float | None]) -> str:
    """Returns ``-``, ``2 s`` or ``0.5 to 60 s``; ``2 s for 7`` if only seven have a delay."""
    known = sorted(delay for delay in delays if delay is not None)
    if not known:
        return "-"
    low, high = (f"{delay:,g} s" for delay in (known[0], known[-1]))
    range_ = high if low == high else f"{low.removesuffix(' s')} to {high}"
    return range_ if len(known) == len(delays) else f"{range_} for {len(known):,}"


def _text(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Returns a line of the table, with words aligned left and numbers right."""
    words = map(str.ljust, cells[:_WORDS], widths)
    numbers = map(str.rjust, cells[_WORDS:], widths[_WORDS:])
    return "  ".join((*words, *numbers))


def shortened(name: object, most: int) -> str:
    """Returns *name*, printable, cut in the middle to at most *most* characters.

    The end is kept: in a host name it says whose it is.
    """
    shown = printable(name)
    if len(shown) <= most:
        return shown
    half = (most - 3) // 2
    return f"{shown[:half]}...{shown[half + 3 - most :]}"


def uses_line(crawl: Crawl) -> str | None:
    """Returns the line about uses below the table; None if a site could not object to any."""
    settings, tally = crawl.settings, crawl.get(Tally)
    objections: int = crawl.stats.get_value(stats.OBJECTIONS, 0)
    skipped = tally.skipped_requests + tally.skipped_pages
    if not (settings.uses or objections or skipped):
        return None
    parts = []
    if skipped or settings.skipped_uses:
        requests, pages = counted(tally.skipped_requests, "request"), tally.skipped_pages
        word = "skipped" if settings.enforces else "would be skipped"
        parts.append(f"{requests} and {counted(pages, 'page')} {word}")
    if objections or not settings.skipped_uses:
        parts.append(f"{counted(objections, 'page')} crawled anyway")
    uses = f" to {', '.join(settings.uses)}" if settings.uses else ""
    return f"objections{uses}: {'; '.join(parts)}"
