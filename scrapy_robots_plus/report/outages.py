"""Logs when a robots.txt cannot be read, what that means, and when it can be read again."""

from __future__ import annotations

import logging
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.origins.fetch_results import NETWORK_FAILURES
from scrapy_robots_plus.protocol.access import Access, Failure
from scrapy_robots_plus.protocol.printable import counted, duration, printable

if TYPE_CHECKING:
    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.origin import Origin

logger = crawl_log(__name__)

_ON_THE_WAY = NETWORK_FAILURES | {Failure.ERROR}
"""Failures that a proxy can cause."""


MOST_OF_AN_EXCEPTION = 500
"""Characters of its text that are shown: a server may have written it."""


NAMED_IN_A_SUM = 5
"""Origins that a summary names for each failure."""


class Outage(NamedTuple):
    """What was logged about an origin whose robots.txt cannot be read."""

    denies: bool
    """Whether its requests are denied because of it."""
    told: bool
    """Whether it got a warning of its own."""


class Outages:
    """One warning per origin and outage; after ``MOST_WARNINGS``, summaries only."""

    MOST_WARNINGS = 20

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._crawler = crawl.crawler
        self._settings = crawl.settings
        self._open: Recent[Origin, Outage] = Recent(crawl.settings.cache_size)
        self._warnings = 0
        self._untold: Counter[str] = Counter()
        self._named: defaultdict[str, list[Origin]] = defaultdict(list)
        """Some of the origins that got no warning, by failure."""
        self._ended_untold = 0

    def landed(self, origin: Origin, policy: Policy | None) -> None:
        """A fetch has ended and produced *policy*."""
        if policy is None or self._crawl.is_closing:
            return
        before = self._open.get(origin)
        if policy.record.failure is None:
            if before is not None:
                self._end(origin, policy)
        elif before is None or before.denies is not policy.denies_as_unreachable:
            self._begin(origin, policy)

    def sum_up(self) -> None:
        """Logs a summary of the outages without a message of their own since the last summary."""
        parts = []
        if self._untold:
            files = counted(self._untold.total(), "more robots.txt file")
            causes = "; ".join(map(self._summed_up, self._untold))
            parts.append(f"{files} cannot be read: {causes}")
        if self._ended_untold:
            parts.append(f"{counted(self._ended_untold, 'such file')} can be read again")
        if parts:
            level = logging.WARNING if self._untold else logging.INFO
            logger(self._crawler).log(level, "%s", ". ".join(parts))
        self._untold.clear()
        self._named.clear()
        self._ended_untold = 0

    def _summed_up(self, cause: str) -> str:
        """``40 x timeout (http://a.example, http://b.example, ...)``"""
        count, named = self._untold[cause], self._named[cause]
        rest = ", ..." if count > len(named) else ""
        return f"{count:,} x {cause} ({', '.join(map(printable, named))}{rest})"

    def _begin(self, origin: Origin, policy: Policy) -> None:
        told = self._warnings < self.MOST_WARNINGS
        self._open.put(origin, Outage(policy.denies_as_unreachable, told))
        text = self._in_words(origin, policy)
        if told:
            self._warnings += 1
            text += _THE_REST if self._warnings == self.MOST_WARNINGS else ""
        else:
            cause = str(policy.record.failure)
            self._untold[cause] += 1
            if len(self._named[cause]) < NAMED_IN_A_SUM:
                self._named[cause].append(origin)
        level = logging.WARNING if told else logging.DEBUG
        logger(self._crawler).log(level, "%s", text)

    def _in_words(self, origin: Origin, policy: Policy) -> str:
        url, why = printable(origin.robots_url), str(policy.record.failure)
        if policy.detail:
            why += ": " + _WRAPPED.sub(r"\1", policy.detail)
        again = (
            f"Next attempt in {duration(policy.fresh_for)} at the earliest."
            if policy.fresh_for > 0
            else "The next request tries again."
        )
        why, follows = printable(why, MOST_OF_AN_EXCEPTION), self._follows(policy)
        return f"{url} cannot be read ({why}): {follows}. {again}{self._hint(policy)}"

    def _end(self, origin: Origin, policy: Policy) -> None:
        outage = self._open.pop(origin)
        if not outage.told:
            self._ended_untold += 1
        level = logging.INFO if outage.told else logging.DEBUG
        url, what = printable(origin.robots_url), printable(policy.in_words)
        logger(self._crawler).log(level, "%s can be read again (%s)", url, what)

    def _follows(self, policy: Policy) -> str:
        if policy.denies_as_unreachable:
            if not self._settings.enforces:
                return "all its requests would be denied"
            if not self._settings.defers or self._crawl.readiness is None:
                return "all its requests are denied"
            return f"its requests wait in the queue for up to {duration(self._settings.defer)}"
        if policy.record.readable:
            return f"the copy from {duration(policy.age)} ago is obeyed ({policy.in_words})"
        if policy.access is Access.UNAVAILABLE:
            says = "ROBOTS_OVERRIDES" if policy.settings.override else "ROBOTS_STATUS_POLICY"
            return f"everything is allowed, as {says} says"
        return "its Crawl-delay is unknown"

    def _hint(self, policy: Policy) -> str:
        """Names the settings that may be the cause."""
        failure, meta = policy.record.failure, self._settings.fetch_meta
        if failure in _ON_THE_WAY and meta.get("proxy"):
            return " The request went through the proxy of ROBOTS_FETCH_META."
        if failure is Failure.ERROR and meta:
            return " Check ROBOTS_FETCH_META."
        if failure is Failure.TIMEOUT:
            return f" (ROBOTS_FETCH_TIMEOUT is {self._settings.fetch_timeout:g} s.)"
        return ""


_THE_REST = " Further warnings are logged at DEBUG and summed up."


_WRAPPED = re.compile(r"\[?<twisted\.python\.failure\.Failure [\w.]+: (.*?)>\]?")
"""How Twisted shows an exception that it wraps in another one."""
