"""What the headers and meta tags of a response say about its page and the use of it."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate

from scrapy.http import HtmlResponse, Response
from w3lib.encoding import read_bom

from scrapy_robots_plus.protocol.directives import (
    PageDirectives,
    PageStatement,
    header_statements,
    meta_statements,
)
from scrapy_robots_plus.protocol.directives.html_head import robots_metas
from scrapy_robots_plus.protocol.preferences import Source, Statement
from scrapy_robots_plus.protocol.preferences.tdm import POLICY, RESERVATION, tdm_statements
from scrapy_robots_plus.protocol.preferences.values import (
    directive_statements,
    signal_header,
    usage_header,
)
from scrapy_robots_plus.protocol.product_token import AgentNames, names_of

MOST_OCTETS = 262_144
"""Bytes of a page that are searched for meta tags, and of each header that are read."""


def said_in_headers(response: Response, agent: AgentNames) -> tuple[Statement, ...]:
    """Returns what the headers of *response* say to *agent* about the use of its page.

    They are Content-Usage, Content-Signal, X-Robots-Tag, tdm-reservation and tdm-policy."""
    reserved, policies = _lines(response, RESERVATION), _lines(response, POLICY)
    directives = PageDirectives.of(_x_robots_tag(response), agent).directives
    is_image = (response.headers.get("Content-Type") or b"").strip().lower().startswith(b"image/")
    return (
        *usage_header(_lines(response, "Content-Usage")),
        *signal_header(_lines(response, "Content-Signal")),
        *directive_statements(directives, is_image=is_image),
        *tdm_statements(Source.TDM_HEADER, map(_text, reserved), map(_text, policies)),
    )


def _text(octets: bytes) -> str:
    return octets.decode("latin-1")


def said_in_metas(response: Response, agent: AgentNames) -> tuple[Statement, ...]:
    """Returns what meta tags in the head of a page say to *agent* about uses.

    ``noimageai`` is an objection too, as the page cannot be told apart from its images.
    """
    directives, contents = _in_page(response, agent)
    found = PageDirectives.of(directives, agent).directives
    reserved, policies = contents.values()
    return (
        *directive_statements(found, Source.META_ROBOTS, is_image=True),
        *tdm_statements(Source.TDM_META, reserved, policies),
    )


def directives_of(response: Response, agent: AgentNames) -> PageDirectives:
    """Returns what X-Robots-Tag headers and robots meta tags of *response* ask of *agent*."""
    in_page, _ = _in_page(response, agent)
    return PageDirectives.of((*_x_robots_tag(response), *in_page), agent)


# Several parts ask about one page, and most pages of a site say the same.
_read = lru_cache(maxsize=16)(header_statements)


def _x_robots_tag(response: Response) -> tuple[PageStatement, ...]:
    """Returns what the X-Robots-Tag headers of *response* say to any crawler."""
    return _read(_lines(response, "X-Robots-Tag"))


def _lines(response: Response, name: str) -> tuple[bytes, ...]:
    """Returns the lines of one header that are read: a server may send any number of them."""
    lines = response.headers.getlist(name)
    ends = accumulate(map(len, lines))
    return tuple(line for line, end in zip(lines, ends, strict=True) if end <= MOST_OCTETS)


def _in_page(
    response: Response, agent: AgentNames
) -> tuple[list[PageStatement], dict[str, list[str]]]:
    """Returns what meta tags for all robots and for *agent* say, and the contents of TDM tags.

    Equal tags count once."""
    said: list[PageStatement] = []
    contents: dict[str, list[str]] = {RESERVATION: [], POLICY: []}
    if not isinstance(response, HtmlResponse):
        return said, contents
    body = response.body[:MOST_OCTETS]
    encoding, _ = read_bom(body)
    # Without a byte order mark, tags are ASCII, whatever the charset.
    page = body.decode(encoding, "replace").lstrip("\ufeff") if encoding else body
    names = (*names_of(agent), *contents)
    for name, content in dict.fromkeys(robots_metas(page, names)):
        if name in contents:
            contents[name].append(content)
        else:
            said += meta_statements(name, content)
    return said, contents
