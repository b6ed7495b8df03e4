"""Which answers say that a host gets too many requests, and what they mean for their requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.crawl.requests import (
    HANDLED_META_KEY,
    HANDLES_ALL_META_KEY,
    MAX_RETRIES_META_KEY,
    REFUSED_META_KEY,
)
from scrapy_robots_plus.policy.access import TOO_MANY_REQUESTS

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.http import Response

UNAVAILABLE = 503
BUSY = frozenset({TOO_MANY_REQUESTS, UNAVAILABLE})

ERRORS_IN_A_ROW = 3
"""So many answers 503 in a row are a refusal; fewer may be an error of single pages."""

FORGIVEN = 10
"""How many refusals of one request do not count as retries."""


class Refusals:
    """Remembers which slots have answered 503 last."""

    def __init__(self, most_slots: int) -> None:
        self._errors: Recent[str, int] = Recent(most_slots)

    def refuses(self, response: Response, key: str) -> bool:
        """Whether *response*, the next from the slot *key*, is a 429, or a 503 after others."""
        if response.status == UNAVAILABLE:
            return self._count_error(key) >= ERRORS_IN_A_ROW
        if self._errors:
            self._errors.pop(key, None)
        return response.status == TOO_MANY_REQUESTS

    def _count_error(self, key: str) -> int:
        count = self._errors.get(key, 0) + 1
        self._errors.put(key, count)
        return count


def forgive(request: Request, spider: Spider | None, retries: int) -> None:
    """Lets Scrapy retry a refused *request* once more than the *retries* of the settings.

    ``RETRY_TIMES`` is about errors: a page is not lost because its host was asked too often. Who
    wants to see such an answer gets it no later than without this package.
    """
    times = request.meta.get(REFUSED_META_KEY, 0)
    if times < FORGIVEN and not _is_handled(request, spider):
        request.meta[REFUSED_META_KEY] = times + 1
        most = request.meta.get(MAX_RETRIES_META_KEY, retries)
        request.meta[MAX_RETRIES_META_KEY] = most + 1


def _is_handled(request: Request, spider: Spider | None) -> bool:
    """Whether a callback gets the answer (Scrapy's HttpErrorMiddleware)."""
    if request.meta.get(HANDLES_ALL_META_KEY):
        return True
    of_spider = getattr(spider, HANDLED_META_KEY, ())
    return TOO_MANY_REQUESTS in request.meta.get(HANDLED_META_KEY, of_spider)
