"""What a host says is left of a limit: RateLimit (draft 11), X-RateLimit. No I/O, no clock.

Many such headers are wrong: they never change, count something else, or limit nothing. So they are
believed once they have counted down, and not any more if pages are still answered after the last.
"""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.preferences.structured_fields import StructuredFieldError, items_in
from scrapy_robots_plus.protocol.printable import moment_of

if TYPE_CHECKING:
    from collections.abc import Mapping

OLDER = ("x-ratelimit-", "ratelimit-")
"""Before ``remaining`` and ``reset``: the usual headers, and those of drafts up to 06."""
QUOTA_HEADERS = (
    *("ratelimit", "ratelimit-policy"),
    *(prefix + each for prefix in OLDER for each in ("remaining", "reset")),
)
_WHOLE = re.compile(rb"[0-9]{1,15}")
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
_EPOCH, _MILLISECONDS = 1e9, 1e11
"""A larger number of seconds is a moment, in seconds or in milliseconds."""


class Left(NamedTuple):
    """What one answer says."""

    requests: float
    seconds: float
    """Until there are more; negative if that has passed."""


def left_in(headers: Mapping[str, str], now: float) -> Left | None:
    """What the *headers* of an answer, with names in lower case, say of the limit that has least
    left; None if they do not say how many requests are left for how long. *now*: seconds since the
    epoch, by the clock of the host.
    """
    found = _in_fields(headers)
    for prefix in OLDER:
        left, reset = (headers.get(prefix + each, "").strip(" ") for each in ("remaining", "reset"))
        seconds = _until(reset, now)
        if _NUMBER.fullmatch(left) and seconds is not None:
            found.append(Left(float(left), seconds))
    return min(found, key=lambda each: (each.requests, -each.seconds), default=None)


def _in_fields(headers: Mapping[str, str]) -> list[Left]:
    """Of several limits. One of bytes, or of requests at the same time, is none of them."""
    try:
        limits, policies = (
            items_in(headers.get(name, "").encode("latin-1"))
            for name in ("ratelimit", "ratelimit-policy")
        )
    except StructuredFieldError:
        return []
    found, by_name = [], dict(policies)
    for name, limit in limits:
        policy = by_name.get(name, {})
        numbers = [limit.get("r", b""), limit.get("t", policy.get("w", b""))]
        if all(map(_WHOLE.fullmatch, numbers)) and policy.get("qu", b'"requests"') == b'"requests"':
            found.append(Left(*map(float, numbers)))
    return found


def _until(text: str, now: float) -> float | None:
    if _NUMBER.fullmatch(text):
        seconds = float(text)
        moment = seconds / 1000 if seconds > _MILLISECONDS else seconds
        return moment - now if seconds > _EPOCH else seconds
    try:
        return moment_of(text) - now
    except ValueError:
        return None


class Quota:
    """What is left of the limit of one host. Times are seconds by one monotonic clock."""

    UNPROVEN = 8.0
    """Seconds that a pause takes at most while it is not known whether there is a limit at all."""
    EARLY = -2.0
    """Seconds; a moment may have passed by so much, as most are told in whole seconds."""

    def __init__(self, longest: float) -> None:
        """*longest*: seconds; what is said of a longer time counts for nothing."""
        self._longest = longest
        self._said: float | None = None
        """How many requests are left, as was said last."""
        self._left = inf
        """The same without those that are under way."""
        self._until = -inf
        """Until then."""
        self._window = 0.0
        self.answers = 0
        """How many answers have come."""
        self._counts = False
        """Whether what is said goes down."""
        self._is_proven = False
        """Whether something was refused, or more was left after a pause."""
        self._is_wrong = False
        """Whether pages were answered although nothing was left."""

    @property
    def due_at(self) -> float:
        """When the next request may go."""
        return self._until if self._left <= 0 else -inf

    def is_on(self, now: float) -> bool:
        """Whether it delays anything, or may soon."""
        return not self._is_wrong and (now < self._until or (self._counts and self._said == 0))

    def handed_over(self, now: float) -> None:
        """A request is sent. After a pause, the others wait until its answer says what is left."""
        if now >= self._until:
            self._left = 1 if self._counts and self._said == 0 else inf
            self._until = now + self._window
        self._left -= 1

    def heard(
        self, left: Left | None, now: float, under_way: int, *, is_refused: bool, since: int = 0
    ) -> bool:
        """An answer has come, and says that so much is *left*; *under_way*: requests without one.
        *is_refused*: it was 429 or 503. *since*: how many other answers have come since its request
        was sent. Returns whether nothing is left.
        """
        self.answers += 1
        if self._is_wrong or (left is None and is_refused):
            return False
        if left is None or not self.EARLY < left.seconds <= self._longest:
            self._said, self._counts, self._left = None, False, inf
            return False
        requests, said = left.requests, self._said
        if said is not None and said < requests <= said + since + under_way:
            requests = said  # it was counted before others, whose answers came sooner
        self._is_proven |= is_refused or (said == 0 < requests)
        if not is_refused:
            self._is_wrong = left.requests == said == 0
            self._counts |= said is not None and requests < said
            self._counts &= not self._is_wrong
            self._said = requests
        most = self._longest if requests or self._is_proven else self.UNPROVEN
        self._window = min(max(left.seconds, 0.0), most)
        self._until = now + self._window
        self._left = requests - under_way if self._counts else inf
        return self._counts and not left.requests
