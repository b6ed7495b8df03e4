"""Dialects: the ways of reading a robots.txt, as options of one engine.

RFC 9309 settles most questions that its predecessors left open. Where it is silent, all dialects
read as google/robotstxt, the reference parser, does.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """A way of reading a robots.txt. The defaults are RFC 9309.

    Numbers of sections are those of RFC 9309.
    """

    name: str
    """What messages call it."""
    tokens_only: bool = False
    """A crawler's name that is not a token (``008``, ``Foo Bar``) matches only ``*``; otherwise it
    matches lines that begin with the same word."""
    normal_escapes: bool = True
    """Rules and URLs are compared with the escapes of unreserved characters undone, and with those
    of characters that no URI may contain, and of ``'``, made (2.2.2). Otherwise URLs stay as they
    are, and in rules hex digits become upper case and octets over 0x7F are escaped."""
    robots_txt_allowed: bool = True
    """``/robots.txt`` is allowed whatever the rules say (2.2.2)."""


RFC9309 = Dialect("RFC9309")
"""RFC 9309; where it is silent, google/robotstxt."""

GOOGLE = Dialect("GOOGLE", tokens_only=True, normal_escapes=False, robots_txt_allowed=False)
"""google/robotstxt, verdict for verdict."""

DIALECTS = {each.name: each for each in (RFC9309, GOOGLE)}
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
