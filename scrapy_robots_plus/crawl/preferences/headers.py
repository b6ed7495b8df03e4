"""What the headers of a response say about the use of its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.preferences import (
    directive_statements,
    signal_header,
    usage_header,
)

if TYPE_CHECKING:
    from scrapy.http import Headers, Response

    from scrapy_robots_plus.protocol.preferences import Statement
    from scrapy_robots_plus.protocol.product_token import AgentNames

_USAGE, _SIGNAL, _DIRECTIVES = b"Content-Usage", b"Content-Signal", b"X-Robots-Tag"
_NAMES = frozenset({_USAGE, _SIGNAL, _DIRECTIVES})


def said_in_headers(response: Response, agent: AgentNames) -> tuple[Statement, ...]:
    """What the headers Content-Usage, Content-Signal and X-Robots-Tag say to *agent*."""
    headers = response.headers
    if _NAMES.isdisjoint(headers):
        return ()
    usage, signal = headers.getlist(_USAGE), headers.getlist(_SIGNAL)
    return (
        *(usage_header(usage) if usage else ()),
        *(signal_header(signal) if signal else ()),
        *_directives(headers, agent),
    )


def _directives(headers: Headers, agent: AgentNames) -> tuple[Statement, ...]:
    if _DIRECTIVES not in headers:
        return ()
    from scrapy_robots_plus.protocol.directives import PageDirectives, header_statements

    said = header_statements(headers.getlist(_DIRECTIVES))
    directives = PageDirectives.of(said, agent).directives
    is_image = (headers.get(b"Content-Type") or b"").strip().lower().startswith(b"image/")
    return directive_statements(directives, is_image=is_image)
