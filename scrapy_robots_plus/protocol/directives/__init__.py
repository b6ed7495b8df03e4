"""The directives of a page: X-Robots-Tag headers, robots meta tags, and those for one crawler.

The grammar is what Google documents, in
https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag; no RFC defines it::

    X-Robots-Tag: noindex, googlebot: nofollow, unavailable_after: 25 Jun 2010 15:00:00 PST
    <meta name="robots" content="max-snippet:20, noarchive">

A name and a colon begin the directives for one crawler, which last until the next name. Misspelt
and unknown ones are ignored; semicolons and blanks separate directives, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum

from scrapy_robots_plus.protocol.http_caching import mail_date
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.product_token import Agent, as_text, fold, names_of, token_in

_LONGEST = 100
"""The most characters of a date; the longest form that makes sense has 50."""

_UTC = re.compile(r"\s*(?:Z|UTC|GMT)\Z")
_ZONE = re.compile(r"\s*([+-]\d\d):?(\d\d)\Z")


def moment_in(text: str) -> float | None:
    """Returns seconds since 1970; None if *text* is no date.

    A date without a time is its first moment; without a zone, or with one that RFC 822 does not
    name, it is UTC.
    """
    text = text.strip().upper()
    if len(text) > _LONGEST:
        return None
    try:  # before Python 3.11, fromisoformat() reads neither Z nor +0200
        moment = datetime.fromisoformat(_ZONE.sub(r"\1:\2", _UTC.sub("+00:00", text)))
    except ValueError:
        return mail_date(text if ":" in text else f"{text} 00:00:00")
    return moment.replace(tzinfo=moment.tzinfo or timezone.utc).timestamp()


NOINDEX = "noindex"
NOFOLLOW = "nofollow"
UNAVAILABLE_AFTER = "unavailable_after"

PLAIN = (
    NOINDEX,
    NOFOLLOW,
    *("noarchive", "nosnippet", "noimageindex", "notranslate"),
    *("noai", "noimageai", "indexifembedded", "nocache"),
)
"""The directives without a value. ``noai`` and ``noimageai`` are DeviantArt's, ``nocache`` is
Bing's name for ``noarchive``; the others are Google's."""

_SHORT_FOR = {"none": (NOINDEX, NOFOLLOW)}
_DENY_NOTHING = frozenset({"all", "index", "follow", "archive", "snippet", "translate", "cache"})
_WORDS = frozenset({*PLAIN, *_SHORT_FOR, *_DENY_NOTHING})

_FOR_ALL = frozenset({"*", "robots"})
"""The words that stand in place of a crawler's name for all crawlers."""

_LONGEST_TEXT = 200
"""The number of characters of a statement that are kept."""

_MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_SEPARATOR = re.compile(
    rf";|,(?!\s*(?:(?:{_MONTH})[a-z]*\s+)?\d+\b(?!\s*:))", re.IGNORECASE | re.ASCII
)
"""The separator of directives. A date has commas of its own: ``Friday, June 25, 2010``."""
_NO_NAME = re.compile(r"max-|unavailable|(?:.*,)?\s*\d+[\s-]", re.ASCII)
"""What begins a directive with a value, known or not, or a date, but no crawler's name."""
_DATED = re.compile(rf"\s*{UNAVAILABLE_AFTER}\s*:")
_WORD = re.compile(r"max-[^\s:]*\s*:\s*\S+|([^\s:,;]+)")
"""A word, or a limit such as ``max-image-preview: none``, which is for search engines only."""
_AROUND_A_NAME = " \t\r\n\"'`[](){}<>"
_NAME = re.compile(r"\w[^\s/;,\"'`\[\](){}<>]*")


class PageSource(Enum):
    """The two places of directives that Google documents."""

    HEADER = "X-Robots-Tag"
    META = "meta"


@dataclass(frozen=True, slots=True)
class PageStatement:
    """One directive of a page, as Google documents them for X-Robots-Tag and robots meta tags."""

    directive: str
    """The directive in lower case. ``none`` is two statements: ``noindex`` and ``nofollow``."""
    value: str
    """The date of ``unavailable_after``, in lower case; empty for other directives."""
    agent: str
    """The word that names the crawler, in lower case; empty if the directive is for all."""
    source: PageSource
    """The place of the directive: a header or a meta tag."""
    text: str
    """The part of the value that holds the directive, as served; its first 200 characters."""

    def describe(self) -> str:
        """Returns ``X-Robots-Tag: foobot: noindex``, or ``meta robots: noindex``, on one line."""
        source = self.source.value
        if self.source is PageSource.META:
            source = f"{source} {self.agent or 'robots'}"
        return printable(f"{source}: {self.text}")


