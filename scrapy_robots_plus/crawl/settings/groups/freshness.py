"""How long a robots.txt is good."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_robots_plus.crawl.settings.checks.kinds import DAY, FOREVER, number, or_unset
from scrapy_robots_plus.crawl.settings.setting import setting

_RFC_2_4 = "RFC 9309 2.4: no longer than 24 hours"


@dataclass(frozen=True, eq=False)
class Freshness:
    """Freshness"""

    ttl: float | None = setting(
        "ROBOTS_TTL",
        or_unset(number("seconds", 1, DAY, _RFC_2_4)),
        default=None,
        example=3_600,
        doc="How long a robots.txt is fresh, in seconds, if its HTTP headers do not say. If unset, "
        "the dialect decides (`expiry` of a `Dialect`); with `RFC9309` it is a day.",
    )
    ttl_min: float = setting(
        "ROBOTS_TTL_MIN",
        number("seconds", 1, DAY, _RFC_2_4),
        default=300,
        example=60,
        doc="Lower limit of the time for which a robots.txt is fresh, whatever its headers say.",
    )
    ttl_max: float = setting(
        "ROBOTS_TTL_MAX",
        number("seconds", 1, DAY, _RFC_2_4),
        default=86_400,
        example=43_200,
        doc="Upper limit of the time for which a robots.txt is fresh, whatever its headers say. It "
        "cannot be less than `ROBOTS_TTL_MIN`.",
    )
    stale_max: float = setting(
        "ROBOTS_STALE_MAX",
        number("seconds", 0, FOREVER),
        default=30 * 86_400,
        example=86_400,
        doc="How long the last good copy is obeyed while the robots.txt cannot be read. See "
        "[freshness](freshness.md).",
    )
