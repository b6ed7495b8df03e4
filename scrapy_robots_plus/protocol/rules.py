"""The rules that apply to one crawler, read and compiled, and their verdicts (RFC 9309 2.2.2)."""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from .escapes import SIMPLE, path_in_form, rule_form, url_form
from .fields import Field, field_of, split_line
from .matcher import MOST_SCANNED, NO_RANK, Matcher, Places, line_of, matches, rank_of, take_apart
from .octets import text
from .verdict import Explanation, Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .dialect import Dialect
    from .groups import Section
    from .matcher import Pattern, Rank


_PER_OCTET = rank_of(2, 0, False)
"""The amount by which a rank grows with each octet. An allow weighs 1 more than a disallow: it
beats one of the same length, but not a longer one."""


def rank_by_length(pattern: bytes, number: int, allow: bool) -> Rank:
    """Returns the rank of a rule where the one with the most octets decides."""
    return len(pattern) * _PER_OCTET + rank_of(allow, number, allow)


MOST_OCTETS = 8192
"""The most octets of :meth:`Rules.compact`."""
_ROBOTS_TXT = b"/robots.txt"

_OF_ROBOTS_TXT = Verdict(True, Reason.ROBOTS_TXT)
_WITHOUT_GROUP = Verdict(True, Reason.NO_GROUP)
_WITHOUT_RULE = Verdict(True, Reason.NO_RULE)

_MOST_VERDICTS = 64
"""The number of verdicts that are kept."""


def deciding_pattern(compact: bytes, url: str | bytes, dialect: Dialect) -> bytes | None:
    """Returns the pattern in *compact* that decides: URLs with the same one have the same verdict.

    *compact* is from :meth:`Rules.compact`. Returns None if none of its patterns matches; a line
    end if the URL is allowed whatever they say.
    """
    path = path_in_form(url, url_form(dialect))
    if _is_robots_txt(path, dialect):
        return b"\n"
    for pattern in compact.split(b"\n")[:-1]:
        starred = dialect.wildcards and (b"*" in pattern or pattern.endswith(b"$"))
        if matches(take_apart(pattern), path) if starred else path.startswith(pattern):
            return pattern
    return None


def _is_robots_txt(path: bytes, dialect: Dialect) -> bool:
    return path == _ROBOTS_TXT and dialect.robots_txt_allowed


