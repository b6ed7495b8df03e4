"""A site's treatment of a crawl that its robots.txt lets in, learnt from responses.

No I/O, no clock. One page that is refused says nothing about its site: several different ones in a
row do, and any that is served says the contrary. A limit lets many pages through, so it takes more
of them to end it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .printable import Word, cut


class Standing(Word):
    """A site's treatment of a crawl."""

    OPEN = "open"
    DENIED = "denied"
    """Its robots.txt denies all requests. The only standing that no response to a page tells."""
    WALLED = "walled"
    """Pages that its robots.txt allows are refused, or replaced by a challenge."""
    PRICED = "priced"
    """The site wants to be paid."""
    LIMITED = "limited"
    """The site asks for fewer requests."""
    BROKEN = "broken"
    """The site fails, or cannot be reached."""


CHALLENGE = "cf-mitigated"
HEADERS = (CHALLENGE, "crawler-price", "www-authenticate", "retry-after")
"""The headers that tell how a site treats a crawl."""


_MOST_OF_A_PRICE = 100
"""The most characters of a price, which is remembered for each host."""

_QUOTED = re.compile('"[^"]*"')


def is_challenge(headers: Mapping[str, str]) -> bool:
    """Returns whether a response is a page that tests whether a person asks.

    *headers*: names in lower case.
    """
    return headers.get(CHALLENGE, "").strip().lower() == "challenge"


def standing_in(status: int, headers: Mapping[str, str]) -> tuple[Standing, str, bool]:
    """Returns what one response says, in which words, and whether it says so clearly.

    A mere 403, 401 or 5xx is not clear: it may have many reasons. *headers*: :data:`HEADERS`, names
    in lower case.
    """
    if is_challenge(headers):
        return Standing.WALLED, "cf-mitigated: challenge", True
    if status < 400:
        return Standing.OPEN, str(status), True
    if price := headers.get("crawler-price"):
        return Standing.PRICED, f"crawler-price: {cut(price, _MOST_OF_A_PRICE)}", True
    # RSL 1.0: who has no licence gets a 401 or 402 with the scheme License.
    challenges = _QUOTED.sub("", headers.get("www-authenticate", "")).lower().split(",")
    if status == 402 or any(each.split()[:1] == ["license"] for each in challenges):
        return Standing.PRICED, str(status), True
    if status == 429 or (status == 503 and "retry-after" in headers):
        return Standing.LIMITED, str(status), True
    if status in (401, 403):
        return Standing.WALLED, str(status), False
    return (Standing.BROKEN if status >= 500 else Standing.OPEN), str(status), False


class Site:
    """The standing of one site, from its latest responses."""

    __slots__ = ("_calm", "_kind", "_urls", "standing", "why")

    CLEAR = 2
    """The number of different URLs in a row that decide, if the last response is clear."""
    SEVERAL = 5
    """The number of different URLs in a row that decide, if the last response is a mere status."""
    CALM = 20
    """The number of responses in a row that end a limit. For anything else, one does."""

    def __init__(self) -> None:
        self.standing = self._kind = Standing.OPEN
        self.why = ""
        """The words of the last refusal: ``403``, ``cf-mitigated: challenge``."""
        self._urls: set[int] = set()
        """The different URLs that were refused in the same way in a row, as hashes."""
        self._calm = 0

    def heard(self, url: str, says: Standing, why: str, *, is_clear: bool) -> bool:
        """Takes in the response to *url*; returns whether :attr:`standing` has changed.

        The other arguments are as :func:`standing_in` returns them.
        """
        before = self.standing
        if says is Standing.OPEN:
            self._calm += 1
            decides = self._kind if before is Standing.OPEN else before
            if decides is not Standing.LIMITED or self._calm >= self.CALM:
                self.standing = self._kind = says
                self._urls.clear()
            return self.standing is not before
        if says is not self._kind:
            self._urls.clear()
        self._kind, self.why, self._calm = says, why, 0
        if len(self._urls) < self.SEVERAL:
            self._urls.add(hash(url))
        if len(self._urls) >= (self.CLEAR if is_clear else self.SEVERAL):
            self.standing = says
        return self.standing is not before
