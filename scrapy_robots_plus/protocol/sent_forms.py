"""The forms in which download handlers send a URL.

A site sees the URL that reaches it, and HTTP libraries rewrite URLs: they decode escapes, resolve
dot segments, drop empty components. Each function below rewrites path and query like one of these
libraries, and a test compares the two. To support another library, add a function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from string import ascii_letters, digits
from urllib.parse import quote, urlunparse

_PARTS = re.compile(r"([^:/?#]+://[^/?#]*)([^?#]*)(\??[^#]*)")
"""Scheme and authority, path, and query with its question mark."""

_UNRESERVED = f"{ascii_letters}{digits}-._~"
_AIOHTTP_PATH = frozenset(f"{_UNRESERVED}!$&'()*,:;=@")
_AIOHTTP_QUERY = frozenset(f"{_UNRESERVED}!$'()*,/:?@")
_CURL = "!#$&'()*+,/:;=?@[]~|"
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_NO_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})[^\W_]{2}")

_SKIPPED = dict.fromkeys(map(ord, "\t\r\n"))
"""The characters that every parser of URLs skips (https://url.spec.whatwg.org 4.4, and urllib)."""
_STRIPPED = "".join(map(chr, range(0x21)))
"""The characters that browsers strip at both ends."""

_rewritten_escape = re.compile(r"%(?![0189A-F][0-9A-F]|2[0235B]|3[CE]|5[B-E]|60|7[BCDF])").search
"""Finds an escape that a library decodes or puts in upper case, or a bare ``%``."""


def sent_forms(url: str) -> tuple[str, ...]:
    """Returns the other URLs that a download handler may send for *url*, which must be absolute.

    Nearly always empty. Without fragments, which are never sent. Takes time linear in the URL.
    """
    # Called for each request. A single regular expression would take three times as long.
    if (
        "/." in url
        or ";" in url
        or ("%" in url and _rewritten_escape(url))
        or url.find("//", 8) > 0  # after the one of the scheme
        or url[-1:] == "?"
        or "?#" in url
        or "\\" in url
        or not url.isprintable()
        or " " in url
    ):
        return _forms_of(url)
    return ()


def _forms_of(url: str) -> tuple[str, ...]:
    forms: list[str] = []
    senders = (*_SENDERS, _curl_again) if _NO_ESCAPE.search(url) else _SENDERS
    for cleaned in dict.fromkeys((url, *_cleaned(url))):
        parts = _PARTS.match(cleaned)
        if parts is None:
            return ()
        head, path, query = parts[1], parts[2] or "/", parts[3]
        forms += (head + path + query, *(head + send(path, query) for send in senders))
    return tuple(dict.fromkeys(forms))[1:]


def _cleaned(url: str) -> Iterator[str]:
    """Yields *url* as urllib and as browsers read it.

    Scrapy has cleaned it, unless told to keep it as it is (``verbatim_url``).
    """
    url = url.partition("#")[0]
    yield url.translate(_SKIPPED)
    path, mark, query = url.strip(_STRIPPED).translate(_SKIPPED).partition("?")
    yield path.replace("\\", "/") + mark + query


def target_of(url: str) -> str:
    """Returns path and query of an absolute URL, as in a request line (RFC 9112 3.2.1)."""
    parts = _PARTS.match(url)
    return (parts[2] or "/") + parts[3] if parts else url


def asks_for_robots_txt(url: str) -> bool:
    """Returns whether *url* is implicitly allowed (RFC 9309 2.2.2): with a query it is not."""
    return target_of(url) == "/robots.txt"


def _http11(path: str, query: str) -> str:
    """Rewrites like Scrapy's HTTP/1.1 handler (Twisted): splits the URL with urllib and joins it.

    ``/a;`` and ``/a?`` lose their last character; ``//a`` becomes ``////a`` in newer Pythons. White
    space at the end is dropped.
    """
    bare, params = _params(path)
    return urlunparse(("", "", bare, params, query[1:], "")).rstrip(" \t\n\r\v\f")


def _http2(path: str, query: str) -> str:
    """Rewrites like Scrapy's HTTP/2 handler: drops the parameters and an empty query."""
    return _params(path)[0] + (query if query != "?" else "")


def _httpx(path: str, query: str) -> str:
    """Rewrites like httpx: resolves dot segments unless escaped; ``/a/b/..`` becomes ``/a``."""
    return _without_dot_segments(path, as_browsers=False) + query


def _browser(path: str, query: str) -> str:
    """Rewrites like browsers (https://url.spec.whatwg.org) and curl: resolves dot segments.

    Escaped dots count, too.
    """
    return _without_dot_segments(path) + query


def _curl(path: str, query: str) -> str:
    """Rewrites like curl_cffi: also decodes unreserved characters, and adds missing escapes."""
    return _quoted(_decoded(path, _UNRESERVED), _decoded(query, _UNRESERVED), f"{_CURL}%")


def _curl_again(path: str, query: str) -> str:
    """Rewrites like curl_cffi if anything looks like an escape and is none, such as ``%u00e9``.

    Then it escapes each ``%`` of the URL.
    """
    return _quoted(path, query, _CURL)


def _quoted(path: str, query: str, safe: str) -> str:
    path, query = (quote(each, safe, errors="surrogatepass") for each in (path, query))
    return _without_dot_segments(path) + query


def _aiohttp(path: str, query: str) -> str:
    """Rewrites like aiohttp (yarl): normalizes escapes, then resolves dot segments.

    Escapes of allowed characters are decoded, others get upper case, and a bare ``%`` is escaped.
    """
    path = _decoded(_BARE_PERCENT.sub("%25", path), _AIOHTTP_PATH, str.upper)
    query = _decoded(_BARE_PERCENT.sub("%25", query), _AIOHTTP_QUERY, str.upper)
    return _without_dot_segments(path) + (query if query != "?" else "")


_SENDERS = (_aiohttp, _httpx, _browser, _curl, _http2, _http11)


def _params(path: str) -> tuple[str, str]:
    """Returns the path up to the first semicolon of its last segment, and the rest."""
    folder, slash, name = path.rpartition("/")
    name, _, params = name.partition(";")
    return folder + slash + name, params


def _decoded(text: str, decoded: Container[str], other: Callable[[str], str] = str) -> str:
    """Decodes escapes of the characters in *decoded*; passes all other escapes through *other*."""

    def decode(match: re.Match[str]) -> str:
        character = chr(int(match[1], 16))
        return character if character in decoded else other(match[0])

    return _ESCAPE.sub(decode, text)


def _without_dot_segments(path: str, as_browsers: bool = True) -> str:
    """Resolves dot segments (RFC 3986 5.2.4), but keeps empty segments.

    For browsers, ``%2e`` is a dot as well, and a dot segment at the end leaves a slash.
    """
    kept: list[str] = []
    segments = path.split("/")[1:]
    for number, segment in enumerate(segments, 1):
        name = segment.replace("%2e", ".").replace("%2E", ".") if as_browsers else segment
        if name not in (".", ".."):
            kept.append(segment)
            continue
        if name == "..":
            del kept[-1:]
        if as_browsers and number == len(segments):
            kept.append("")
    return "/" + "/".join(kept)
