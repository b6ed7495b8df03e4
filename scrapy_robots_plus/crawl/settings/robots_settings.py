"""Every setting: its name, default, unit and check, in one place."""

from __future__ import annotations

import logging
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

from scrapy.utils.misc import load_object

from scrapy_robots_plus.policy.decide import Rulebook
from scrapy_robots_plus.policy.delay import TooLong
from scrapy_robots_plus.policy.freshness import Limits
from scrapy_robots_plus.policy.waiting import Unreachable, VisitTime
from scrapy_robots_plus.protocol.rfc9309 import EXPIRY, MAX_BYTES

from .checks import (
    Check,
    boolean,
    boolean_or_none,
    dialect,
    headers,
    number,
    one_of,
    or_unset,
    status_policy,
    store_uri,
    string_keyed,
    user_agent,
    whole_number,
)
from .errors import RobotsSettingsError, SettingProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser
    from scrapy.settings import BaseSettings

    from scrapy_robots_plus.policy.access import StatusTable
    from scrapy_robots_plus.protocol.dialect import Dialect

logger = logging.getLogger(__name__)

_T = TypeVar("_T")


def setting(name: str, default: object, check: Check[_T], doc: str) -> _T:
    """A field of :class:`RobotsSettings`, of the type that *check* returns.

    *default* is as a user would write it; it is checked like what users write.
    """
    metadata = {"name": name, "default": default, "check": check, "doc": doc}
    made: _T = field(metadata=metadata)
    return made


_DAY = EXPIRY
_RFC_2_4 = "RFC 9309 2.4: no longer than 24 hours"
_FOREVER = 10 * 365 * 86_400.0


