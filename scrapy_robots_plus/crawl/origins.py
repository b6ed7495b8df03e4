"""The origin of a request, found quickly: a crawl asks for it several times per request."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult

from scrapy.utils.httpobj import urlparse_cached

from scrapy_robots_plus.policy.origin import Origin

if TYPE_CHECKING:
    from scrapy import Request


@lru_cache(maxsize=16_384)
def _origin(scheme: str, netloc: str) -> Origin | None:
    return Origin.of(SplitResult(scheme, netloc, "", "", ""))


def origin_to_ask(request: Request) -> Origin | None:
    """The origin whose robots.txt speaks of *request*; None where it is not to be asked.

    Raises ValueError where the port in its URL is no port.
    """
    if request.meta.get("dont_obey_robotstxt"):
        return None
    parts = urlparse_cached(request)
    return _origin(parts.scheme, parts.netloc)
