"""What the meta tags in the head of a page say."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse
from w3lib.encoding import html_to_unicode

from scrapy_robots_plus.protocol.directives import PageDirectives, meta_statements
from scrapy_robots_plus.protocol.directives.html_head import LICENSE, robots_metas
from scrapy_robots_plus.protocol.preferences import Source, directive_statements, tdm_statements
from scrapy_robots_plus.protocol.preferences.tdm import POLICY, RESERVATION
from scrapy_robots_plus.protocol.product_token import names_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.http import Response

    from scrapy_robots_plus.protocol.directives import PageStatement
    from scrapy_robots_plus.protocol.directives.html_head import Meta
    from scrapy_robots_plus.protocol.preferences import Statement
    from scrapy_robots_plus.protocol.product_token import AgentNames

MOST_OCTETS = 262_144
"""Of a page that are searched for meta tags."""

_NOT_ASCII = (b"\0", b"\x1b$", b"\x1b(")
"""What is in text of UTF-16, UTF-32 or ISO-2022, where an octet of ASCII may be half a character.
"""


def said_in_metas(response: Response, agent: AgentNames) -> tuple[tuple[Statement, ...], list[str]]:
    """What they say to *agent* about uses, and the licences that the page links to.

    ``noimageai`` is an objection too, as nobody can tell the page from its images.
    """
    tags = _tags(response, agent, RESERVATION, POLICY, LICENSE)
    found = PageDirectives.of(_directives(tags), agent).directives
    by_name = {
        name: [each.content for each in tags if each.name == name]
        for name in (RESERVATION, POLICY, LICENSE)
    }
    return (
        *directive_statements(found, Source.META_ROBOTS, is_image=True),
        *tdm_statements(Source.TDM_META, by_name[RESERVATION], by_name[POLICY]),
    ), by_name[LICENSE]


def metas_in(response: Response, agent: AgentNames) -> Iterator[PageStatement]:
    """The directives for all crawlers, and for *agent*, in a page of HTML."""
    return _directives(_tags(response, agent))


def _directives(tags: Iterable[Meta]) -> Iterator[PageStatement]:
    for name, content in tags:
        if name not in (RESERVATION, POLICY, LICENSE):
            yield from meta_statements(name, content)


def _tags(response: Response, agent: AgentNames, *more: str) -> Iterable[Meta]:
    """Those with the names of robots, of *agent*, and *more*; each once."""
    if not isinstance(response, HtmlResponse):
        return ()
    kind = (response.headers.get("Content-Type") or b"").decode("latin-1")
    body = response.body[:MOST_OCTETS]
    page = html_to_unicode(kind, body)[1] if any(each in body for each in _NOT_ASCII) else body
    names = (*chain(*names_of(agent)), *more)
    return dict.fromkeys(robots_metas(page, names, xml="xhtml" in kind.lower()))