@dataclass(frozen=True)
class RobotsSettings:
    """The settings of one crawl, checked. :meth:`from_settings` makes it."""

    obey: bool = setting(
        "ROBOTSTXT_OBEY",
        True,
        boolean,
        "Drop what robots.txt disallows. The add-on turns it on where the project does not say.",
    )
    user_agent: str | tuple[str, ...] | None = setting(
        "ROBOTSTXT_USER_AGENT",
        None,
        user_agent,
        "The product token to look for, or a whole User-Agent header, or a list of them in order "
        "of preference (`Foobot,Barbot` is a list too). Unset: the header that each request is "
        "sent with.",
    )
    dialect: Dialect = setting(
        "ROBOTS_DIALECT",
        "RFC9309",
        dialect,
        "How a file is read: `RFC9309`, `GOOGLE`, `GYM2008`, `MK1996`, `FIRST_MATCH`, or a "
        "`scrapy_robots_plus.protocol.Dialect`.",
    )
    status_policy: StatusTable = setting(
        "ROBOTS_STATUS_POLICY",
        "rfc9309",
        status_policy,
        "What a status or a failure means: `rfc9309`, `mk1996`, `fail-open`, `fail-closed`, or a "
        'dict over one: `{"preset": "rfc9309", "403": "disallow", "timeout": "allow"}`.',
    )
    ttl: float | None = setting(
        "ROBOTS_TTL",
        None,
        or_unset(number("seconds", 1, _DAY, _RFC_2_4)),
        "Seconds for which a robots.txt is fresh where its headers do not say. Unset: what "
        "`ROBOTS_DIALECT` says, a day (`expiry` of a `Dialect`).",
    )
    ttl_min: float = setting(
        "ROBOTS_TTL_MIN",
        300,
        number("seconds", 1, _DAY, _RFC_2_4),
        "Seconds for which it is taken as fresh whatever its headers say.",
    )
    ttl_max: float = setting(
        "ROBOTS_TTL_MAX",
        86_400,
        number("seconds", 1, _DAY, _RFC_2_4),
        "Seconds after which it is asked for again whatever its headers say.",
    )
    stale_max: float = setting(
        "ROBOTS_STALE_MAX",
        30 * 86_400,
        number("seconds", 0, _FOREVER),
        "Seconds for which the last good copy is obeyed while the file cannot be read.",
    )
    error_ttl: float = setting(
        "ROBOTS_ERROR_TTL",
        60,
        number("seconds", 0, _DAY),
        "Seconds after which a robots.txt that cannot be read is asked for again; doubles with "
        "each failure in a row.",
    )
    error_ttl_max: float = setting(
        "ROBOTS_ERROR_TTL_MAX",
        3_600,
        number("seconds", 0, _DAY),
        "Upper limit, in seconds, of the growing retry interval.",
    )
    store: str | None = setting(
        "ROBOTS_STORE",
        None,
        store_uri,
        "Where records are kept: `memory`, or `sqlite:PATH` to have them in the next crawl too. "
        "Unset: a file in `JOBDIR` where that is set, else `memory`.",
    )
    store_max: int = setting(
        "ROBOTS_STORE_MAX",
        100_000,
        whole_number("records", 1, 1_000_000_000),
        "Upper limit of the records in the store; the least recently fetched go first.",
    )
    cache_size: int = setting(
        "ROBOTS_CACHE_SIZE",
        10_000,
        whole_number("origins", 1, 100_000_000),
        "Origins kept in memory; the least recently used goes first.",
    )
    fetch_timeout: float = setting(
        "ROBOTS_FETCH_TIMEOUT",
        15,
        number("seconds", 0.001, 86_400),
        "Seconds that a robots.txt may take: redirects, retries and body together.",
    )
    fetch_retries: int = setting(
        "ROBOTS_FETCH_RETRIES",
        1,
        whole_number("retries", 0, 100),
        "How many times a robots.txt request that failed (5xx, network; not a timeout) is sent "
        "again at once.",
    )
    fetch_max_bytes: int = setting(
        "ROBOTS_FETCH_MAX_BYTES",
        MAX_BYTES,
        whole_number("bytes", MAX_BYTES, 2**30, "RFC 9309 2.5: at least 500 KiB"),
        "Bytes of a robots.txt that are read; the rest is ignored.",
    )
    fetch_meta: Mapping[str, Any] = setting(
        "ROBOTS_FETCH_META",
        {},
        string_keyed,
        "`Request.meta` of robots.txt requests, e.g. `proxy` or what a download handler needs.",
    )
    fetch_headers: Mapping[str, Any] = setting(
        "ROBOTS_FETCH_HEADERS", {}, headers, "Headers of robots.txt requests."
    )
    crawl_delay: bool | None = setting(
        "ROBOTS_CRAWL_DELAY",
        None,
        boolean_or_none,
        "Keep the Crawl-delay. Unset: as `ROBOTSTXT_OBEY` says. True with `ROBOTSTXT_OBEY=False` "
        "keeps delays and drops nothing.",
    )
    crawl_delay_max: float = setting(
        "ROBOTS_CRAWL_DELAY_MAX",
        60,
        number("seconds", 0.001, _FOREVER),
        "Seconds over which a Crawl-delay is too long.",
    )
    crawl_delay_too_long: TooLong = setting(
        "ROBOTS_CRAWL_DELAY_TOO_LONG",
        "clamp",
        one_of(TooLong),
        "`clamp` keeps the maximum, `skip` drops the host's requests, `obey` keeps what was asked.",
    )

    fetch_concurrency: int = setting(
        "ROBOTS_FETCH_CONCURRENCY",
        32,
        whole_number("fetches", 1, 10_000),
        "How many robots.txt are fetched at the same time. They do not count among "
        "`CONCURRENT_REQUESTS`. Unusually slow fetches stop counting towards this limit.",
    )
    max_waiting: int = setting(
        "ROBOTS_MAX_WAITING",
        1_000,
        whole_number("requests", 0, 1_000_000),
        "How many requests waiting in the middleware for a robots.txt are exempt from "
        "`CONCURRENT_REQUESTS`.",
    )
    unreachable: Unreachable = setting(
        "ROBOTS_UNREACHABLE",
        "drop",
        one_of(Unreachable),
        "What becomes of requests to a host whose robots.txt cannot be read: `drop` lets them fail "
        "with `RobotsUnreachable`, `defer` keeps them in the queue until it can.",
    )
    defer_max: float = setting(
        "ROBOTS_DEFER_MAX",
        3_600,
        number("seconds", 0, _FOREVER),
        "Seconds for which requests are deferred, from the first failure to read the robots.txt; "
        "then they fail.",
    )
    retry_after: bool = setting(
        "ROBOTS_RETRY_AFTER",
        True,
        boolean,
        "Leave a host alone for as long as it asks with Retry-After in a 429 or 503 to a page, and "
        "ask it slowly for a while afterwards.",
    )
    retry_after_max: float = setting(
        "ROBOTS_RETRY_AFTER_MAX",
        300,
        number("seconds", 0, _FOREVER),
        "Upper limit, in seconds, of the time that a host is left alone for a Retry-After.",
    )
    visit_time: VisitTime = setting(
        "ROBOTS_VISIT_TIME",
        "ignore",
        one_of(VisitTime),
        "`obey` keeps the requests to a host whose robots.txt has a Visit-time for its hours, UTC.",
    )

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> RobotsSettings:
        """Reads and checks all. Raises :class:`RobotsSettingsError` naming all that are wrong."""
        read = {item.name: _read(settings, item) for item in fields(cls)}
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


