"""Recovers a plain text file from the HTML page in which a browser shows it."""

from __future__ import annotations

import re

_TEXT_VIEW = re.compile(
    rb"\s*(?:<!doctype[^<>]*>\s*)?<html[^<>]*>"
    rb"<head[^<>]*>(?:<(?:meta|link)\b[^<>]*>|<title></title>)*</head>"
    rb"<body[^<>]*><pre[^<>]*>",
    re.IGNORECASE,
)
"""How Chromium, Firefox and WebKit begin the page that they show a text file in."""
_TEXT_VIEW_ENDS = (
    b"</pre></body></html>",
    b'</pre><div class="json-formatter-container"></div></body></html>',  # Chromium
)
_BARE_PAGE, _BARE_PAGE_END = b"<html><head></head><body>", b"</body></html>"
"""Around a text that was served as text/html and contains no tags."""
_HTML = re.compile(rb"\s*(?:<!doctype html|<html)", re.IGNORECASE)
_REFERENCES = (("&nbsp;", "\xa0"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
"""All the references that serializing a page writes (HTML, "escaping a string")."""
_WINDOWS_1252: dict[int, int] = {}
"""Maps characters to their bytes, if the numbers differ."""
for _byte in range(0x80, 0xA0):
    if _character := bytes([_byte]).decode("cp1252", "ignore"):  # five bytes mean themselves
        _WINDOWS_1252 |= {ord(_character): _byte, _byte: ord("\u0100")}  # no byte means the latter


def is_html(body: bytes) -> bool:
    """Whether *body* begins like an HTML page."""
    return _HTML.match(body) is not None


def text_in(page: bytes) -> bytes | None:
    """The text file that a browser shows as *page*; None for any other page.

    Raises ValueError if the page is cut off, so that the rest of the file is missing.
    """
    view = _TEXT_VIEW.match(page)
    if view is not None:
        return _text_of_view(page, view.end())
    stripped = page.rstrip()
    if stripped.startswith(_BARE_PAGE) and stripped.endswith(_BARE_PAGE_END):
        return _unescaped(stripped[len(_BARE_PAGE) : -len(_BARE_PAGE_END)])
    return None


def _text_of_view(page: bytes, begin: int) -> bytes | None:
    """The text from *begin* on, if the page holds nothing else: it cannot contain tags."""
    end = page.find(b"<", begin)
    closing = page[end:].rstrip() if end >= 0 else b""
    if closing in _TEXT_VIEW_ENDS:
        return _unescaped(page[begin:end])
    if any(known.startswith(closing) for known in _TEXT_VIEW_ENDS):
        raise ValueError("the page is cut off")
    return None


def _unescaped(raw: bytes) -> bytes:
    codec = "utf-8"
    try:
        text = raw.decode(codec)
    except UnicodeDecodeError:
        text = raw.decode(codec := "latin-1")
    for name, character in _REFERENCES:
        text = text.replace(name, character)
    return _as_utf_8(text) or text.encode(codec)


def _as_utf_8(text: str) -> bytes | None:
    """The bytes of a UTF-8 file served without a charset: browsers guess windows-1252."""
    try:
        raw = text.translate(_WINDOWS_1252).encode("latin-1")
        raw.decode("utf-8")
    except UnicodeError:
        return None
    return raw
