"""A parsed robots.txt, the questions it answers, and the values that it returns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from . import crawl_delay
from .crawl_delay import RequestRate, VisitTime
from .dialect import RFC9309, Dialect, dialect_named
from .fields import Field, Line, read_line, to_lines
from .groups import STAR, Groups, Section, lines_apart
from .octets import Body, as_octets, text, to_utf8, whole_lines
from .product_token import Agent, as_names, as_text
from .rules import Rules
from .verdict import Explanation, Verdict

__all__ = ["RobotsTxt"]

READERS: dict[Field, Callable[[bytes], Any]] = {
    Field.CRAWL_DELAY: crawl_delay.crawl_delay,
    Field.REQUEST_RATE: crawl_delay.request_rate,
    Field.VISIT_TIME: crawl_delay.visit_time,
}
"""The parsers of values about pace and visiting hours; each returns None for an invalid value."""

_WHOLE_URL = re.compile("https?://[^/]", re.IGNORECASE)


class CleanParam(NamedTuple):
    """Query parameters that do not change a page: Yandex's Clean-param, not part of RFC 9309."""

    params: tuple[str, ...]
    """The names of the parameters, as served."""
    path: str = ""
    """The prefix of the paths that the rule applies to; empty for all paths."""


def clean_param(value: str) -> CleanParam:
    """Parses a value such as ``ref&sort /shop/``: parameters, and the path they apply to."""
    params, path = (*value.split(None, 1), "", "")[:2]
    return CleanParam(tuple(filter(None, params.split("&"))), path)


def is_whole_url(value: object) -> bool:
    """Returns whether *value* is text, or octets, of an http or https URL with a host."""
    return isinstance(value, (str, bytes)) and bool(_WHOLE_URL.match(as_text(value)))


_PATHS_BEGIN = ("", "/", "?", b"", b"/", b"?")

MAX_RULE = 500
"""The most characters of a Clean-param rule, as at Yandex: part of a longer one may be another."""

_MAX_ASKED = 16
"""The number of crawlers for which a file keeps compiled rules."""

_MAX_COMPILED = 50_000
"""The compiled rules that a file keeps for all crawlers: at most what 500 KiB can contain."""

OVERHEAD = 512
"""The octets of memory that a parsed file takes besides its lines, roughly."""


