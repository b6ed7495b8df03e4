"""Whether a page may be used in some way, as far as anybody has said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.preferences import CURRENT, Preference
from scrapy_robots_plus.settings.options import ContentUse, uses_of

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.preferences import Statement
    from scrapy_robots_plus.protocol.verdict import Verdict

NOT_READ = "not_read"
"""The preference where nobody has looked what the robots.txt says about it."""

USES = (*CURRENT.labels, *(uses_of((), each)[0] for each in ContentUse))
"""The uses that can be asked for."""


@dataclass(frozen=True, slots=True)
class Permission:
    """What :meth:`~scrapy_robots_plus.origins.policies.Policies.may` knows. It is true unless the
    page must not be fetched (RFC 9309), or somebody objects to its use: an unknown preference
    restricts nothing."""

    url: str
    """The page, as a request would have it."""
    use: str
    """What was asked for."""
    preference: str
    """``allow``, ``disallow``, ``unknown``, or ``not_read`` if nobody has looked."""
    statement: Statement | None
    """The first that says so: its ``source``, its ``text``. None if nothing was said."""
    statements: tuple[Statement, ...]
    """All that was said of any use."""
    verdict: Verdict
    """Whether the page may be fetched, and why."""

    def __bool__(self) -> bool:
        return self.verdict.allowed and self.preference != Preference.DISALLOW.value
