"""The robots meta tags in the head of an HTML page, as browsers tell tags from text.

This follows the tokenizer of the HTML standard (https://html.spec.whatwg.org/#tokenization) as far
as the head of a page needs it. A meta tag does not count in a comment, nor inside of ``title``,
``script``, ``style``, ``noscript`` and the like, nor in a ``template``. Each step moves forward,
and what is not closed ends the reading, so that any text takes linear time.
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.product_token import as_text, fold

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

_RAW = ("title", "textarea", "script", "style", "noscript", "noframes", "noembed", "iframe", "xmp")
"""Elements with text alone: what looks like a tag there is none."""

_ENDS = frozenset({"/head", "/html", "/body", "body", "frameset", "plaintext"})
"""Tags after which the head is over."""

_BLANK = "\t\n\f\r "
_TAG = re.compile(rf"<(?:(!--)|([!?])|(/?[a-z][^{_BLANK}/>]*)|(/))", re.IGNORECASE | re.ASCII)
_EMPTY_COMMENT = re.compile("<!---?>")
_COMMENT_END = re.compile("--!?>")
_ATTRIBUTE = re.compile(
    rf"[{_BLANK}/]*(=[^{_BLANK}/>=]*|[^{_BLANK}/>=]+)"
    rf"(?:[{_BLANK}]*=[{_BLANK}]*(?:([\"'])|([^{_BLANK}>]*)))?"
)
_USUAL_TAG = re.compile(
    rf"(?:[{_BLANK}]+[^{_BLANK}/>=\"']+"
    rf"(?:=(?:\"[^\"]*\"|'[^']*'|[^{_BLANK}>\"'][^{_BLANK}>]*(?=[{_BLANK}>])))?)*"
    rf"[{_BLANK}]*/?>"
)
"""The rest of nearly all tags, for those whose attributes do not matter."""
_TAG_END = re.compile(rf"[{_BLANK}/]*>")
_AS_OCTETS = "latin-1"
_HUGE_NUMBER = re.compile("&#x?[0-9a-f]{9,};?", re.IGNORECASE)
_RAW_END = {
    name: re.compile(rf"</{name}(?=[{_BLANK}/>])", re.IGNORECASE | re.ASCII) for name in _RAW
}


class Meta(NamedTuple):
    """A meta tag with a name."""

    name: str
    """In lower case, without blanks around it."""
    content: str
    """As served, its entities resolved."""


class _Tag(NamedTuple):
    name: str
    """In lower case; that of an end tag begins with a slash."""
    attributes: dict[str, str]
    """Of a meta tag or a link; others may lack them."""
    end: int


LICENSE = "link rel=license"
"""In the place of a name: a link to a licence in RSL (https://rslstandard.org/rsl); its address is
the content."""


def robots_metas(page: str | bytes, tokens: Container[str], *, xml: bool = False) -> list[Meta]:
    """The meta tags in the head of *page* whose name is ``robots`` or one of *tokens*, in lower
    case, and links to licences if :data:`LICENSE` is one of them. Never raises; takes linear time.

    Octets are of any charset in which ASCII is ASCII; what is not UTF-8 is read as ISO-8859-1. Of a
    page that is *xml*, ``<script/>`` has no content.
    """
    text = page if isinstance(page, str) else page.decode(_AS_OCTETS)
    found = (_meta(tag, isinstance(page, bytes)) for tag in _metas(text, xml))
    return [meta for meta in found if meta.name == "robots" or meta.name in tokens]


def _meta(tag: _Tag, is_octets: bool) -> Meta:
    name, content = tag.attributes.get("name", ""), tag.attributes["content"]
    if is_octets:
        name, content = as_text(name.encode(_AS_OCTETS)), as_text(content.encode(_AS_OCTETS))
    return Meta(fold(_resolved(name).strip()), _resolved(content))


def _metas(text: str, xml: bool) -> Iterator[_Tag]:
    templates = 0
    for tag in _tags(text, xml):
        if tag.name == "template":
            templates += not (xml and _is_empty(text, tag))
        elif tag.name == "/template":
            templates = max(0, templates - 1)
        elif not templates:
            if tag.name in _ENDS:
                return
            if tag.name == "meta" and "content" in tag.attributes:
                yield tag
            elif tag.name == "link" and is_license(tag.attributes):
                address = tag.attributes.get("href", "")
                yield tag._replace(attributes={"name": LICENSE, "content": address})


def is_license(attributes: dict[str, str]) -> bool:
    """Whether a link, of a page or a header, leads to a licence in RSL."""
    kind = attributes.get("type", "").lower().partition(";")[0].strip()
    return kind == "application/rsl+xml" and "license" in attributes.get("rel", "").lower().split()


def _resolved(value: str) -> str:
    """*value* with its entities resolved. A number that no character has would not be read by
    Python, or in quadratic time."""
    return unescape(_HUGE_NUMBER.sub("\ufffd", value)) if "&" in value else value


def _tags(text: str, xml: bool) -> Iterator[_Tag]:
    """Tags in order, without those that are in comments or in elements with text alone."""
    at = 0
    while (match := _TAG.search(text, at)) is not None:
        if match[3] is None:
            at = _end_of_markup(text, match, xml)
        else:
            tag = _tag(text, match)
            at = -1 if tag is None else tag.end
            if tag is not None:
                yield tag
                if tag.name in _RAW and not (xml and _is_empty(text, tag)):
                    at = _end_of_raw(text, tag)
        if at == -1:
            return


def _is_empty(text: str, tag: _Tag) -> bool:
    """Whether it ends in ``/>``, as an XML element without content does."""
    return text.startswith("/>", tag.end - 2)


def _end_of_markup(text: str, match: re.Match[str], xml: bool) -> int:
    """Where a comment, a declaration or the like ends; -1 if it does not."""
    if match[1] is not None:
        end = _EMPTY_COMMENT.match(text, match.start()) or _COMMENT_END.search(text, match.end())
        return -1 if end is None else end.end()
    closing = "]]>" if xml and text.startswith("<![CDATA[", match.start()) else ">"
    found = text.find(closing, match.end())
    return -1 if found == -1 else found + len(closing)


def _end_of_raw(text: str, tag: _Tag) -> int:
    """Where the end tag of an element with text alone begins; -1 if there is none."""
    at = tag.end
    while (at := text.find("</", at)) != -1 and _RAW_END[tag.name].match(text, at) is None:
        at += 2
    return at


def _tag(text: str, match: re.Match[str]) -> _Tag | None:
    """The tag that *match* opens; None if the text ends in it."""
    name, at = match[3].lower(), match.end()
    usual = None if name in ("meta", "link") else _USUAL_TAG.match(text, at)
    if usual is not None:
        return _Tag(name, {}, usual.end())
    attributes: dict[str, str] = {}
    while (found := _ATTRIBUTE.match(text, at)) is not None:
        key, quote, value = found.groups()
        at = found.end()
        if quote is not None:
            close = text.find(quote, at)
            if close == -1:
                return None
            value, at = text[at:close], close + 1
        elif value and value.endswith("/") and text.startswith(">", at):
            value = value[:-1]  # meant to close the tag, though the standard takes it as said
        attributes.setdefault(key.lower(), value or "")
    end = _TAG_END.match(text, at)
    return None if end is None else _Tag(name, attributes, end.end())