class RobotsTxt:
    """A parsed robots.txt (RFC 9309 2.2). Made by :meth:`parse`; never changes.

    An ``agent`` is a product token (``Foobot``), a whole User-Agent header, or a list of names in
    order of preference. A URL may be absolute, or a path and query.
    """

    __slots__ = ("_groups", "_lines", "_rules", "dialect")

    def __init__(self, lines: list[bytes], dialect: Dialect) -> None:
        self.dialect = dialect
        self._lines = lines
        self._groups = Groups(lines, dialect)
        self._rules: dict[Agent, Rules] = {}
        """The rules of the crawlers that were asked about."""

    @classmethod
    def parse(
        cls,
        body: Body,
        dialect: Dialect | str = RFC9309,
        charset: str | None = None,
        max_bytes: int | None = None,
    ) -> RobotsTxt:
        """Parses *body*. Never raises because of what a body contains.

        *dialect* may be a name, as ``ROBOTS_DIALECT`` takes it. Raises ValueError, listing the
        known names, for any other name; TypeError for a body of another type, such as a path.

        *charset* is from the Content-Type header, if it has one. With *max_bytes*, only the lines
        that end within so many octets are read (of text, octets in UTF-8); None, the default, reads
        all. A crawl applies its limit (2.5) when it fetches the file.
        """
        dialect = dialect_named(dialect)
        octets, charset = as_octets(body, charset or dialect.charset)
        octets = to_utf8(whole_lines(octets, max_bytes), charset)
        return cls(to_lines(octets, dialect.forgiving), dialect)

    def rules_for(self, agent: Agent) -> Rules:
        """Returns the rules that apply to a crawler.

        Made when first asked for, and shared by all crawlers with the same groups.
        """
        try:
            return self._rules[agent]
        except (KeyError, TypeError):
            names = as_names(agent)
        chosen = self._groups.groups_for(names)
        sections = tuple([self._groups.sections[each] for each in chosen])
        known = (each for each in self._rules.values() if each.chosen == sections)
        rules = next(known, None) or Rules(sections, self._lines, self.dialect)
        kept = {*self._rules.values(), rules}
        if len(self._rules) >= _MAX_ASKED or sum(each.size for each in kept) > _MAX_COMPILED:
            self._rules.clear()
        self._rules[agent if isinstance(agent, (str, bytes)) else names] = rules
        return rules

    def allowed(self, url: str | bytes, agent: Agent) -> bool:
        """Returns whether the crawler may fetch the URL.

        Raises ValueError if *agent* is a URL or a path, and *url* neither: the two were exchanged.
        """
        # Called for URL after URL, so the lookup of :meth:`rules_for` is inlined.
        rules = self._rules.get(agent) if isinstance(agent, str) else None
        return (rules or self._rules_for(agent, url)).allowed(url)

    def _rules_for(self, agent: Agent, url: str | bytes) -> Rules:
        is_url = is_whole_url(agent) or (isinstance(agent, str) and agent.startswith("/"))
        if is_url and not is_whole_url(url) and url[:1] not in _PATHS_BEGIN:
            raise ValueError(f"{agent!r} is a URL and {url!r} is none: were the two exchanged?")
        return self.rules_for(agent)

    def verdict(self, url: str | bytes, agent: Agent) -> Verdict:
        """Returns whether the crawler may fetch the URL, and which rule on which line decides.

        Raises ValueError as :meth:`allowed` does.
        """
        rules = self._rules.get(agent) if isinstance(agent, str) else None
        return (rules or self._rules_for(agent, url)).verdict(url)

    def explain(self, url: str | bytes, agent: Agent) -> Explanation:
        """Returns the verdict, and every matching rule that was beaten.

        Raises ValueError as :meth:`allowed` does.
        """
        return self._rules_for(agent, url).explain(url)

    def names_for(self, agent: Agent) -> tuple[str, ...]:
        """Returns the names under which the crawler looks for its groups, in order of preference.

        They are its product tokens (2.2.1) and other header words, or what the dialect compares.
        """
        return self._groups.names_for(as_names(agent))

    def crawl_delay(self, agent: Agent) -> float | None:
        """Returns the longest Crawl-delay of the crawler's groups, in seconds; None without one.

        A crawler with a group of its own does not inherit that of ``*``.
        """
        return max(self._understood(agent, Field.CRAWL_DELAY), default=None)

    def request_rate(self, agent: Agent) -> RequestRate | None:
        """Returns the slowest Request-rate of the crawler's groups; None if they have none.

        A rate for the whole day takes precedence over one for some hours.
        """
        rates = self._understood(agent, Field.REQUEST_RATE)
        return max(rates, key=lambda rate: (rate.window is None, rate.delay), default=None)

    def visit_time(self, agent: Agent) -> VisitTime | None:
        """Returns the first Visit-time of the crawler's groups; None if they have none."""
        return next(iter(self._understood(agent, Field.VISIT_TIME)), None)

    def _understood(self, agent: Agent, field: Field) -> list[Any]:
        """Returns the valid values of the lines of one *field* in the crawler's groups."""
        found = (READERS[field](line.value) for line in self.members(agent, field))
        return [value for value in found if value is not None]

    def members(self, agent: Agent, field: Field) -> Iterator[Line]:
        """Yields the lines of one *field*, except rules, in the crawler's groups, in file order."""
        names = set(self.names_for(agent))
        for section in self.rules_for(agent).chosen:
            meant, described, applies = _meant(section, names), 0, False
            for above, line in section.members:
                if described < above:
                    agents = section.names[described:above]
                    applies, described = not meant.isdisjoint(chain.from_iterable(agents)), above
                if applies and line.field is field:
                    yield line

    @property
    def uses_for_all(self) -> tuple[Line, ...]:
        """The Content-Usage and Content-Signal lines apart from all groups, in file order.

        They are above the first group, or behind a blank line. Sites mean all crawlers by them.
        """
        if not self._groups.is_about_uses:
            return ()
        return tuple(lines_apart(self._lines, self.dialect.forgiving))

    def addressed_as(self, agent: Agent) -> set[str]:
        """Returns the names by which the crawler's groups address it: its own, or ``*`` (2.2.1).

        Empty if no group applies to it.
        """
        names = set(self.names_for(agent))
        return set().union(*(_meant(section, names) for section in self.rules_for(agent).chosen))

    def groups_for(self, agent: Agent) -> tuple[tuple[str, ...], ...]:
        """Returns the user-agent values of each group that applies to the crawler, in file order.

        Empty if none applies.
        """
        return tuple(section.shown for section in self.rules_for(agent).chosen)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The user-agent values of each group, in file order."""
        return tuple(section.shown for section in self._groups.sections)

    def as_text(self) -> str:
        """Returns the lines that were read, as text.

        Parsed again, they mean the same, unless one is not UTF-8: its octets are shown as
        ``\\xe9``.
        """
        return "\n".join(map(text, self._lines))

    @property
    def lines(self) -> Iterator[Line]:
        """The lines that have a key and a value, in file order."""
        for number, line in enumerate(self._lines, 1):
            if read := read_line(number, line, self.dialect.forgiving):
                yield read

    @property
    def size(self) -> int:
        """The size of the lines that were read, in octets."""
        return sum(map(len, self._lines))

    def file_wide(self, field: Field) -> Iterator[Line]:
        """Returns the lines of one *field* that count for the whole file and have a value.

        The fields are Sitemap, Host, Clean-param and License. Lines are in file order.
        """
        return (line for line in self._groups.globals if line.field is field and line.value)

    def _values(self, field: Field) -> Iterator[str]:
        return (text(line.value) for line in self.file_wide(field))

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """Sitemap URLs as served, each once, in file order."""
        return tuple(dict.fromkeys(self._values(Field.SITEMAP)))

    @property
    def licenses(self) -> tuple[str, ...]:
        """License URLs as served, each once, in file order (RSL 1.0).

        Only whole URLs: other kinds of files, too, have lines such as ``License: none``.
        """
        return tuple(dict.fromkeys(filter(is_whole_url, self._values(Field.LICENSE))))

    @property
    def host(self) -> str | None:
        """The first Host line's value: the site's preferred host name (formerly Yandex)."""
        return next(self._values(Field.HOST), None)

    @property
    def clean_params(self) -> tuple[CleanParam, ...]:
        """The Clean-param rules, in file order. Those of more than 500 characters do not count."""
        values = self._values(Field.CLEAN_PARAM)
        return tuple(clean_param(value) for value in values if len(value) <= MAX_RULE)


def _meant(section: Section, names: set[str]) -> set[str]:
    """Returns the names by which a group applies to a crawler that goes by *names*.

    Its own, else ``*``; if the group has neither, a part of a name matched, and any may count.
    """
    named = set(chain.from_iterable(section.names))
    return named & names or named & {STAR} or named
