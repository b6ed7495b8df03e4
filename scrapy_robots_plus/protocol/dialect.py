"""Dialects: the ways of reading a robots.txt, as options of one engine.

RFC 9309 settles most questions that its predecessors left open. To agree with an older system, pick
its dialect; to make your own, change one with ``_replace()``.
"""

from __future__ import annotations

from typing import NamedTuple

from .rfc9309 import EXPIRY


class Dialect(NamedTuple):
    """A way of reading a robots.txt. The defaults are RFC 9309.

    Section numbers are those of RFC 9309.
    """

    name: str
    """The name that messages show."""
    forgiving: bool = True
    """Whether misspelt and longer keys and white space instead of a colon are read, and only 16,663
    octets of a line, as in the reference parser; else whole lines, and only keys as they are, or
    ``useragent``."""
    charset: str = "utf-8"
    """The encoding of a file served without a charset."""
    blank_line_ends_group: bool = False
    """Whether a blank line ends a group, and a Sitemap or Crawl-delay line a run of user-agent
    lines; a group without rules is none. Otherwise these lines end nothing (2.1, 2.2.4)."""
    orphans_for_all: bool = False
    """Whether rules before any user-agent line are for ``*``; else for nobody (2.2.2, SHOULD)."""
    names_are_parts: bool = False
    """Whether a user-agent line is for all crawlers whose name or header contains it. The first
    group that names the crawler counts, else the first for ``*``, even if that has other names,
    too. Else lines hold product tokens, and all groups that name it are merged (2.2.1)."""
    first_group_decides: bool = False
    """With ``names_are_parts``: whether the first group counts that names the crawler or is for
    ``*``. In its name ``*`` stands for any characters, and it may be longer than the crawler's."""
    tokens_only: bool = False
    """Whether a crawler's name that is not a token (``008``, ``Foo Bar``) matches only ``*``;
    otherwise it matches lines that begin with the same word."""
    first_rule_decides: bool = False
    """Whether the first rule in the file that matches decides, and an empty rule matches every URL.
    Otherwise the one with the most octets decides, an empty rule means nothing (2.2.2), and
    ``Allow: /dir/index.html`` also allows ``/dir/``."""
    empty_allow_denies: bool = False
    """With ``first_rule_decides``: whether an empty allow disallows everything."""
    wildcards: bool = True
    """Whether ``*`` and a final ``$`` are special (2.2.3); otherwise they are literal."""
    dollar_before_query: bool = False
    """With ``first_rule_decides``: whether a final ``$`` also matches before a ``?``."""
    normal_escapes: bool = True
    """Whether rules and URLs are compared with unreserved characters unescaped, and ``'`` and the
    characters that no path or query may contain escaped (2.2.2). Otherwise URLs stay as they are,
    and in rules hex digits become upper case and octets over 0x7F are escaped."""
    kept_escapes: str = ""
    """Without ``normal_escapes``: the characters whose escapes stay. If there are any, all other
    escapes are undone, in rules and in URLs."""
    robots_txt_allowed: bool = True
    """Whether ``/robots.txt`` is allowed whatever the rules say (2.2.2)."""
    expiry: int = EXPIRY
    """The seconds for which a copy may be used if its headers do not say."""


RFC9309 = Dialect("RFC9309")
"""RFC 9309; where it is silent, google/robotstxt."""

GOOGLE = Dialect("GOOGLE", tokens_only=True, normal_escapes=False, robots_txt_allowed=False)
"""google/robotstxt, verdict for verdict."""

GYM2008 = Dialect(
    "GYM2008",
    forgiving=False,
    charset="iso-8859-1",
    blank_line_ends_group=True,
    names_are_parts=True,
    first_rule_decides=True,
    empty_allow_denies=True,
    normal_escapes=False,
    kept_escapes="/",
    robots_txt_allowed=False,
    expiry=7 * 86_400,
)
"""robotexclusionrulesparser's syntax of what Google, Yahoo and Microsoft agreed on in 2008."""

MK1996 = GYM2008._replace(name="MK1996", wildcards=False)
"""robotexclusionrulesparser's syntax of Martijn Koster's Internet-Draft of 1996."""

FIRST_MATCH = Dialect(
    "FIRST_MATCH",
    forgiving=False,
    orphans_for_all=True,
    names_are_parts=True,
    first_group_decides=True,
    first_rule_decides=True,
    dollar_before_query=True,
    normal_escapes=False,
    kept_escapes="/?&=",
    robots_txt_allowed=False,
)
"""The Ruby library robotstxt: the first group that applies, and its first rule that matches."""

DIALECTS = {each.name: each for each in (RFC9309, GOOGLE, GYM2008, MK1996, FIRST_MATCH)}
"""The dialects by the names that ``ROBOTS_DIALECT`` takes."""


def dialect_named(name: str | Dialect) -> Dialect:
    """Returns the dialect of this name, in any case, as ``ROBOTS_DIALECT`` takes it.

    Returns a dialect unchanged. Raises ValueError, listing the known names, for anything else.
    """
    known = name if isinstance(name, Dialect) else DIALECTS.get(str(name).upper())
    if known is None:
        raise ValueError(f"{name!r} is not a dialect; choose one of {', '.join(DIALECTS)}")
    return known