class Rules:
    """The rules of a file for one crawler: its groups, merged and compiled.

    ``chosen`` are the groups that apply to the crawler; without any, everything is allowed.
    """

    __slots__ = ("_dialect", "_form", "_lines", "_matcher", "_verdicts", "_with_rules", "chosen")

    def __init__(self, chosen: tuple[Section, ...], lines: list[bytes], dialect: Dialect) -> None:
        self.chosen, self._lines, self._dialect = chosen, lines, dialect
        self._form = url_form(dialect)
        self._with_rules = [section for section in chosen if section.rules]
        """The groups that have rules, in file order."""
        self._verdicts: dict[Rank, Verdict] = {}
        """The verdicts of rules that have decided: most URLs of a site meet the same few."""
        self._matcher: Matcher | None = None

    @property
    def size(self) -> int:
        """The number of rules."""
        return sum(len(section.rules) for section in self._with_rules)

    def _numbers(self) -> Iterator[int]:
        return chain.from_iterable(section.rules for section in self.chosen)

    def _ranked(self, numbers: Iterable[int]) -> Iterator[tuple[bytes, Rank]]:
        """Yields the normalized patterns of the rules on some lines, each with its rule's rank.

        2.2.2: the rule with the most octets decides; if an allow and a disallow have the same
        length, the allow does. Of equal rules, the first in the file is named. An empty pattern
        means nothing. In some dialects the first rule decides, and an empty one says the reverse.
        """
        dialect, lines = self._dialect, self._lines
        safe, form = rule_form(dialect)
        by_order = dialect.first_rule_decides
        for number in numbers:
            key, value = split_line(lines[number - 1], dialect.forgiving) or (b"", b"")
            allow = field_of(key, dialect.forgiving) is Field.ALLOW
            pattern = form(value) if value.translate(None, safe) else value
            if by_order:
                # ``Disallow:`` allows everything; ``Allow:`` does too, or disallows everything.
                allow = allow if pattern else not (allow and dialect.empty_allow_denies)
                rank = rank_of(-number, number, allow)
                yield pattern, rank
                if dialect.dollar_before_query and pattern.endswith(b"$"):
                    yield pattern[:-1] + b"?", rank
                continue
            if pattern:
                yield pattern, rank_by_length(pattern, number, allow)
            # An allowed index page also allows its directory, by a rule of that length (google).
            slash = pattern.rfind(b"/")
            if allow and pattern.startswith(b"/index.htm", slash):
                directory = pattern[: slash + 1] + b"$"
                yield directory, rank_by_length(directory, number, allow)

    def patterns(self) -> Iterator[tuple[Pattern, Rank]]:
        """Yields the patterns of the rules, each with its rank; one rule may have two."""
        for pattern, rank in self._ranked(self._numbers()):
            yield take_apart(pattern, self._dialect.wildcards), rank

    def compile(self) -> Matcher:
        """Compiles the rules, as the first question would."""
        lines, dialect = self._lines, self._dialect
        literal: dict[bytes, Rank] = {}
        others: list[tuple[bytes, Rank]] = []
        left: list[int] = []
        per_octet = 0 if dialect.first_rule_decides else _PER_OCTET
        numbers, allow, put = self._numbers(), rank_of(1, 0, True), literal.setdefault
        # Nine of ten rules take this shortcut, which gives the same result as _ranked(): their
        # octets stay as they are. rank_of() is inlined, as a file may have thousands of rules.
        for number in numbers if per_octet else ():
            line = lines[number - 1]
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
            elif not value or special.strip(b"*$"):
                left.append(number)
            else:
                others.append((value, rank + len(value) * _PER_OCTET))
        others += self._ranked(chain(left, numbers))  # if the first one decides, of all
        self._matcher = Matcher(literal, others, per_octet, dialect.wildcards)
        return self._matcher

    def allowed(self, url: str | bytes) -> bool:
        """Returns whether the URL may be fetched."""
        path = path_in_form(url, self._form)
        best = (self._matcher or self.compile()).best(path)
        return best & 1 == 1 or _is_robots_txt(path, self._dialect)

    def compact(self) -> bytes | None:
        """Returns the rules' patterns in a few hundred octets, for hosts that are rarely needed.

        There is one on each line, the strongest first, so that the first match decides; see
        :func:`deciding_pattern`. Compiled rules are faster but take some twenty times the memory;
        without either, the whole file would be parsed again. None if there are too many rules, if
        they are too long, or if one has a line end.
        """
        if self.size > MOST_SCANNED:
            return None
        strongest_first = sorted(self._ranked(self._numbers()), key=itemgetter(1), reverse=True)
        best = dict.fromkeys(pattern for pattern, _ in strongest_first)
        compact = b"".join([pattern + b"\n" for pattern in best])
        fits = len(compact) <= MOST_OCTETS and compact.count(b"\n") == len(best)
        return compact if fits else None

    def verdict(self, url: str | bytes) -> Verdict:
        """Returns whether the URL may be fetched, and which rule decides."""
        path = path_in_form(url, self._form)
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
        """Returns the verdict, and every matching rule that was beaten.

        Tries each rule individually, so it takes longer than :meth:`verdict`.
        """
        verdict, path = self.verdict(url), path_in_form(url, self._form)
        places = Places(path)
        ranks = [rank for pattern, rank in self.patterns() if matches(pattern, path, places)]
        # One line may stand for two patterns; it is named once.
        named = {line_of(rank): self._named(rank) for rank in sorted(ranks)}
        named.pop(verdict.line or 0, None)
        return Explanation(verdict, tuple(reversed(named.values())))

    def _named(self, rank: Rank) -> Verdict:
        """Returns the verdict of a rule, which is quoted as written in the file."""
        number = line_of(rank)
        rule = text(self._lines[number - 1].partition(b"#")[0].strip())
        at = bisect_right(self._with_rules, number, key=lambda group: group.rules[0])
        group = self._with_rules[at - 1]
        return Verdict(rank & 1 == 1, Reason.RULE, rule, number, group.shown)
