"""The rules that apply to one crawler: read, put in order, compiled; and their verdict on a URL
(RFC 9309 2.2.2).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.dialect import Dialect, Order
from scrapy_robots_plus.protocol.lines import Kind, kind_of, split_line
from scrapy_robots_plus.protocol.octets import text, texts
from scrapy_robots_plus.protocol.verdict import Explanation, Reason, Verdict

from .escapes import RULE_FORM, SIMPLE, URL_FORM, path_of, usual_url
from .matcher import (
    MOST_SCANNED,
    NO_RANK,
    PER_WEIGHT,
    Matcher,
    Places,
    Rank,
    allows,
    line_of,
    matches,
    rank_of,
    take_apart,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from scrapy_robots_plus.protocol.groups import Section

    from .matcher import Pattern


WEIGHT_OF_OCTET = 2
"""An allow gets 1 more: it beats a disallow of the same length, but not one that is longer."""

_PER_OCTET = WEIGHT_OF_OCTET * PER_WEIGHT


def read_rules(
    numbers: Iterable[int], lines: list[bytes], dialect: Dialect
) -> Iterator[tuple[int, bool, bytes]]:
    """For each rule: its line number, whether it allows, and its path-pattern as served."""
    for number in numbers:
        pair = split_line(lines[number - 1], dialect)
        if pair is not None:  # always true: the scanner found a rule here
            key, value = pair
            yield number, kind_of(key, dialect) is Kind.ALLOW, value


def ranked(
    rules: Iterable[tuple[int, bool, bytes]], dialect: Dialect
) -> Iterator[tuple[bytes, Rank]]:
    """The normalized patterns, each with the rank of its rule.

    2.2.2: the rule with the most octets decides; if an allow and a disallow have the same length,
    the allow does. Among equal rules, the first in the file is named.
    """
    safe, form = RULE_FORM[dialect.escapes]
    for number, allow, value in rules:
        pattern = form(value) if value.translate(None, safe) else value
        weight = _weight(pattern, allow, number, dialect)
        if not pattern:
            # 2.2.2: an empty pattern means nothing, or, in some dialects, the reverse of its rule.
            if dialect.empty_decides:
                # ``Disallow:`` allows everything; ``Allow:`` does too, or disallows everything.
                allow = not (allow and dialect.empty_allow_denies)
                yield b"", rank_of(weight, number, allow)
            continue
        rank = rank_of(weight, number, allow)
        yield pattern, rank
        if allow and dialect.index_is_slash and b"/index.htm" in pattern:
            yield from _directory_of_index(pattern, number, dialect)
        if dialect.dollar_before_query and pattern.endswith(b"$"):
            yield pattern[:-1] + b"?", rank


def _weight(pattern: bytes, allow: bool, number: int, dialect: Dialect) -> int:
    if dialect.order is Order.FIRST:
        return -number
    length = len(pattern if dialect.dollar_counts else pattern.rstrip(b"$"))
    return length * WEIGHT_OF_OCTET + (1 if allow and dialect.allow_wins_ties else 0)


def _directory_of_index(
    pattern: bytes, number: int, dialect: Dialect
) -> Iterator[tuple[bytes, Rank]]:
    """The directory, if its index page is allowed: a rule with a length of its own (GoogleOnly)."""
    slash = pattern.rindex(b"/")
    if pattern.startswith(b"/index.htm", slash):
        directory = pattern[: slash + 1] + b"$"
        yield directory, rank_of(_weight(directory, True, number, dialect), number, True)


def compile_rules(sections: Iterable[Section], lines: list[bytes], dialect: Dialect) -> Matcher:
    """Compiles the rules of a crawler's groups."""
    literal: dict[bytes, Rank] = {}
    others: list[tuple[bytes, Rank]] = []
    by_length = dialect.order is Order.OCTETS and dialect.dollar_counts
    for section in sections:
        numbers = section.rules
        if by_length:
            numbers = _add_usual(numbers, lines, dialect, literal, others)
        others += ranked(read_rules(numbers, lines, dialect), dialect)
    return Matcher(literal, others, dialect.wildcards, _PER_OCTET if by_length else 0)


