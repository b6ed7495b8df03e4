"""What the key of a line says that the line is for, spelling mistakes included."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.dialect import Dialect


class Kind(IntEnum):
    """What a line is for: records of RFC 9309 2.2, and others in use (2.2.4).

    The name of a kind is its key, as ``crawl-delay`` is; other keys are further below. A kind that
    is for all agents is in ``FILE_WIDE``. tests/test_one_home.py says what else a new one needs.
    """

    NOTHING = 0
    USER_AGENT = 1
    ALLOW = 2
    DISALLOW = 3
    SITEMAP = 4
    CRAWL_DELAY = 5
    REQUEST_RATE = 6
    VISIT_TIME = 7
    HOST = 8
    CLEAN_PARAM = 9
    CONTENT_USAGE = 10
    CONTENT_SIGNAL = 11
    LICENSE = 12

    @property
    def key(self) -> str:
        """The key of such a line, in lower case: ``crawl-delay``."""
        return self.name.lower().replace("_", "-")


FILE_WIDE = frozenset({Kind.SITEMAP, Kind.HOST, Kind.CLEAN_PARAM, Kind.LICENSE})
"""What belongs to no group, wherever it stands (2.2.4)."""

ABOUT_USES = frozenset({Kind.CONTENT_USAGE, Kind.CONTENT_SIGNAL})
"""What says what pages may be used for."""

# In the reference parser's order: a key means the first of these that it starts with.
_PREFIXES = (
    (b"user-agent", Kind.USER_AGENT),
    (b"useragent", Kind.USER_AGENT),
    (b"user agent", Kind.USER_AGENT),
    (b"allow", Kind.ALLOW),
    (b"disallow", Kind.DISALLOW),
    (b"dissallow", Kind.DISALLOW),
    (b"dissalow", Kind.DISALLOW),
    (b"disalow", Kind.DISALLOW),
    (b"diasllow", Kind.DISALLOW),
    (b"disallaw", Kind.DISALLOW),
    (b"sitemap", Kind.SITEMAP),
    (b"site-map", Kind.SITEMAP),
)
_BEGINNINGS = tuple([prefix for prefix, _ in _PREFIXES])
_EXACT: dict[bytes, Kind] = {
    **{kind.key.encode(): kind for kind in Kind if kind is not Kind.NOTHING},
    b"useragent": Kind.USER_AGENT,
    b"content-signals": Kind.CONTENT_SIGNAL,
}
_FORGIVEN = {
    b"crawl delay": Kind.CRAWL_DELAY,
    b"crawldelay": Kind.CRAWL_DELAY,
    b"request rate": Kind.REQUEST_RATE,
    b"requestrate": Kind.REQUEST_RATE,
    b"visit time": Kind.VISIT_TIME,
    b"visittime": Kind.VISIT_TIME,
    b"site map": Kind.SITEMAP,
}


INITIALS = frozenset(
    case(key[:1])
    for key in (*_EXACT, *_FORGIVEN, *(prefix for prefix, _ in _PREFIXES))
    for case in (bytes.lower, bytes.upper)
)
"""The beginnings of all known keys."""


def kind_of(key: bytes, dialect: Dialect) -> Kind:
    """The kind of a key; ``Kind.NOTHING`` if it is unknown (2.2.4)."""
    key = key.lower()
    kind = _EXACT.get(key)
    if kind is not None or not dialect.forgiving:
        return kind or Kind.NOTHING
    if key.startswith(_BEGINNINGS):
        return next(kind for prefix, kind in _PREFIXES if key.startswith(prefix))
    return _FORGIVEN.get(key, Kind.NOTHING)
