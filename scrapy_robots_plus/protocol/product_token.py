"""The names by which sites address a crawler, found in its own name (RFC 9309 2.2.1).

A site writes a product token in a user-agent line: letters, ``_`` and ``-``. A User-Agent header
contains it in one of a few forms (RFC 9110 10.1.5, and common practice), the likeliest first:

- ``Mozilla/5.0 (compatible; Foobot/2.1; +https://foo.example/bot)``: what follows "compatible";
- ``Foobot``, ``Foobot/1.0 (+https://foo.example/bot)``: the first product;
- ``Mozilla/5.0 ... Safari/537.36 (Foobot/1.0; +https://foo.example/bot)``: a comment with a URL;
- ``Mozilla/5.0 (X11; Linux) ... Safari/537.36 Foobot``: the product that is not a browser's;
- ``Mozilla/5.0 (X11; Linux; Foobot/1.0) ... Safari/537.36``: a product in a comment.

A header with only browsers' names has no token. No form is certain, so a file may also address a
crawler by any other word of its header, except those that do not tell crawlers apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice

Agent = str | bytes | Sequence[str] | Sequence[bytes]
"""A crawler's name: a product token (RFC 9309 2.2.1), a whole User-Agent header, or a list of them
in order of preference."""

AgentNames = str | tuple[str, ...]
"""The names of a crawler as text, hashable: one, or several in order of preference."""

_TOKEN = re.compile(r"[A-Za-z_-]+")
_CASED = re.compile("[^\u0130\u212a]+")
_WORD = re.compile(r"\w[^\s/;,()]*")
_ANY_WORD = re.compile(r"\w[^\s/;,()\[\]+:\"']*")
_LETTERS = re.compile(r"[^\W\d_]|\d+[^\W\d_]{3}")
"""The beginning of a name that is not a version: ``Foobot``, ``360Spider``."""
_VERSION = re.compile(r"[-_.]v?\d[\w.-]*$")
"""The version at the end of a name: ``larbin_2.6.2`` is larbin."""
_COMMENT = re.compile(r"\(([^()]*)\)")
_COMPATIBLE = re.compile(r"\bcompatible\b([^()]*)", re.IGNORECASE)
_PRODUCT = re.compile(r"\s*\w[^\s/]*/\S*\s*")
"""A product with its version, such as ``Foobot/1.0``."""
_ADDRESS = re.compile(
    r"\+?(?:https?:|www\.)[^\s;,()]*|[^\s;,()/]+(?:@|\[at\])[^\s;,()]*", re.IGNORECASE
)
_LIKE = re.compile(r"\blike\s+[^\s;,()]+", re.IGNORECASE)
"""A comparison with another product: ``like Gecko``, ``like Googlebot``."""

_MOZILLA = "mozilla"
_NAMED_MOZILLA = re.compile(r"\bcompatible;\s*mozilla", re.IGNORECASE)

_LONGEST = 1000
"""The number of characters of a header that are read."""
_MOST_WORDS = 64
"""The number of words of a header that may be names."""
_DEEPEST = 4
"""The depth to which nested parentheses are read."""

# Products and words in browsers' headers that never name a crawler.
_BROWSERS = frozenset(
    [
        "applewebkit", "brave", "chrome", "chromium", "crios", "edg", "edga", "edge", "edgios",
        "electron", "firefox", "fxios", "gecko", "headlesschrome", "iemobile", "khtml",
        "konqueror", "like", "lynx", "maxthon", "mobile", "mozilla", "msie", "netscape", "opera",
        "opios", "opr", "opx", "presto", "safari", "samsungbrowser", "seamonkey", "silk",
        "thunderbird", "trident", "ubuntu", "ucbrowser", "version", "vivaldi", "windows",
        "yabrowser",
    ]
)  # fmt: skip

# Words of a header that fit any crawler, describe its machine, or are part of a sentence.
_KINDS = frozenset(["agent", "bot", "crawler", "robot", "scraper", "spider"])
_GENERIC = _KINDS.union(
    [
        "bots", "browser", "client", "compatible", "crawl", "crawlers", "robots", "search",
        "server", "service", "site", "test", "tool", "url", "user-agent", "web",
        "website", "abuse", "admin", "at", "contact", "email", "gmail", "hello", "help", "info",
        "mail", "mailto", "questions", "support", "webmaster", "com", "http", "https", "net",
        "org", "www", "an", "and", "are", "as", "by", "for", "from", "in", "is", "it",
        "my", "no", "not", "of", "on", "only", "or", "our", "please", "see", "that", "the",
        "this", "to", "using", "via", "we", "with", "you", "your", "amd64", "android", "arm",
        "arm64", "armv7l", "centos", "cpu", "cros", "darwin", "debian", "fedora", "freebsd",
        "i386", "i586", "i686", "intel", "ios", "ipad", "iphone", "ipod", "linux", "mac",
        "macintosh", "macos", "nt", "openbsd", "os", "phone", "suse", "sv1", "symbianos",
        "tablet", "unix", "win32", "win64", "wow64", "x11", "x64", "x86", "x86_64", "build",
        "clr", "en", "en-gb", "en-us", "gzip", "nokia", "release", "rv", "wv",
    ]
)  # fmt: skip


def token_in(value: str) -> str:
    """Returns the token that a user-agent line's value starts with, in lower case; may be empty.

    Like the reference parser, cuts the value at the first character that cannot be in a token:
    ``Foobot/1.0`` means ``foobot``.
    """
    match = _TOKEN.match(value)
    return match.group().lower() if match else ""


def word_in(value: str) -> str:
    """Returns the word that a value starts with, in lower case; may be empty.

    A token is a word, too. ``MJ12bot``, ``008`` and ``Jävla-bot`` are no tokens, but crawlers have
    such names, and sites address them by the whole word.
    """
    match = _WORD.match(value)
    return fold(match.group()) if match else ""


def fold(name: str) -> str:
    """Returns *name* in lower case, except for the Kelvin sign and the Turkish dotted I.

    They are neither k nor i: 2.2.1 only defines case for ASCII.
    """
    return _CASED.sub(lambda match: match[0].lower(), name)


def product_tokens(agent: Agent, strict: bool = False) -> tuple[str, ...]:
    """Returns the tokens that a crawler is known by, in lower case and in order of preference.

    There is one for each header: its likeliest name (RFC 9309 2.2.1). Empty for ``*``, for a
    browser's header and for what holds no name at all. With *strict*, a name that is neither a
    token nor in a header has none either.
    """
    tokens = (each[0] for each in _names_in(as_names(agent), strict))
    return tuple(dict.fromkeys(filter(None, tokens)))


def names_of(agent: Agent, strict: bool = False) -> tuple[str, ...]:
    """Returns the names by which a file may address a crawler, in lower case (RFC 9309 2.2.1).

    The headers are in order of preference, with the likeliest name of each first. A token has only
    itself. *strict* is as in :func:`product_tokens`.
    """
    names = chain.from_iterable(_names_in(as_names(agent), strict))
    return tuple(dict.fromkeys(filter(None, names)))


@lru_cache(maxsize=256)
def _names_in(names: AgentNames, strict: bool) -> tuple[tuple[str, ...], ...]:
    headers = (names,) if isinstance(names, str) else names
    return tuple(_names_in_header(header.strip(), strict) for header in headers)


def has_product_token(agent: Agent) -> bool:
    """Returns whether sites can address this crawler by a name of its own (RFC 9309 2.2.1).

    False for the name or the header of a browser: the crawler's user should be told.
    """
    return not _BROWSERS.issuperset(product_tokens(agent))


def as_names(agent: Agent) -> AgentNames:
    """Returns the names of *agent* as text, hashable."""
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


def _names_in_header(header: str, strict: bool) -> tuple[str, ...]:
    """Returns the product token, which may be empty, and the other words that may be names."""
    if _TOKEN.fullmatch(header):
        return (header.lower(),)
    if "/" not in header and "(" not in header and (strict or ";" not in header):
        first = None if strict else _ANY_WORD.search(header)
        return (_unless_browser(fold(first[0])) if first else "",)  # ``Foo Bar`` is no header
    header = header[:_LONGEST]
    if " " not in header:
        header = header.replace("+", " ")  # as some write Mozilla/5.0+(compatible;+Foobot)
    token = next(filter(None, _candidates(header)), "")
    return tuple(dict.fromkeys((token, *islice(_words(header), _MOST_WORDS))))


def _candidates(header: str) -> Iterator[str]:
    """Yields what may be the product token, the likeliest first; some may be empty."""
    outside, comments = _split(header)
    generic = ""
    for match in _COMPATIBLE.finditer(header):
        for part in re.split("[;,]", match[1]):
            name = _name_in(part)
            if name in _BROWSERS and name != _MOZILLA:
                break  # ``(compatible; MSIE 7.0; ...)`` is a browser
            yield _if_own(name)
            if name in _KINDS or _PRODUCT.match(part):
                generic = generic or _unless_browser(name)  # ``(compatible; Bot/1.0; ...)``
    products = _ADDRESS.sub(" ", outside).split()
    first = word_in(products[0]) if products else ""
    yield _unless_browser(first)
    yield generic
    with_address = filter(_ADDRESS.search, comments)  # crawlers write one, browsers do not
    for part in chain.from_iterable(comment.split(";") for comment in with_address):
        if len(part.split()) == 1 or "/" in _ADDRESS.sub("", part):
            yield _if_own(_name_in(part))
    yield from (_if_own(word_in(product)) for product in products[1:] if _LETTERS.match(product))
    for part in chain.from_iterable(comment.split(";") for comment in comments):
        if _PRODUCT.fullmatch(part):
            yield _if_own(_name_in(part))
    yield _MOZILLA if _NAMED_MOZILLA.search(header) else ""


def _split(header: str) -> tuple[str, list[str]]:
    """Returns the text outside of parentheses, and the text in each pair of them."""
    comments: list[str] = []
    for _ in range(_DEEPEST):
        comments += _COMMENT.findall(header)
        header = _COMMENT.sub(" ", header)
    outside, _, unclosed = header.partition("(")
    return outside, [*comments, unclosed]


def _name_in(part: str) -> str:
    return word_in(_ADDRESS.sub("", part).strip())


def _words(header: str) -> Iterator[str]:
    for word in _ANY_WORD.findall(_LIKE.sub(" ", _ADDRESS.sub(" ", header))):
        if _LETTERS.match(word):
            yield from map(_if_own, dict.fromkeys((fold(word), fold(_VERSION.sub("", word)))))


def _if_own(name: str) -> str:
    """Returns *name* if it may belong to one crawler, else an empty string."""
    generic = name in _GENERIC or (len(name) == 1 and name.isascii())
    return "" if generic else _unless_browser(name)


def _unless_browser(name: str) -> str:
    return "" if token_in(name) in _BROWSERS else name
