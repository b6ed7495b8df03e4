"""The robots meta tags in the head of an HTML page, found as browsers tell tags from text.

This follows the tokenizer of the HTML standard (https://html.spec.whatwg.org/#tokenization) as far
as the head of a page needs it. A meta tag does not count in a comment, nor inside ``title``,
``script``, ``style``, ``noscript`` and the like, nor in a ``template``. Each step moves forward,
and what is not closed ends the reading, so any text takes linear time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Container, Iterator
from html import unescape

from scrapy_robots_plus.protocol.product_token import as_text, fold

_RAW = ("title", "textarea", "script", "style", "noscript", "noframes", "noembed", "iframe", "xmp")
"""The elements that contain only text: what looks like a tag there is none."""

_ENDS = frozenset({"/head", "/html", "/body", "body", "frameset", "plaintext"})
"""The tags after which the head is over."""

_BLANK = r"\t\n\f\r "
_ATTRIBUTE = re.compile(
    rf"[{_BLANK}/]*(=[^{_BLANK}/>=]*|[^{_BLANK}/>=]+)"
    rf"(?:[{_BLANK}]*=[{_BLANK}]*(?:\"([^\"]*)(?:\"|\Z)|'([^']*)(?:'|\Z)|([^{_BLANK}>]*)))?"
)
_KEPT = "+" if sys.version_info >= (3, 11, 5) else ""
"""A suffix that makes a repetition possessive, so that no round is remembered. In a hostile page,
that would take some hundred times the memory of the page."""
_MARKUP = re.compile(
    rf"""<(?:
    !--(?: -?> | (?: [^-]+ | -(?!-!?>) )*{_KEPT} (?: --!?> | \Z ) )
    | (?: [!?] | /(?![a-z]) ) [^>]* >?
    | (?P<name> (?P<raw> {"|".join(_RAW)} )(?=[{_BLANK}/>]) | /?[a-z][^{_BLANK}/>]* )
      (?P<attributes> (?: {_ATTRIBUTE.pattern} )*{_KEPT} [{_BLANK}/]* ) (?: (?P<closed> > ) | \Z )
      (?(raw) (?: (?<=/>) | (?: [^<]* <(?!/(?P=raw)[{_BLANK}/>]) )*{_KEPT} [^<]* ) )
)""",
    re.IGNORECASE | re.ASCII | re.VERBOSE,
)
"""A comment, a declaration or the like, or a tag, with the content of elements that contain only
text. ``<script/>`` has none, as in XHTML: browsers could not show such a page as HTML. Never
backtracks: what is not closed goes on to the end of the text."""
_AS_OCTETS = "latin-1"
_HUGE_NUMBER = re.compile("&#x?[0-9a-f]{9,};?", re.IGNORECASE)


def robots_metas(page: str | bytes, tokens: Container[str]) -> list[tuple[str, str]]:
    """Returns name and content of the meta tags in the head of *page* that are for robots.

    Their name, in lower case, is ``robots`` or one of *tokens*. Never raises; takes linear time.
    Octets are of any charset in which ASCII is ASCII; what is not UTF-8 is read as ISO-8859-1.
    """
    text = page if isinstance(page, str) else page.decode(_AS_OCTETS)
    found = []
    for name, content in _metas(text):
        if isinstance(page, bytes):
            name, content = (as_text(each.encode(_AS_OCTETS)) for each in (name, content))
        name = fold(resolved(name).strip())
        if name == "robots" or name in tokens:
            found.append((name, resolved(content)))
    return found


def _metas(text: str) -> Iterator[tuple[str, str]]:
    """Yields names and contents of the meta tags in the head, as served."""
    templates = 0
    for tag in _MARKUP.finditer(text):
        name = (tag["name"] or "").lower()
        if name == "template":
            templates += 1
        elif name == "/template":
            templates = max(0, templates - 1)
        elif templates:
            continue
        elif name in _ENDS:
            return
        elif name == "meta" and tag["closed"]:
            attributes = _attributes(tag["attributes"])
            if "content" in attributes:
                yield attributes.get("name", ""), attributes["content"]


def _attributes(served: str) -> dict[str, str]:
    """Returns the first value of each attribute of a tag, by its name in lower case."""
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(served):
        name, double, single, bare = match.groups()
        if bare and match.end() == len(served):
            bare = bare.removesuffix("/")  # meant to close the tag, though the standard differs
        found.setdefault(name.lower(), double or single or bare or "")
    return found


def resolved(value: str) -> str:
    """Returns *value* with its entities resolved.

    Huge numbers, which no character has, are replaced first: Python would not read them, or in
    quadratic time.
    """
    return unescape(_HUGE_NUMBER.sub("\ufffd", value)) if "&" in value else value
