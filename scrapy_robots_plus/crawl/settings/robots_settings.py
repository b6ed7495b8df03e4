"""The settings of one crawl: all groups together, read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from scrapy_robots_plus.policy.decide import Rulebook
from scrapy_robots_plus.policy.freshness import Limits
from scrapy_robots_plus.policy.options import Unreachable

from .errors import RobotsSettingsError, SettingProblem
from .groups import DECLARED
from .groups.delays import Delays
from .groups.failures import Failures
from .groups.fetching import Fetching
from .groups.freshness import Freshness
from .groups.obeyed import Obeyed
from .groups.queue import Queue
from .groups.reporting import Reporting
from .groups.storage import Storage
from .unknown import report_unknown_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from scrapy_robots_plus.protocol.dialect import Dialect

    from .setting import Setting


@dataclass(frozen=True)
class RobotsSettings(Obeyed, Failures, Freshness, Delays, Queue, Fetching, Storage, Reporting):
    """The settings of one crawl, checked. :meth:`from_settings` makes it."""

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> RobotsSettings:
        """Reads and checks all. Raises :class:`RobotsSettingsError` naming all that are wrong."""
        read = {name: _read(settings, declared) for name, declared in DECLARED.items()}
        problems = [value for value in read.values() if isinstance(value, SettingProblem)]
        problems += _contradictions(settings, read)
        if problems:
            raise RobotsSettingsError(problems)
        return cls(**read)

    @classmethod
    def of(cls, crawler: Crawler) -> RobotsSettings:
        """Those of a crawl. Raises :class:`RobotsSettingsError`, which stops it."""
        try:
            return cls.from_settings(crawler.settings)
        except RobotsSettingsError as error:
            report_unknown_settings(crawler.settings)  # a crawl that starts does so later
            error.end_crawl(crawler)
            raise

    @property
    def keeps_delays(self) -> bool:
        """Whether Crawl-delay is kept."""
        return self.obey if self.crawl_delay is None else self.crawl_delay

    @cached_property
    def limits(self) -> Limits:
        """The bounds of all lifetimes."""
        return Limits(
            ttl=self.dialect.expiry if self.ttl is None else self.ttl,
            ttl_min=self.ttl_min,
            ttl_max=self.ttl_max,
            stale_max=self.stale_max,
            error_ttl=self.error_ttl,
            error_ttl_max=self.error_ttl_max,
        )

    @cached_property
    def rulebook(self) -> Rulebook:
        """What decides on records."""
        return Rulebook(self.limits, self.status_policy)

    @property
    def defers(self) -> bool:
        """Whether requests to a host whose robots.txt cannot be read wait."""
        return self.unreachable is Unreachable.DEFER


def _read(settings: BaseSettings, declared: Setting[Any, Any]) -> Any:
    """What *settings* say of one setting; a SettingProblem if that is wrong."""
    # Unset, ROBOTSTXT_OBEY is off as in Scrapy: turning it on is the add-on's affair.
    unset = False if declared.name == "ROBOTSTXT_OBEY" else declared.default
    value = settings.get(declared.name, unset)
    try:
        return declared.check.read(value)
    except ValueError as error:
        return SettingProblem(declared.name, value, str(error))


_IN_ORDER = (("error_ttl", "error_ttl_max"), ("ttl_min", "ttl_max"))
"""Pairs of fields of which the first must not be larger."""


def _contradictions(settings: BaseSettings, read: Mapping[str, Any]) -> Iterator[SettingProblem]:
    """Settings that are right by themselves and wrong together: of a pair the one that was set."""
    for low, high in _IN_ORDER:
        least, most = read[low], read[high]
        if isinstance(least, SettingProblem) or isinstance(most, SettingProblem) or least <= most:
            continue
        lower, upper = DECLARED[low].name, DECLARED[high].name
        if settings.get(upper) is None:
            expected = f"expected at most {most:g}, which is {upper}"
            yield SettingProblem(lower, settings.get(lower), expected)
        else:
            expected = f"expected at least {least:g}, which is {lower}"
            yield SettingProblem(upper, settings.get(upper), expected)


def dialect_in(settings: BaseSettings) -> Dialect:
    """``ROBOTS_DIALECT`` alone, for a parser that is used without the middleware.

    Raises :class:`RobotsSettingsError` for what is not a dialect.
    """
    read = _read(settings, DECLARED["dialect"])
    if isinstance(read, SettingProblem):
        raise RobotsSettingsError([read])
    return cast("Dialect", read)
