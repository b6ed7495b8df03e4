"""The messages that a robots.txt cannot be read, what follows, and that it can be read again."""

from __future__ import annotations

import logging
import re
from typing import NamedTuple

from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.protocol.access import PROXY_AUTHENTICATION_REQUIRED, Access, Failure
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import duration, printable

logger = crawl_log(__name__)

MOST_OF_AN_EXCEPTION = 500
"""Characters of an exception's text that are shown: a server may have written it."""


class Outage(NamedTuple):
    """What was logged about an origin whose robots.txt cannot be read."""

    denies: bool
    """Whether requests to the origin are denied because of it."""
    told: bool
    """Whether it was logged as a warning."""


class Outages:
    """The outages of a crawl, each logged once: the first ``MOST_WARNINGS`` as warnings, others at
    DEBUG.
    """

    MOST_WARNINGS = 20

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._settings = crawl.settings
        self._open: Recent[Origin, Outage] = Recent(crawl.settings.cache_size)
        self._warnings = 0

    def fetch_ended(self, origin: Origin, policy: Policy | None) -> None:
        """Handles the end of a fetch that produced *policy*: logs if an outage begins or ends."""
        if policy is None or self._crawl.is_closing:
            return
        before = self._open.get(origin)
        if policy.record.failure is None:
            if before is not None:
                self._end(origin, policy)
        elif before is None or before.denies is not policy.denies_as_unreachable:
            self._begin(origin, policy)

    def _begin(self, origin: Origin, policy: Policy) -> None:
        told = self._warnings < self.MOST_WARNINGS
        self._open.put(origin, Outage(policy.denies_as_unreachable, told))
        text = self._in_words(origin, policy)
        self._warnings += told
        if told and self._warnings == self.MOST_WARNINGS:
            text += _THE_REST
        level = logging.WARNING if told else logging.DEBUG
        logger(self._crawl.crawler).log(level, "%s", text)

    def _in_words(self, origin: Origin, policy: Policy) -> str:
        url, why = printable(origin.robots_url), str(policy.record.failure)
        if policy.detail:
            why += ": " + re.sub(_WRAPPED, r"\1", policy.detail)
        again = "The next request tries again."
        if policy.fresh_for > 0:
            again = f"Next attempt in {duration(policy.fresh_for)} at the earliest."
        why, follows = printable(why, MOST_OF_AN_EXCEPTION), self._follows(policy)
        failure = policy.record.failure
        no_answer = isinstance(failure, Failure) or failure == PROXY_AUTHENTICATION_REQUIRED
        hint = " Check ROBOTS_FETCH_META." if no_answer and self._settings.fetch_meta else ""
        return f"{url} cannot be read ({why}): {follows}. {again}{hint}"

    def _end(self, origin: Origin, policy: Policy) -> None:
        outage = self._open.pop(origin)
        level = logging.INFO if outage.told else logging.DEBUG
        url, what = printable(origin.robots_url), printable(policy.in_words)
        logger(self._crawl.crawler).log(level, "%s can be read again (%s)", url, what)

    def _follows(self, policy: Policy) -> str:
        if policy.denies_as_unreachable:
            if not self._settings.enforces:
                return "all its requests would be denied"
            if not self._settings.defer:
                return "all its requests are denied (see ROBOTS_DEFER)"
            if self._crawl.queue is None:
                return "all its requests are denied"
            return f"its requests wait in the queue for up to {duration(self._settings.defer)}"
        if policy.record.readable:
            return f"the copy from {duration(policy.age)} ago is obeyed ({policy.in_words})"
        if policy.access is Access.UNAVAILABLE:
            says = "ROBOTS_OVERRIDES" if policy.settings.override else "ROBOTS_STATUS_POLICY"
            return f"everything is allowed, as {says} says"
        return "its Crawl-delay is unknown"


_THE_REST = " Further outages are logged at DEBUG; see the table at the end of the crawl."


_WRAPPED = r"\[?<twisted\.python\.failure\.Failure [\w.]+: (.*?)>\]?"
"""The form in which Twisted shows an exception that is wrapped in another one."""