def _read(settings: BaseSettings, item: Field[Any]) -> Any:
    """What *settings* say of one field of :class:`RobotsSettings`; a SettingProblem where that is
    wrong.
    """
    name, check = item.metadata["name"], item.metadata["check"]
    # Unset, ROBOTSTXT_OBEY is off as in Scrapy: turning it on is the add-on's affair.
    unset = False if name == "ROBOTSTXT_OBEY" else item.metadata["default"]
    value = settings.get(name, unset)
    try:
        return check(value)
    except ValueError as error:
        return SettingProblem(name, value, str(error))


_IN_ORDER = (("error_ttl", "error_ttl_max"), ("ttl_min", "ttl_max"))
"""Pairs of fields of which the first must not be larger."""


def _contradictions(settings: BaseSettings, read: Mapping[str, Any]) -> Iterator[SettingProblem]:
    """Settings that are right by themselves and wrong together: of a pair the one that was set."""
    for low, high in _IN_ORDER:
        least, most = read[low], read[high]
        if isinstance(least, SettingProblem) or isinstance(most, SettingProblem) or least <= most:
            continue
        lower, upper = _name_of(low), _name_of(high)
        if settings.get(upper) is None:
            expected = f"expected at most {most:g}, which is {upper}"
            yield SettingProblem(lower, settings.get(lower), expected)
        else:
            expected = f"expected at least {least:g}, which is {lower}"
            yield SettingProblem(upper, settings.get(upper), expected)


def _name_of(field_name: str) -> str:
    """``ROBOTS_TTL_MIN`` for ``ttl_min``."""
    (item,) = (item for item in fields(RobotsSettings) if item.name == field_name)
    return cast("str", item.metadata["name"])


def dialect_in(settings: BaseSettings) -> Dialect:
    """``ROBOTS_DIALECT`` alone, for a parser that is used without the middleware.

    Raises :class:`RobotsSettingsError` for what is no dialect.
    """
    (item,) = (item for item in fields(RobotsSettings) if item.name == "dialect")
    read = _read(settings, item)
    if isinstance(read, SettingProblem):
        raise RobotsSettingsError([read])
    return cast("Dialect", read)


# Scrapy's own, which Scrapy checks


def parser_class(settings: BaseSettings) -> type[RobotParser]:
    """``ROBOTSTXT_PARSER``, loaded."""
    return cast("type[RobotParser]", load_object(settings["ROBOTSTXT_PARSER"]))


def scheduler_class(settings: BaseSettings) -> type:
    """``SCHEDULER``, loaded."""
    return cast("type", load_object(settings["SCHEDULER"]))


def queue_class(settings: BaseSettings) -> type:
    """``SCHEDULER_PRIORITY_QUEUE``, loaded."""
    return cast("type", load_object(settings["SCHEDULER_PRIORITY_QUEUE"]))


def job_folder(settings: BaseSettings) -> str | None:
    """``JOBDIR``; None where no job is to be resumed."""
    return settings.get("JOBDIR") or None


def log_interval(settings: BaseSettings) -> float:
    """``LOGSTATS_INTERVAL``, in seconds; 0 for never."""
    return settings.getfloat("LOGSTATS_INTERVAL")


def names() -> list[str]:
    """Every setting that :class:`RobotsSettings` reads."""
    return [cast("str", item.metadata["name"]) for item in fields(RobotsSettings)]


_SCRAPYS_OWN = "ROBOTSTXT_PARSER"
"""The one setting of robots.txt that is Scrapy's alone."""


def unknown_settings(settings: BaseSettings) -> dict[str, str | None]:
    """Settings named ``ROBOTS_…`` or ``ROBOTSTXT_…`` that do not exist, each with the nearest name
    that does.
    """
    known = {_without_prefix(name): name for name in (*names(), _SCRAPYS_OWN)}
    found: dict[str, str | None] = {}
    for name in settings:
        if not isinstance(name, str) or name in known.values():
            continue
        if name.startswith(("ROBOTS_", "ROBOTSTXT_")):
            near = get_close_matches(_without_prefix(name), known, 1, _NEAR)
            found[name] = known[near[0]] if near else None
    return found


def report_unknown_settings(settings: BaseSettings) -> None:
    """Warns of each in the log."""
    for name, nearest in unknown_settings(settings).items():
        hint = f"; did you mean {nearest}?" if nearest else ""
        logger.warning("There is no setting %s%s", name, hint)


_NEAR = 0.6
"""How much of two names must agree, from 0 to 1, for one to be a slip of the other."""


def _without_prefix(name: str) -> str:
    """What tells a setting from the others: that all begin alike would make all of them near."""
    return name.partition("_")[2]
