"""Dialects: the ways of reading a robots.txt, as options of one engine.

RFC 9309 settles most questions that its predecessors left open. To agree with an older system, pick
its dialect; to make another dialect, use :func:`dataclasses.replace`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from . import rfc9309


class Names(Enum):
    """When a user-agent line applies to a crawler. Case never matters."""

    TOKEN = "token"  # noqa: S105 - a product token is no secret
    """The line holds the crawler's product token (RFC 9309 2.2.1)."""
    SUBSTRING = "substring"
    """The line's name is a substring of the crawler's name or header."""
    EITHER = "either"
    """One of the two is a substring of the other."""
    GLOB = "glob"
    """Like EITHER, and ``*`` in the line stands for any characters."""


class Choice(Enum):
    """Which of the groups that apply to a crawler count."""

    MERGED = "merged"
    """All that name it, merged; those for ``*`` only if none does (RFC 9309 2.2.1)."""
    FIRST = "first"
    """The first that names it; the first for ``*`` only if none does."""
    IN_ORDER = "in order"
    """The first in the file, even if it is for ``*``."""


class Order(Enum):
    """Which of the rules that match a URL decides."""

    OCTETS = "octets"
    """The one with the most octets (RFC 9309 2.2.2)."""
    FIRST = "first"
    """The first in the file."""


class Escapes(Enum):
    """Which percent-escapes are undone before a rule and a URL are compared."""

    NONE = "none"
    """None. In rules, hex digits become upper case and octets over 0x7F are escaped."""
    UNRESERVED = "unreserved"
    """Those of unreserved characters. Characters that no URI may contain, and ``'``, are escaped
    (RFC 9309 2.2.2)."""
    BUT_SLASH = "all but /"
    """All but ``%2F``."""
    BUT_DELIMITERS = "all but / ? & ="
    """All but ``%2F``, ``%3F``, ``%26`` and ``%3D``."""

    __hash__ = object.__hash__  # each decision looks one up, and that of Enum takes longer


@dataclass(frozen=True, slots=True)
class Dialect:
    """A way of reading a robots.txt. The defaults are RFC 9309 as the reference parser takes it.

    Numbers of sections are those of RFC 9309.
    """

    name: str
    """What messages call it."""
    forgiving: bool = True
    """Accept misspelt and longer keys, and white space instead of a colon, like the reference
    parser; otherwise only ``useragent`` counts as ``user-agent``."""
    max_line: int | None = rfc9309.MAX_LINE
    """How many octets of a line count; None for all."""
    charset: str = "utf-8"
    """The encoding of a file served without a charset."""
    blank_line_ends_group: bool = False
    """A blank line ends a group; otherwise it means nothing (2.1)."""
    delay_ends_agents: bool = False
    """A Sitemap or Crawl-delay line also ends a run of user-agent lines."""
    orphans_for_all: bool = False
    """Rules before any user-agent line are for ``*``; otherwise for nobody (2.2.2, SHOULD)."""
    names: Names = Names.TOKEN
    """When a user-agent line is meant for a crawler."""
    tokens_only: bool = False
    """A crawler's name that is not a token (``008``, ``Foo Bar``) matches only ``*``; otherwise it
    matches lines that begin with the same word."""
    choice: Choice = Choice.MERGED
    """Which of the groups that are meant for a crawler count."""
    star_comes_last: bool = False
    """A group that is also for ``*`` counts as one for ``*`` only, even for crawlers it names."""
    order: Order = Order.OCTETS
    """Which of the rules that match a URL decides."""
    allow_wins_ties: bool = True
    """An allow beats a disallow of the same length (2.2.2, SHOULD); otherwise the first wins."""
    dollar_counts: bool = True
    """A final ``$`` counts in the length of a rule."""
    wildcards: bool = True
    """``*`` and a final ``$`` are special (2.2.3); otherwise they are literal."""
    dollar_before_query: bool = False
    """A final ``$`` also matches before a ``?``."""
    index_is_slash: bool = True
    """``Allow: /dir/index.html`` also allows ``/dir/``."""
    empty_allow_denies: bool = False
    """An empty allow disallows everything."""
    empty_decides: bool = False
    """An empty rule matches every URL; otherwise it means nothing (2.2.2, ``empty-pattern``)."""
    escapes: Escapes = Escapes.UNRESERVED
    """Which percent-escapes are undone before a rule and a URL are compared."""
    robots_txt_allowed: bool = True
    """``/robots.txt`` is allowed whatever the rules say (2.2.2)."""
    expiry: int = rfc9309.EXPIRY
    """How many seconds a copy may be used if its headers do not say."""


RFC9309 = Dialect("RFC9309")
"""RFC 9309; where it is silent, google/robotstxt."""

GOOGLE = Dialect("GOOGLE", tokens_only=True, escapes=Escapes.NONE, robots_txt_allowed=False)
"""google/robotstxt, verdict for verdict."""

GYM2008 = Dialect(
    "GYM2008",
    forgiving=False,
    max_line=None,
    charset="iso-8859-1",
    blank_line_ends_group=True,
    delay_ends_agents=True,
    star_comes_last=True,
    names=Names.SUBSTRING,
    choice=Choice.FIRST,
    order=Order.FIRST,
    index_is_slash=False,
    empty_allow_denies=True,
    empty_decides=True,
    escapes=Escapes.BUT_SLASH,
    robots_txt_allowed=False,
    expiry=7 * 86_400,
)
"""robotexclusionrulesparser's syntax of Google, Yahoo and Microsoft's agreement of 2008, which went
before RFC 9309."""

MK1996 = replace(GYM2008, name="MK1996", wildcards=False)
"""robotexclusionrulesparser's syntax of Martijn Koster's Internet-Draft of 1996."""

FIRST_MATCH = Dialect(
    "FIRST_MATCH",
    forgiving=False,
    max_line=None,
    orphans_for_all=True,
    names=Names.GLOB,
    choice=Choice.IN_ORDER,
    order=Order.FIRST,
    dollar_before_query=True,
    index_is_slash=False,
    empty_decides=True,
    escapes=Escapes.BUT_DELIMITERS,
    robots_txt_allowed=False,
)
"""The Ruby library robotstxt: the first section that applies, and its first rule that matches."""

DIALECTS = {each.name: each for each in (RFC9309, GOOGLE, GYM2008, MK1996, FIRST_MATCH)}
"""Dialects by their names, which are those of ``ROBOTS_DIALECT``."""


def dialect_named(name: str | Dialect) -> Dialect:
    """Return the dialect of this name, in any case, as ``ROBOTS_DIALECT`` takes it; or the dialect
    itself.

    Raises ValueError, listing the names there are, for anything else.
    """
    if isinstance(name, Dialect):
        return name
    try:
        return DIALECTS[name.upper()]
    except (KeyError, AttributeError):
        names = ", ".join(DIALECTS)
        raise ValueError(f"{name!r} is not a dialect; choose one of {names}") from None