def _add_usual(
    numbers: list[int],
    lines: list[bytes],
    dialect: Dialect,
    literal: dict[bytes, Rank],
    others: list[tuple[bytes, Rank]],
) -> list[int]:
    """Adds the rules whose octets stay as they are; returns the numbers of the others.

    Nine of ten rules take this shortcut, which gives the same result as :func:`ranked`. The ranks
    in *literal* are those of an empty pattern.
    """
    left = []
    allow = rank_of(1 if dialect.allow_wins_ties else 0, 0, True)
    wild = b"*" if dialect.dollar_before_query else b"*$"
    put = literal.setdefault
    for number in numbers:
        line = lines[number - 1]
        # rank_of() is inlined: a file may have thousands of rules.
        if line.startswith((b"Disallow:", b"disallow:")):
            value, rank = line[9:].strip(), number * -2
        elif line.startswith(b"Allow:") and b"/index.htm" not in line:
            value, rank = line[6:].strip(), allow - number * 2
        else:
            left.append(number)
            continue
        special = value.translate(None, SIMPLE)
        if not special and value:
            if put(value, rank) < rank:
                literal[value] = rank
        elif not value or special.strip(wild):
            left.append(number)
        else:
            others.append((value, rank + len(value) * _PER_OCTET))
    return left


MOST_OCTETS = 8192

# The first octet of a line: whether the rule allows, and whether it is a prefix or has wildcards.
_ALLOW, _DISALLOW, _ALLOW_WILD, _DISALLOW_WILD = b"a", b"d", b"A", b"D"


_ROBOTS_TXT = b"/robots.txt"

_OF_ROBOTS_TXT = Verdict(True, Reason.ROBOTS_TXT)
_WITHOUT_GROUP = Verdict(True, Reason.NO_GROUP)
_WITHOUT_RULE = Verdict(True, Reason.NO_RULE)

_START = itemgetter(0)

_MOST_VERDICTS = 64
"""How many verdicts are kept."""


def allowed_by_compact_rules(compact: bytes, url: str | bytes, dialect: Dialect) -> bool:
    """The same result as :meth:`Rules.allowed`, from :meth:`Rules.compact` alone."""
    line = deciding_line(compact, url, dialect)
    return line is None or line[:1] not in (_DISALLOW, _DISALLOW_WILD)


def deciding_line(compact: bytes, url: str | bytes, dialect: Dialect) -> bytes | None:
    """What of :meth:`Rules.compact` decides: URLs with the same line have the same verdict.

    None if no rule matches, or there is none; the path itself if it is allowed whatever they say.
    """
    path = path_in_form(url, dialect)
    if _is_robots_txt(path, dialect):
        return path
    allowed, disallowed = _ALLOW + path, _DISALLOW + path
    for line in compact.split(b"\n") if compact else ():
        if disallowed.startswith(line) or allowed.startswith(line):
            return line
        if line[0] < 0x61 and matches(take_apart(line[1:]), path):
            return line
    return None


def path_in_form(url: str | bytes, dialect: Dialect) -> bytes:
    """Path and query of a URL, as rules are compared with them."""
    octets = url.encode("utf-8", "surrogatepass") if isinstance(url, str) else url
    usual = usual_url(octets)
    path = usual[1] if usual else path_of(octets)
    safe, form = URL_FORM[dialect.escapes]
    return form(path) if path.translate(None, safe) else path


def _is_robots_txt(path: bytes, dialect: Dialect) -> bool:
    return path == _ROBOTS_TXT and dialect.robots_txt_allowed


class _Strictest:
    """The rules for several names, all of which must allow."""

    __slots__ = ("_matchers",)

    def __init__(self, matchers: list[Matcher]) -> None:
        self._matchers = matchers

    def best(self, path: bytes) -> Rank:
        ranks = [matcher.best(path) for matcher in self._matchers]
        return max((rank for rank in ranks if not allows(rank)), default=max(ranks))


