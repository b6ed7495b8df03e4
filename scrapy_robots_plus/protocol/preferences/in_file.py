"""The statements of a robots.txt about the use of its pages, for one crawler."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.escapes import path_in_form, rule_form, url_form
from scrapy_robots_plus.protocol.fields import Field, Line
from scrapy_robots_plus.protocol.groups import STAR
from scrapy_robots_plus.protocol.matcher import Matcher, Places, matches, rank_of, take_apart

from . import TRAINING, Preference, Source, Statement, first_of_each
from .values import statements_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_robots_plus.protocol.dialect import Dialect
    from scrapy_robots_plus.protocol.matcher import Pattern, Rank
    from scrapy_robots_plus.protocol.product_token import Agent
    from scrapy_robots_plus.protocol.robotstxt import RobotsTxt


class UsageRules:
    """The Content-Usage lines for a crawler, and what they state about a path.

    The lines with the most specific path count, found by the same matcher as rules (RFC 9309
    2.2.2): all those with equal paths, or with other paths of that length that match, as paths with
    wildcards may.
    """

    __slots__ = ("_best", "_said")

    def __init__(self, lines: Iterable[Line], dialect: Dialect) -> None:
        said: dict[bytes, list[Statement]] = {}
        for line in lines:  # a line that states nothing still counts
            path, stated = statements_in(line)
            said.setdefault(in_form(path, dialect), []).extend(stated)
        ranks = {path: rank_of(len(path), 0, True) for path in said}
        self._best = Matcher({}, ranks.items(), wildcards=dialect.wildcards).best
        self._said: dict[Rank, list[tuple[Pattern, tuple[Statement, ...]]]] = {}
        """What is stated about the paths of each length, by their rank."""
        for path, statements in said.items():
            about = take_apart(path, dialect.wildcards), first_of_each(statements)
            self._said.setdefault(ranks[path], []).append(about)

    def __bool__(self) -> bool:
        return bool(self._said)

    def statements(self, path: bytes) -> tuple[Statement, ...]:
        """Returns the statements about a path, which is in the dialect's form."""
        places, as_long = Places(path), self._said.get(self._best(path), ())
        matching = (said for pattern, said in as_long if matches(pattern, path, places))
        return first_of_each(chain.from_iterable(matching))


def in_form(path: bytes, dialect: Dialect) -> bytes:
    """Returns a path-pattern as rules have it: equal ones are equal octets (RFC 9309 2.2.2)."""
    return rule_form(dialect)[1](path)


class FilePreferences:
    """The Content-Usage and Content-Signal lines for a crawler, and groups of usage-control tokens.

    They are in the groups of the crawler (Internet-Draft draft-ietf-aipref-attach;
    contentsignals.org), which are one (RFC 9309 2.2.1). ``use_tokens`` are names such as
    ``Google-Extended``, with which no crawler fetches: where a group that names one disallows a
    URL, that is a statement about training.

    Lines that stand apart from all groups are in none, or in the one above, as the drafts have it;
    but sites mean all crawlers by them. So what they disallow counts for all, and what they allow
    only if they are in a group of the crawler.

    It is true if there is anything to say about any URL.
    """

    __slots__ = ("_agent", "_apart", "_file", "_signals", "_tokens", "_usage")

    def __init__(self, file: RobotsTxt, agent: Agent, use_tokens: Iterable[str] = ()) -> None:
        self._file = file
        self._agent = agent
        apart = file.uses_for_all
        usage_apart = (line for line in apart if line.field is Field.CONTENT_USAGE)
        self._usage = UsageRules(file.members(agent, Field.CONTENT_USAGE), file.dialect)
        self._apart = UsageRules(usage_apart, file.dialect)
        signals = _signaled(file.members(agent, Field.CONTENT_SIGNAL))
        signals_apart = (line for line in apart if line.field is Field.CONTENT_SIGNAL)
        self._signals = first_of_each(chain(signals, _objections(_signaled(signals_apart))))
        # The groups for ``*`` say nothing about the use that only a token is for.
        self._tokens = tuple([each for each in use_tokens if file.addressed_as(each) - {STAR}])

    def __bool__(self) -> bool:
        return bool(self._usage or self._apart or self._signals or self._tokens)

    @property
    def everywhere(self) -> tuple[Statement, ...] | None:
        """The statements about every URL that may be fetched; None if they depend on the URL."""
        return None if self._usage or self._apart or self._tokens else self._signals

    def statements(self, url: str | bytes) -> tuple[Statement, ...]:
        """Returns the statements about a URL, absolute or a path and query.

        Empty if the crawler may not fetch it (draft-ietf-aipref-attach, "Content-Usage Rule
        Semantics").
        """
        if not self or not self._file.allowed(url, self._agent):
            return ()
        path = path_in_form(url, url_form(self._file.dialect))
        apart = _objections(self._apart.statements(path))
        usage = first_of_each(chain(self._usage.statements(path), apart))
        return (*usage, *self._signals, *self._of_tokens(url))

    def _of_tokens(self, url: str | bytes) -> Iterator[Statement]:
        for token in self._tokens:
            verdict = self._file.verdict(url, token)
            if not verdict:
                said = f"User-agent: {token}, {verdict.rule}"
                yield Statement(TRAINING, Preference.DISALLOW, Source.USE_TOKEN, said, verdict.line)


def _objections(statements: Iterable[Statement]) -> Iterator[Statement]:
    return (each for each in statements if each.preference is Preference.DISALLOW)


def _signaled(lines: Iterable[Line]) -> Iterator[Statement]:
    for line in lines:
        yield from statements_in(line)[1]
