"""From a crawler's name to its product tokens (RFC 9309 2.2.1).

A site writes the token in a user-agent line: letters, ``_`` and ``-``. A User-Agent header contains
it in one of a few ways (RFC 9110 10.1.5 and custom):

- ``Foobot``, ``Foobot/1.0 (+https://foo.example/bot)``: the first product;
- ``Mozilla/5.0 (compatible; Foobot/2.1; +https://foo.example/bot)``: what follows "compatible";
- ``Mozilla/5.0 ... Safari/537.36 (Foobot/1.0; +https://foo.example/bot)``: a comment with a URL;
- ``Mozilla/5.0 (X11; Linux) ... Safari/537.36 Foobot/1.0``: the product that is not a browser's.

A header with only browsers' names has no token: only ``*`` applies to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

Agent = str | bytes | Sequence[str] | Sequence[bytes]
"""A crawler's name: a product token (RFC 9309 2.2.1), a whole User-Agent header, or a list of them
in order of preference."""

AgentNames = str | tuple[str, ...]
"""Names as text, hashable: one, or several in order of preference."""

_TOKEN = re.compile(r"[A-Za-z_-]+")
_WORD = re.compile(r"\w[^\s/;,()]*")
_COMMENT = re.compile(r"\(([^()]*)\)?")
_COMPATIBLE = re.compile(r"\bcompatible\b\s*[;,]\s*([^;,()]*)", re.IGNORECASE)
_URL = re.compile(r"\+?https?://|\+?www\.|\S@\S", re.IGNORECASE)

# Products and words in browsers' headers that never name a crawler.
_BROWSERS = frozenset(
    [
        "applewebkit",
        "brave",
        "chrome",
        "chromium",
        "crios",
        "edg",
        "edga",
        "edge",
        "edgios",
        "firefox",
        "fxios",
        "gecko",
        "headlesschrome",
        "iemobile",
        "khtml",
        "konqueror",
        "like",
        "lynx",
        "maxthon",
        "mobile",
        "mozilla",
        "msie",
        "netscape",
        "opera",
        "opios",
        "opr",
        "opx",
        "presto",
        "safari",
        "samsungbrowser",
        "seamonkey",
        "silk",
        "trident",
        "ubuntu",
        "ucbrowser",
        "version",
        "vivaldi",
        "windows",
        "yabrowser",
    ]
)


def token_in(value: str) -> str:
    """The token that a user-agent line's value starts with, in lower case; may be empty.

    Like the reference parser, cuts the value at the first character that cannot be in a token:
    ``Foobot/1.0`` means ``foobot``.
    """
    match = _TOKEN.match(value)
    return match.group().lower() if match else ""


def word_in(value: str) -> str:
    """The word that a value starts with, in lower case; may be empty.

    It is the token if the word is one. ``MJ12bot``, ``008`` and ``Jävla-bot`` are not, but crawlers
    have such names, and sites address them by the whole word.
    """
    match = _WORD.match(value)
    return fold(match.group()) if match else ""


def fold(name: str) -> str:
    """In lower case, character by character, except for the few that would become an ASCII letter:
    the Kelvin sign is not k, the Turkish dotted I is not i (2.2.1 only defines case for ASCII)."""
    if name.isascii():
        return name.lower()
    return "".join(map(_lower, name))


def _lower(character: str) -> str:
    lower = character.lower()
    same_kind = len(lower) == 1 and lower.isascii() is character.isascii()
    return lower if same_kind else character


def product_tokens(agent: Agent, strict: bool = False) -> tuple[str, ...]:
    """The tokens that a crawler answers to, in lower case and in order of preference (RFC 9309
    2.2.1).

    Empty for ``*``, for a browser's header and for what holds no name at all. With ``strict``, a
    name that is neither a token nor stands in a header has none either.
    """
    return _product_tokens(as_names(agent), strict)


@lru_cache(maxsize=256)
def _product_tokens(names: str | tuple[str, ...], strict: bool) -> tuple[str, ...]:
    headers = (names,) if isinstance(names, str) else names
    tokens = (_token_of_header(header.strip(), strict) for header in headers)
    return tuple(dict.fromkeys(token for token in tokens if token))


def has_product_token(agent: Agent) -> bool:
    """Whether any group but that for ``*`` can be meant for this crawler (RFC 9309 2.2.1).

    False for the header of a browser: its user should be told that sites cannot address it.
    """
    return bool(product_tokens(agent))


def as_names(agent: Agent) -> AgentNames:
    """The names as text, hashable."""
    if isinstance(agent, (str, bytes, bytearray)):
        return as_text(agent)
    return tuple(as_text(name) for name in agent)


def as_text(name: str | bytes | bytearray) -> str:
    """Decodes octets as UTF-8, in which Scrapy writes headers, else as ISO-8859-1."""
    if isinstance(name, str):
        return name
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return name.decode("iso-8859-1")


def _token_of_header(header: str, strict: bool) -> str:
    if _TOKEN.fullmatch(header):
        return header.lower()
    if strict and "/" not in header and "(" not in header:
        return ""
    return next(filter(None, _candidates(header)), "")


def _candidates(header: str) -> Iterator[str]:
    """Names in a whole header, the likeliest first; some may be empty."""
    for match in _COMPATIBLE.finditer(header):
        # ``(compatible; MSIE 7.0; ...)`` is a browser; any other name here is meant to be read,
        # even Mozilla's.
        name = match.group(1)
        if token_in(name) not in _BROWSERS - {"mozilla"} and not _URL.search(name):
            yield word_in(name)
    products = _COMMENT.sub(" ", header).split()
    if products:
        yield _unless_browser(products[0])
    yield from _in_comments(header)
    for product in products[1:]:
        if "/" in product:
            yield _unless_browser(product)


def _unless_browser(product: str) -> str:
    return "" if token_in(product) in _BROWSERS else word_in(product)


def _in_comments(header: str) -> Iterator[str]:
    """Names in comments with a URL or an address: crawlers write these, browsers do not."""
    for comment in _COMMENT.findall(header):
        if not _URL.search(comment):
            continue
        for part in comment.split(";"):
            if "/" in part and not _URL.search(part):
                yield _unless_browser(part.strip())