@dataclass(slots=True, eq=False, repr=False)
class Rules:
    """What the file says to one crawler: its groups, merged and compiled.

    ``chosen`` are the groups that apply to the crawler; without any, everything is allowed. Those
    of each of its *names* are merged, and a URL must be allowed to all names.
    """

    _names: Sequence[Sequence[Section]]
    _lines: list[bytes]
    _dialect: Dialect
    chosen: tuple[Section, ...] = field(init=False)
    size: int = field(init=False)
    """The number of rules."""
    is_strictest: bool = field(init=False)
    """Whether the groups of several names must all allow."""
    _starts: list[tuple[int, Section]] = field(init=False)
    """The groups, each with its first rule; empty until a rule is to be named."""
    _shown: dict[int, tuple[str, ...]] = field(init=False)
    """Agents as text, by the first rule of their group, shared by all verdicts."""
    _verdicts: dict[Rank, Verdict] = field(init=False)
    """Those of rules that have decided: most URLs of a site meet the same few."""
    _safe: bytes = field(init=False)
    _form: Callable[[bytes], bytes] = field(init=False)
    _matcher: Matcher | _Strictest | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        names = self._names
        self.chosen = tuple(dict.fromkeys(chain.from_iterable(names)))
        self.size = sum([len(section.rules) for sections in names for section in sections])
        self.is_strictest = len(names) > 1
        self._starts, self._shown, self._verdicts = [], {}, {}
        self._safe, self._form = URL_FORM[self._dialect.escapes]

    def _ranked(self) -> Iterator[tuple[bytes, Rank]]:
        for section in self.chosen:
            rules = read_rules(section.rules, self._lines, self._dialect)
            yield from ranked(rules, self._dialect)

    def patterns(self) -> Iterator[tuple[Pattern, Rank]]:
        """The patterns of the rules, each with its rank; one rule may have two."""
        wildcards = self._dialect.wildcards
        return ((take_apart(pattern, wildcards), rank) for pattern, rank in self._ranked())

    def compile(self) -> Matcher | _Strictest:
        """Compiles the rules, which otherwise the first question does."""
        if self._matcher is None:
            found = [compile_rules(each, self._lines, self._dialect) for each in self._names]
            self._matcher = _Strictest(found) if self.is_strictest else found[0]
        return self._matcher

    def allowed(self, url: str | bytes) -> bool:
        """Whether the URL may be fetched."""
        # A crawl calls this for each URL, so :func:`path_in_form` is inlined.
        octets = url.encode("utf-8", "surrogatepass") if isinstance(url, str) else url
        usual = usual_url(octets)
        path = usual[1] if usual else path_of(octets)
        if path.translate(None, self._safe):
            path = self._form(path)
        best = (self._matcher or self.compile()).best(path)
        return best & 1 == 1 or _is_robots_txt(path, self._dialect)

    def compact(self) -> bytes | None:
        """The rules in a few hundred octets, kept for hosts that are rarely needed; see
        :func:`allowed_by_compact_rules`.

        One line per rule, the strongest first, so that the first match decides. Compiled rules are
        faster but take some twenty times the memory; without either, the whole file would be parsed
        again. None if there are too many rules, if they are too long, or if one has a line end.
        """
        if self.is_strictest or self.size > MOST_SCANNED:
            return None
        best: dict[bytes, Rank] = {}
        for pattern, rank in self._ranked():
            best[pattern] = max(rank, best.get(pattern, rank))
        lines = []
        for pattern, rank in sorted(best.items(), key=itemgetter(1), reverse=True):
            word = _ALLOW if allows(rank) else _DISALLOW
            if self._dialect.wildcards and (b"*" in pattern or pattern.endswith(b"$")):
                word = _ALLOW_WILD if allows(rank) else _DISALLOW_WILD
            if b"\n" in pattern:
                return None
            lines.append(word + pattern)
        compact = b"\n".join(lines)
        return compact if len(compact) <= MOST_OCTETS else None

    def verdict(self, url: str | bytes) -> Verdict:
        """Whether the URL may be fetched, and which rule decides."""
        path = path_in_form(url, self._dialect)
        if _is_robots_txt(path, self._dialect):
            return _OF_ROBOTS_TXT
        if not self.chosen:
            return _WITHOUT_GROUP
        rank = (self._matcher or self.compile()).best(path)
        if rank == NO_RANK:
            return _WITHOUT_RULE
        verdict = self._verdicts.get(rank)
        if verdict is None:
            if len(self._verdicts) >= _MOST_VERDICTS:
                self._verdicts.clear()
            verdict = self._verdicts[rank] = self._named(rank)
        return verdict

    def explain(self, url: str | bytes) -> Explanation:
        """The verdict, and every matching rule that it beat.

        Tries each rule individually, so it takes longer than the verdict.
        """
        verdict, path = self.verdict(url), path_in_form(url, self._dialect)
        places = Places(path)
        ranks: set[Rank] = set()
        for pattern, rank in self.patterns():
            if matches(pattern, path, places):
                ranks.add(rank)
        # One line may stand for two patterns; it is named once.
        named = {line_of(rank): self._named(rank) for rank in sorted(ranks)}
        named.pop(verdict.line or 0, None)
        return Explanation(verdict, tuple(reversed(named.values())))

    def _named(self, rank: Rank) -> Verdict:
        """The verdict of a rule, as written in the file."""
        number = line_of(rank)
        rule = text(self._lines[number - 1].partition(b"#")[0].strip())
        return Verdict(allows(rank), Reason.RULE, rule, number, self._agents_above(number))

    def _agents_above(self, number: int) -> tuple[str, ...]:
        """The user-agent values of the group with the rule on this line."""
        if not self._starts:
            self._starts = [(each.rules[0], each) for each in self.chosen if each.rules]
            self._starts.sort(key=_START)
        start, section = self._starts[bisect_right(self._starts, number, key=_START) - 1]
        if start not in self._shown:
            self._shown[start] = texts(section.agents)
        return self._shown[start]
