"""What changed between two files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.dialect import RFC9309
from scrapy_robots_plus.protocol.groups import STAR
from scrapy_robots_plus.protocol.matcher import NO_RANK, Pattern, Rank, rank_of
from scrapy_robots_plus.protocol.robotstxt import RobotsTxt
from scrapy_robots_plus.protocol.verdict import Reason, Verdict

from .changed_paths import MOST_EXAMPLES, MOST_STEPS, Search, Side, spelled_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scrapy_robots_plus.protocol.pace import RequestRate, VisitTime
    from scrapy_robots_plus.protocol.product_token import Agent


__all__ = ["Difference", "PathChange", "Terms", "difference"]


_SITE = b"http://site.example"
_ROBOTS_TXT: Pattern = b"/robots.txt", (), b""
_ABOVE_ALL = rank_of(2**32, 0, True)


@dataclass(frozen=True, slots=True)
class PathChange:
    """The paths that were decided by one rule, and now are decided by another, which says the
    opposite (RFC 9309 2.2.2). Where no rule decided, the reason says what did."""

    before: Verdict
    """What the first file says of each of these paths."""
    after: Verdict
    """What the second file says."""
    examples: tuple[str, ...]
    """Some of these paths, each with its query: from 1 to 3."""

    @property
    def allowed(self) -> bool:
        """Whether the paths became allowed; otherwise they became denied."""
        return self.after.allowed


@dataclass(frozen=True, slots=True)
class Terms:
    """What a file tells a crawler besides rules: its group, and other records (RFC 9309 2.2.1,
    2.2.4). Without a file, all of it is empty."""

    names: tuple[str, ...] = ()
    """The names, in lower case, by which user-agent lines address the crawler: its own, or ``*``;
    empty if no group applies to it."""
    crawl_delay: float | None = None
    """Seconds; None if the file asks for none."""
    request_rate: RequestRate | None = None
    """None if the file asks for none."""
    visit_time: VisitTime | None = None
    """None if the file asks for none."""
    sitemaps: tuple[str, ...] = ()
    """As served, in file order."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed for a crawler when its robots.txt changed (RFC 9309 2.4). True if anything
    did."""

    paths: tuple[PathChange, ...]
    """One for each two rules that decided before and decide now, in the order of their lines."""
    before: Terms
    """What the first file says besides rules."""
    after: Terms
    """What the second file says besides rules."""
    complete: bool
    """Whether every path that changed is one of ``paths``. Otherwise the rules have so many
    wildcards that the search was ended, and more may have changed than was found."""
    states: int
    """How many states of the two files the search looked at."""

    @property
    def became_allowed(self) -> tuple[PathChange, ...]:
        """What was denied and is allowed now."""
        return tuple(change for change in self.paths if change.allowed)

    @property
    def became_denied(self) -> tuple[PathChange, ...]:
        """What was allowed and is denied now."""
        return tuple(change for change in self.paths if not change.allowed)

    @property
    def sitemaps_added(self) -> tuple[str, ...]:
        """Sitemaps that only the second file names."""
        return _without(self.after.sitemaps, self.before.sitemaps)

    @property
    def sitemaps_removed(self) -> tuple[str, ...]:
        """Sitemaps that only the first file names."""
        return _without(self.before.sitemaps, self.after.sitemaps)

    def __bool__(self) -> bool:
        before, after = self.before, self.after
        return (
            bool(self.paths or self.sitemaps_added or self.sitemaps_removed)
            or (before.names, before.crawl_delay) != (after.names, after.crawl_delay)
            or (before.request_rate, before.visit_time) != (after.request_rate, after.visit_time)
        )


def _without(urls: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    others = set(known)
    return tuple(url for url in urls if url not in others)


def difference(
    before: RobotsTxt | Reason,
    after: RobotsTxt | Reason,
    agent: Agent,
    most_steps: int = MOST_STEPS,
) -> Difference:
    """What changed for *agent* from *before* to *after*, which may be read in different dialects.

    In place of a file that does not exist stands ``Reason.UNAVAILABLE``, which allows all, and of
    one that cannot be read ``Reason.UNREACHABLE``, which denies all but ``/robots.txt`` (RFC 9309
    2.3.1). Any other reason raises ValueError.

    Every example changed. Unless ``complete`` is false, every path that changed belongs to one of
    ``paths``; a path is one that URLs can have (RFC 3986), its escapes valid. The search takes time
    and memory in proportion to the files, or much more if there are many wildcards: it ends after
    *most_steps*, by default 10,000,000, which take up to 15 seconds and 400 MiB.
    """
    sides = _judged(before, after, agent), _judged(after, before, agent)
    found = Search(sides[0].side, sides[1].side, most_steps).run()
    paths: Iterable[bytes] = chain.from_iterable(found.examples.values())
    complete = found.complete and all(side.is_whole for side in sides)
    if not complete:
        likely = dict.fromkeys(_likely(sides[0].side, sides[1].side))
        paths = chain(paths, islice(likely, most_steps // _STEPS_OF_A_PATH))
    return Difference(
        _changes(sides, paths),
        _terms(before, agent),
        _terms(after, agent),
        complete,
        found.states,
    )


class _Judged(NamedTuple):
    """The rules of a file for a crawler, and their verdict on a URL."""

    side: Side
    verdict: Callable[[bytes], Verdict]
    is_whole: bool
    """Whether the patterns alone decide: not if groups of several names must all allow."""


def _judged(file: RobotsTxt | Reason, other: RobotsTxt | Reason, agent: Agent) -> _Judged:
    """*file* for a crawler; without one, paths are read as the *other* file reads them."""
    if isinstance(file, Reason):
        if file not in _SAYS_THE_SAME:
            raise ValueError(f"{file!r} does not stand for a missing or unreadable file")
        escapes = RFC9309.escapes if isinstance(other, Reason) else other.dialect.escapes
        same = RobotsTxt.parse(_SAYS_THE_SAME[file], replace(RFC9309, escapes=escapes))
        judged = _judged(same, same, agent)
        return judged._replace(verdict=lambda url: Verdict(judged.verdict(url).allowed, file))
    rules = file.rules_for(agent)
    patterns: dict[Pattern, Rank] = {}
    for pattern, rank in rules.patterns():
        patterns[pattern] = max(rank, patterns.get(pattern, NO_RANK))
    if file.dialect.robots_txt_allowed:
        patterns[_ROBOTS_TXT] = _ABOVE_ALL
    return _Judged(Side(patterns, file.dialect.escapes), rules.verdict, not rules.is_strictest)


_SAYS_THE_SAME = {Reason.UNAVAILABLE: "", Reason.UNREACHABLE: "User-agent: *\nDisallow: /"}
"""Texts that mean what it means that there is no file, or that it cannot be read."""


def _changes(sides: tuple[_Judged, _Judged], paths: Iterable[bytes]) -> tuple[PathChange, ...]:
    """The changes of those paths that changed, by what decides."""
    found: dict[tuple[Verdict, Verdict], list[str]] = {}
    for path in paths:
        before, after = (side.verdict(_SITE + path) for side in sides)
        if before.allowed is not after.allowed:
            examples = found.setdefault((before, after), [])
            if len(examples) < MOST_EXAMPLES:
                examples.append(path.decode("ascii"))
    changes = (PathChange(*verdicts, tuple(examples)) for verdicts, examples in found.items())
    return tuple(sorted(changes, key=_lines))


def _lines(change: PathChange) -> tuple[int, int]:
    return change.after.line or 0, change.before.line or 0


_STEPS_OF_A_PATH = 100
"""What the verdicts on a path take, in steps of the search."""


def _likely(before: Side, after: Side) -> Iterator[bytes]:
    """Paths that rules spell, for want of a complete search, those of changed rules first."""
    in_both = before.patterns.keys() & after.patterns.keys()
    for is_changed in (True, False):
        for side in (before, after):
            patterns = (each for each in side.patterns if (each in in_both) is not is_changed)
            yield from spelled_by(patterns, side.escapes)


def _terms(file: RobotsTxt | Reason, agent: Agent) -> Terms:
    if isinstance(file, Reason):
        return Terms()
    return Terms(
        _names(file, agent),
        file.crawl_delay(agent),
        file.request_rate(agent),
        file.visit_time(agent),
        file.sitemaps,
    )


def _names(file: RobotsTxt, agent: Agent) -> tuple[str, ...]:
    """The names in user-agent lines that match the crawler; if a part of one did, all of them."""
    sections = file.rules_for(agent).chosen
    named = {name for section in sections for names in section.names for name in names}
    own = named.intersection(file.names_for(agent))
    return tuple(sorted(own or named & {STAR} or named))
