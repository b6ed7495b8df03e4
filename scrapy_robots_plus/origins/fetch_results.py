"""The results of robots.txt downloads, made from a response or an exception."""

from __future__ import annotations

import re

from scrapy import Request
from scrapy.exceptions import StopDownload
from scrapy.http import Headers, Response
from twisted.internet.defer import CancelledError

from scrapy_robots_plus import compat
from scrapy_robots_plus.protocol.access import Failure
from scrapy_robots_plus.protocol.octets import whole_lines
from scrapy_robots_plus.protocol.standing import is_challenge

from .body_tap import Tap
from .codings import BodyError, codings_in
from .freshness import FetchResult

_TEXT_VIEW = (
    rb"(?is)\s*(?:<!doctype[^<>]*>\s*)?<html[^<>]*>"
    rb"<head[^<>]*>(?:<(?:meta|link)\b[^<>]*>|<title></title>)*</head>"
    rb"<body[^<>]*><pre[^<>]*>([^<]*)(.*)"
)
"""The page in which Chromium, Firefox and WebKit show a text file: the text, and what follows."""
_TEXT_VIEW_ENDS = (
    b"</pre></body></html>",
    b'</pre><div class="json-formatter-container"></div></body></html>',  # Chromium
)
_BARE_PAGE = rb"(?s)\s*<html><head></head><body>(.*)</body></html>\s*"
"""The page in which browsers show a text without tags that was served as text/html."""
_HTML = rb"(?i)\s*(?:<!doctype html|<html)"
_WINDOWS_1252: dict[int, int] = {}
"""The bytes of windows-1252 by the numbers of their characters, where the two differ."""
for _byte in range(0x80, 0xA0):
    if _character := bytes([_byte]).decode("cp1252", "ignore"):  # browsers keep the other five
        # No byte stands for the character of this number: it becomes one that Latin-1 lacks.
        _WINDOWS_1252 |= {ord(_character): _byte, _byte: ord("\u0100")}


def is_html(body: bytes) -> bool:
    """Returns whether *body* begins like an HTML page."""
    return re.match(_HTML, body) is not None


def text_in(page: bytes) -> bytes | None:
    """Returns the text file that a browser shows as *page*; None for any other page.

    Raises BodyError if the page is cut off, so that the rest of the file is missing.
    """
    view = re.match(_TEXT_VIEW, page)
    if view is None:
        bare = re.fullmatch(_BARE_PAGE, page)
        return bare and _unescaped(bare[1])
    text, end = view[1], view[2].rstrip()
    if end in _TEXT_VIEW_ENDS:
        return _unescaped(text)
    if any(known.startswith(end) for known in _TEXT_VIEW_ENDS):
        raise BodyError(Failure.CUT, "the page is cut off")
    return None


def _unescaped(raw: bytes) -> bytes:
    from scrapy_robots_plus.protocol.directives.html_head import resolved  # few crawls need it

    text = resolved(raw.decode("utf-8", "surrogateescape"))
    return _as_utf_8(text) or text.encode("utf-8", "surrogateescape")


def _as_utf_8(text: str) -> bytes | None:
    """Returns the bytes of a UTF-8 file that was read as windows-1252; None for other texts.

    Browsers guess windows-1252 if a file is served without a charset.
    """
    try:
        raw = text.translate(_WINDOWS_1252).encode("latin-1")
        raw.decode("utf-8")
    except UnicodeError:
        return None
    return raw


CACHED = "cached"
"""Scrapy's flag for a response from its HTTP cache."""


def answered(url: str, response: Response, tap: Tap) -> FetchResult:
    """Returns the result of *response*, as middlewares left it; *tap* has the handler's response.

    An incomplete body is a failure: the crawl would break the missing rules.
    """
    if tap.response is None:
        response = tap.take(response)  # from Scrapy's HTTP cache, or made by a middleware
    headers, replayed = _text(response.headers), CACHED in response.flags
    result = FetchResult(response.status, url, headers=headers, replayed=replayed)
    try:
        body = _file_in(url, response, tap) if 200 <= response.status < 300 else b""
    except BodyError as error:
        return result._replace(outcome=error.failure, detail=str(error))
    lines = whole_lines(body, tap.limit)
    return result._replace(body=lines, is_cut=len(lines) < len(body))


def failed(url: str, exception: Exception, tap: Tap) -> FetchResult:
    """Returns the result of a download that raised *exception*."""
    if isinstance(exception, StopDownload) and exception.response is not None:
        return answered(url, tap.take(exception.response), tap)
    detail = _in_words(exception)
    # Neither says anything about the site. asyncio's CancelledError is not caught at all.
    if isinstance(exception, CancelledError) or compat.shortage_in(exception):
        return FetchResult(Failure.ERROR, url, interrupted=True, detail=detail)
    failure = Failure(compat.kind_of_failure(exception, headers_received=tap.started))
    return FetchResult(failure, url, detail=detail)


def _file_in(url: str, response: Response, tap: Tap) -> bytes:
    """Returns the file in the body of *response*. Raises BodyError if there is none.

    A body that a middleware has only cut off is replaced by that of *tap*.
    """
    if tap.error is not None:
        raise tap.error
    if response.body and codings_in(response):
        encoding = b",".join(response.headers.getlist("Content-Encoding")).decode("latin-1")
        raise BodyError(Failure.UNDECODABLE, f"Content-Encoding: {encoding}")
    raw = tap.response
    is_cut = raw and raw.status == response.status and tap.body.startswith(response.body)
    body = tap.body if is_cut else response.body
    if not tap.came_from(Request(url).url):  # perhaps from a browser
        text = text_in(body)
        body = body if text is None else text
    if is_challenge(_text(response.headers)) and is_html(body):
        raise BodyError(Failure.CHALLENGE)
    return body


def _in_words(exception: Exception) -> str:
    """Returns the class of *exception* and its message or, without one, the class of its cause."""
    name, cause = type(exception).__qualname__, exception.__cause__
    said = str(exception) or (type(cause).__qualname__ if cause else "")
    return f"{name}: {said}" if said else name


_LAST_COUNTS = frozenset({b"location", b"retry-after", b"content-type"})
"""Headers with one value, which may hold a comma: the last counts, as for Scrapy's redirects and
the charset (RFC 9110 8.3). Repeated dates or ETags are joined, and count as none."""


def _text(headers: Headers) -> dict[str, str]:
    """Returns *headers* by lower-case name, repeated ones joined if they may be (RFC 9110 5.3)."""
    found = {}
    for name, values in headers.items():
        key = name.lower()
        counting = values[-1:] if key in _LAST_COUNTS else values
        found[key.decode("latin-1")] = b", ".join(counting).decode("latin-1")
    return found


NETWORK_FAILURES = frozenset({Failure.DNS, Failure.CONNECTION, Failure.TIMEOUT})
"""The failures that a fetch ends in if this crawl has no network; they have other causes, too."""
