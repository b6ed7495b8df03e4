"""What the headers of a response say about the use of its page."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.preferences import (
    Source,
    directive_statements,
    signal_header,
    tdm_statements,
    usage_header,
)

if TYPE_CHECKING:
    from scrapy.http import Headers, Response

    from scrapy_robots_plus.protocol.directives import PageStatement
    from scrapy_robots_plus.protocol.preferences import Statement
    from scrapy_robots_plus.protocol.product_token import AgentNames

_USAGE, _SIGNAL, _DIRECTIVES = b"Content-Usage", b"Content-Signal", b"X-Robots-Tag"
_RESERVATION, _POLICY = b"Tdm-Reservation", b"Tdm-Policy"
_NAMES = frozenset({_USAGE, _SIGNAL, _DIRECTIVES, _RESERVATION, _POLICY})
_LINK = re.compile(r'<([^<>]*)>((?:[^,<"]|"[^"]*")*)')
_REL = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^\s;]*))', re.IGNORECASE)
_RSL = re.compile(r';\s*type\s*=\s*"?application/rsl\+xml(?![^\s";])', re.IGNORECASE)


def licenses_in_headers(response: Response) -> list[str]:
    """The addresses, as served, of licences in RSL that Link headers name (RFC 8288;
    https://rslstandard.org/rsl)."""
    links = b", ".join(response.headers.getlist(b"Link"))
    if b"rsl" not in links.lower():
        return []
    found = _LINK.findall(links.decode("latin-1"))
    return [address for address, said in found if "license" in _rels(said) and _RSL.search(said)]


def _rels(parameters: str) -> list[str]:
    """The relations of a link."""
    found = _REL.search(parameters)
    return [] if found is None else (found[1] or found[2] or "").lower().split()


def said_in_headers(response: Response, agent: AgentNames) -> tuple[Statement, ...]:
    """What the headers Content-Usage, Content-Signal, X-Robots-Tag and tdm-reservation say to
    *agent*."""
    headers = response.headers
    if _NAMES.isdisjoint(headers):
        return ()
    usage, signal = headers.getlist(_USAGE), headers.getlist(_SIGNAL)
    return (
        *(usage_header(usage) if usage else ()),
        *(signal_header(signal) if signal else ()),
        *_directives(response, agent),
        *tdm_statements(Source.TDM_HEADER, _texts(headers, _RESERVATION), _texts(headers, _POLICY)),
    )


def _texts(headers: Headers, name: bytes) -> list[str]:
    return [each.decode("latin-1") for each in headers.getlist(name)]


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
