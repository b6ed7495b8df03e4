"""What the headers of a response say about the use of its page."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.preferences import (
    directive_statements,
    signal_header,
    usage_header,
)

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_robots_plus.protocol.directives import PageStatement
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
        *_directives(response, agent),
    )


def x_robots_tag(response: Response) -> tuple[PageStatement, ...]:
    """What the X-Robots-Tag headers of *response* say, to any crawler."""
    return _read(tuple(response.headers.getlist(_DIRECTIVES)))


@lru_cache(maxsize=16)  # several parts ask of a page, and most pages of a site say the same
def _read(lines: tuple[bytes, ...]) -> tuple[PageStatement, ...]:
    from scrapy_robots_plus.protocol.directives import header_statements

    return header_statements(lines)


def _directives(response: Response, agent: AgentNames) -> tuple[Statement, ...]:
    headers = response.headers
    if _DIRECTIVES not in headers:
        return ()
    from scrapy_robots_plus.protocol.directives import PageDirectives

    directives = PageDirectives.of(x_robots_tag(response), agent).directives
    is_image = (headers.get(b"Content-Type") or b"").strip().lower().startswith(b"image/")
    return directive_statements(directives, is_image=is_image)