def header_statements(values: str | bytes | Iterable[str | bytes]) -> tuple[PageStatement, ...]:
    """Returns what X-Robots-Tag headers say, to any crawler: one header line, or several.

    The grammar is Google's. Octets that are not UTF-8 are read as ISO-8859-1. Never raises; takes
    linear time.
    """
    lines = (values,) if isinstance(values, (str, bytes)) else values
    return tuple(each for line in lines for each in _read(as_text(line), PageSource.HEADER, ""))


def meta_statements(name: str, content: str) -> tuple[PageStatement, ...]:
    """Returns what ``<meta name=NAME content=CONTENT>`` says: to all crawlers if named ``robots``.

    The grammar is Google's. In a meta tag no directive names a crawler. Never raises; takes linear
    time.
    """
    return tuple(_read(content, PageSource.META, _agent_in(name)))


def _agent_in(name: str) -> str:
    """Returns the word that names a crawler, without quotes or brackets; empty for all."""
    word = _NAME.search(fold(name))
    return "" if word is None or word[0] in _FOR_ALL else word[0]


def _read(line: str, source: PageSource, agent: str) -> Iterator[PageStatement]:
    for part in _SEPARATOR.split(line):
        said = part
        if source is PageSource.HEADER:
            agent, said = _without_agent(part, agent)
        text = part.strip()[:_LONGEST_TEXT]
        for directive, value in _said_by(fold(said)):
            yield PageStatement(directive, value, agent, source, text)


def _without_agent(part: str, agent: str) -> tuple[str, str]:
    """Returns the crawler that *part* is for, *agent* unless it names another, and what it says."""
    start = 0
    while (colon := part.find(":", start)) != -1:
        name = fold(part[start:colon].strip(_AROUND_A_NAME))
        if name in _WORDS or _NO_NAME.match(name):
            break
        agent, start = _agent_in(name), colon + 1
    return agent, part[start:]


def _said_by(part: str) -> Iterator[tuple[str, str]]:
    """Yields the directives in one part of a value, each with its date, or an empty string."""
    if dated := _DATED.match(part):
        date = part[dated.end() :].strip()
        if moment_in(date) is not None:
            yield UNAVAILABLE_AFTER, date
        return
    for word in _WORD.findall(part):
        yield from ((each, "") for each in _SHORT_FOR.get(word, (word,)) if each in PLAIN)


@dataclass(frozen=True, slots=True)
class PageDirectives:
    """The directives of a page for one crawler, as Google documents them.

    Those for all crawlers and those for this one count together, and of contradicting ones the most
    restrictive.
    """

    statements: tuple[PageStatement, ...] = ()
    """The statements that count for this crawler, in the order of headers and page, each once."""

    @classmethod
    def of(cls, statements: Iterable[PageStatement], agent: Agent) -> PageDirectives:
        """Returns the directives for a crawler that goes by *agent*.

        They are the *statements* for all crawlers, and those for any of its names.
        """
        names = frozenset(names_of(agent))
        return cls(tuple(dict.fromkeys(each for each in statements if _is_for(names, each.agent))))

    def __bool__(self) -> bool:
        return bool(self.statements)

    def says(self, directive: str) -> PageStatement | None:
        """Returns the deciding statement with *directive*, such as ``noarchive``; None without one.

        The first decides, or the one with the earliest date.
        """
        said = (each for each in self.statements if each.directive == directive)
        return min(said, key=_counts_from, default=None)

    @property
    def directives(self) -> dict[str, str]:
        """The directives that count, in a fixed order, each with its date; empty if it takes
        none."""
        return {name: each.value for name, each in self._deciding()}

    def as_json(self) -> dict[str, dict[str, str]]:
        """Returns the directives, each with the statement that decides, as values that JSON has.

        A statement has its ``value``, ``source`` and ``text``, as in a :class:`PageStatement`.
        """
        return {
            name: {"value": each.value, "source": each.source.value, "text": each.text}
            for name, each in self._deciding()
        }

    def _deciding(self) -> Iterator[tuple[str, PageStatement]]:
        for name in (*PLAIN, UNAVAILABLE_AFTER) if self.statements else ():
            if statement := self.says(name):
                yield name, statement

    def against_following(self) -> PageStatement | None:
        """Returns the statement that says not to follow the page's links, if any.

        It is ``nofollow`` or ``none``.
        """
        return self.says(NOFOLLOW)

    def against_indexing(self, now: float) -> PageStatement | None:
        """Returns the statement that says not to use the page, if any.

        It is ``noindex``, ``none``, or an ``unavailable_after`` that is over *now* (seconds since
        1970).
        """
        ends = self.says(UNAVAILABLE_AFTER)
        return self.says(NOINDEX) or (ends if ends and _counts_from(ends) <= now else None)


def _is_for(names: frozenset[str], agent: str) -> bool:
    return not agent or agent in names or token_in(agent) in names


def _counts_from(statement: PageStatement) -> float:
    """Returns when a statement begins to count, in seconds since 1970; 0 unless it names a date."""
    return (moment_in(statement.value) or 0.0) if statement.value else 0.0
