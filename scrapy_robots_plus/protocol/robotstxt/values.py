"""The values that a parsed file returns."""

from __future__ import annotations

import re
from dataclasses import dataclass

from scrapy_robots_plus.protocol.product_token import as_text

_WHOLE_URL = re.compile(rb"https?://[^/]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rule:
    """An allow or disallow line (RFC 9309 2.2.2)."""

    allow: bool
    """Whether it allows; otherwise it disallows."""
    pattern: str
    """As served; empty for a rule that names no path."""
    line: int
    """Its line in the file, counted from 1."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group as it stands in the file, before those of equal token are merged (RFC 9309 2.2.1)."""

    agents: tuple[str, ...]
    """The values of its user-agent lines, as served."""
    rules: tuple[Rule, ...]
    """Its allow and disallow lines, in file order."""


@dataclass(frozen=True, slots=True)
class CleanParam:
    """Query parameters that do not change a page: Yandex's Clean-param, not part of RFC 9309."""

    params: tuple[str, ...]
    """Names of parameters, as served."""
    path: str = ""
    """The beginning of the paths that this holds for; empty for all."""


def clean_param(value: str) -> CleanParam:
    """``ref&sort /shop/``: parameters, and the path they apply to."""
    params, path = (*value.split(None, 1), "", "")[:2]
    return CleanParam(tuple(filter(None, params.split("&"))), path)


def is_url(value: object) -> bool:
    """Whether a user agent, or what should be a URL, is a URL with a scheme and an authority."""
    text = as_text(value) if isinstance(value, (str, bytes)) else ""
    return text[:8].lower().startswith(("http://", "https://"))


def is_whole_url(value: bytes) -> bool:
    """Whether it has a scheme, http or https, and a host, as sitemaps and licenses need."""
    return bool(_WHOLE_URL.match(value))
