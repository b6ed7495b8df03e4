"""Counts the requests that were judged under an override."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl import stats as keys
from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from scrapy_robots_plus.crawl.policies.policy import Policy

MOST_REASONS = 100
"""Reasons that get a stat of their own: each request may name another one."""

_SHOWN = 100
"""Characters of a reason in the name of a stat."""


class OverrideStats:
    """``robotstxt/override``, and the same by reason."""

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats
        self._reasons: set[str] = set()

    def count(self, policy: Policy | None) -> None:
        """A request was judged by *policy*."""
        override = None if policy is None else policy.settings.override
        if override is None:
            return
        self._stats.inc_value(keys.OVERRIDDEN)
        reason = printable(override.label, _SHOWN)
        if reason in self._reasons or len(self._reasons) < MOST_REASONS:
            self._reasons.add(reason)
            self._stats.inc_value(keys.filled(keys.OVERRIDDEN_BY_REASON, reason))
