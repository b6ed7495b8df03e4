"""The difference between two files: what changed for a crawler.

Where two files decide differently, the rule that decides in one is missing in the other, where
another rule decides, or none. So paths are made that such a rule matches, by itself and together
with each other rule, and both files are asked about them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from string import ascii_letters

from .crawl_delay import RequestRate, VisitTime
from .matcher import NO_RANK, Pattern, Rank, line_of, spelled
from .product_token import Agent
from .robotstxt import RobotsTxt
from .rules import Rules, rank_by_length
from .verdict import Verdict

__all__ = ["Difference", "PathChange", "Terms", "difference"]

_SITE = b"http://site.example"
_NOT_SENT = re.compile(rb"[^A-Za-z0-9._~!$&'()*+,;=:@/?%-]|%(?![0-9A-Fa-f]{2})")
"""Anything that no path and query may contain (RFC 3986 3.3, 3.4)."""

_MOST_EXAMPLES = 3
"""The number of examples for each pair of rules."""

_MOST_PAIRS = 200_000
"""The number of pairs of rules that are looked at."""

_MOST_STEPS = 20_000_000
"""The most steps of all paths: each takes a thousand, and one for each octet of wildcard rules."""


@dataclass(frozen=True, slots=True)
class PathChange:
    """Paths that a rule decided and that another decides the other way now (RFC 9309 2.2.2).

    Where no rule decides, the reason of the verdict says what does.
    """

    before: Verdict
    """The verdict of the first file on each of these paths."""
    after: Verdict
    """The verdict of the second file on each of these paths."""
    examples: tuple[str, ...]
    """Some of these paths, each with its query: from 1 to 3."""

    @property
    def allowed(self) -> bool:
        """Whether the paths became allowed; otherwise they became denied."""
        return self.after.allowed


@dataclass(frozen=True, slots=True)
class Terms:
    """All that a file tells a crawler besides rules (RFC 9309 2.2.1, 2.2.4).

    Its group, Crawl-delay, Request-rate, Visit-time and sitemaps.
    """

    names: tuple[str, ...] = ()
    """The names, in lower case, by which user-agent lines address the crawler: its own, or ``*``;
    empty if no group applies to it."""
    crawl_delay: float | None = None
    """The Crawl-delay in seconds; None if the file asks for none."""
    request_rate: RequestRate | None = None
    """The Request-rate; None if the file asks for none."""
    visit_time: VisitTime | None = None
    """The Visit-time; None if the file asks for none."""
    sitemaps: frozenset[str] = frozenset()
    """The Sitemap URLs, as served."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed for a crawler when its robots.txt changed (RFC 9309 2.4).

    True if anything did.
    """

    paths: tuple[PathChange, ...]
    """One change for each pair of a rule that decided and one that decides, in line order."""
    before: Terms
    """The terms of the first file."""
    after: Terms
    """The terms of the second file."""
    complete: bool
    """Whether all rules were compared. If there were too many, more may have changed."""

    def __bool__(self) -> bool:
        return bool(self.paths) or self.before != self.after


def difference(before: RobotsTxt, after: RobotsTxt, agent: Agent) -> Difference:
    """Returns what changed for *agent* from *before* to *after* (RFC 9309 2.2).

    Both files are read in the same dialect. Every example changed. What changed only where three or
    more rules meet may be missed.
    """
    old, new = _patterns(before, agent), _patterns(after, agent)
    every = {**old, **new}
    # Where the first rule decides, the effect of any rule may have changed.
    by_order = before.dialect.first_rule_decides or after.dialect.first_rule_decides
    changed = [each for each in every if by_order or old.get(each) != new.get(each)]
    starred = [each for each in every if _has_star(each)]
    # Two rules without wildcards meet only on the paths of the longer one. If that has not
    # changed, its paths are skipped: it is the stronger one, unless the other ends in a star.
    beaten = every if any(_ends_in_star(each, old, new) for each in changed) else ()
    pairs = chain(
        (
            (first, second)
            for first in changed
            for second in (first, *(every if _has_star(first) else starred))
        ),
        ((each, each) for each in beaten),
    )
    letter = _letter_beside(every)
    found = (_paths_of(*pair, letter) for pair in islice(pairs, _MOST_PAIRS))
    asked = map(_sent, chain.from_iterable(found))
    most = _MOST_STEPS // (1_000 + sum(len(spelled(each)) for each in starred))
    paths = sorted(dict.fromkeys(islice(asked, most)), key=len)
    return Difference(
        _changes(before.rules_for(agent), after.rules_for(agent), paths),
        _terms(before, agent),
        _terms(after, agent),
        next(asked, None) is None and next(pairs, None) is None,
    )


def _patterns(file: RobotsTxt, agent: Agent) -> dict[Pattern, Rank]:
    """Returns the patterns of the rules for a crawler, each with its rank if all stood on one line.

    ``/a*`` matches like ``/a``, but may beat ``/ab``.
    """
    found: dict[Pattern, Rank] = {}
    for pattern, rank in file.rules_for(agent).patterns():
        found[pattern] = max(rank + 2 * line_of(rank), found.get(pattern, NO_RANK))
    return found


def _has_star(pattern: Pattern) -> bool:
    return bool(pattern[1] or pattern[2])


def _ends_in_star(pattern: Pattern, *ranks: dict[Pattern, Rank]) -> bool:
    """Returns whether *pattern* is from ``/a*``: its rank is higher than that of its octets."""
    usual = rank_by_length(pattern[0], 0, True)
    return not _has_star(pattern) and max(each.get(pattern, usual) for each in ranks) > usual


def _letter_beside(patterns: Iterable[Pattern]) -> bytes:
    """Returns a letter that occurs in no pattern, if there is one."""
    known = set(chain.from_iterable(map(spelled, patterns)))
    letters = ascii_letters.encode()
    return bytes([next((each for each in letters if each not in known), letters[0])])


def _paths_of(first: Pattern, second: Pattern, letter: bytes) -> Iterator[bytes]:
    """Yields paths that both match, if any: their wildcards stand for nothing, or for a letter."""
    prefix, shorter = sorted((first[0], second[0]), key=len, reverse=True)
    tail = max(first[2] or b"", second[2] or b"", key=len)
    if not prefix.startswith(shorter):
        return
    if b"" in (first[2], second[2]):
        yield prefix  # the only path of one of them
    elif first == second:
        yield from _joined((prefix, *first[1], tail), letter)
    else:
        yield from _joined((prefix, *first[1], *second[1], tail), letter)
        yield from _joined((prefix, *second[1], *first[1], tail), letter)


def _sent(path: bytes) -> bytes:
    """Returns *path* as clients send it, escaped where it has to be."""
    return _NOT_SENT.sub(lambda octet: b"%%%02X" % ord(octet[0]), path)


def _joined(pieces: tuple[bytes, ...], letter: bytes) -> Iterator[bytes]:
    for between in (b"", letter):
        path = between.join(pieces)
        yield path if path.startswith(b"/") else b"/" + path


def _changes(before: Rules, after: Rules, paths: Iterable[bytes]) -> tuple[PathChange, ...]:
    """Returns the changes of those paths that changed, by what decides."""
    found: dict[tuple[Verdict, Verdict], list[str]] = {}
    for path in paths:
        verdicts = before.verdict(_SITE + path), after.verdict(_SITE + path)
        if verdicts[0].allowed is not verdicts[1].allowed:
            found.setdefault(verdicts, []).append(path.decode("ascii"))
    changes = (PathChange(*each, tuple(found[each][:_MOST_EXAMPLES])) for each in found)
    return tuple(sorted(changes, key=lambda each: (each.after.line or 0, each.before.line or 0)))


def _terms(file: RobotsTxt, agent: Agent) -> Terms:
    return Terms(
        tuple(sorted(file.addressed_as(agent))),
        file.crawl_delay(agent),
        file.request_rate(agent),
        file.visit_time(agent),
        frozenset(file.sitemaps),
    )
