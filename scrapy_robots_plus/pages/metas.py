"""What the robots meta tags of a page say."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse
from w3lib.encoding import html_to_unicode

from scrapy_robots_plus.protocol.directives import PageDirectives, meta_statements
from scrapy_robots_plus.protocol.directives.html_head import robots_metas
from scrapy_robots_plus.protocol.preferences import Source, directive_statements
from scrapy_robots_plus.protocol.product_token import names_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from scrapy_robots_plus.protocol.directives import PageStatement
    from scrapy_robots_plus.protocol.preferences import Statement
    from scrapy_robots_plus.protocol.product_token import AgentNames

MOST_OCTETS = 262_144
"""Of a page that are searched for meta tags."""

_NOT_ASCII = (b"\0", b"\x1b$", b"\x1b(")
"""What is in text of UTF-16, UTF-32 or ISO-2022, where an octet of ASCII may be half a character.
"""


def said_in_metas(response: Response, agent: AgentNames) -> tuple[Statement, ...]:
    """What they say to *agent* about uses: ``noai``, and ``noimageai``, which is an objection too,
    as nobody can tell the page from its images."""
    directives = PageDirectives.of(metas_in(response, agent), agent).directives
    return directive_statements(directives, Source.META_ROBOTS, is_image=True)


def metas_in(response: Response, agent: AgentNames) -> Iterator[PageStatement]:
    """The directives for all crawlers, and for *agent*, in a page of HTML."""
    if not isinstance(response, HtmlResponse):
        return
    kind = (response.headers.get("Content-Type") or b"").decode("latin-1")
    body = response.body[:MOST_OCTETS]
    page = html_to_unicode(kind, body)[1] if any(each in body for each in _NOT_ASCII) else body
    names = tuple(chain(*names_of(agent)))
    for name, content in dict.fromkeys(robots_metas(page, names, xml="xhtml" in kind.lower())):
        yield from meta_statements(name, content)
