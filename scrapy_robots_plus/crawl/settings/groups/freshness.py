"""How long a robots.txt is good."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_robots_plus.crawl.settings.checks import DAY, FOREVER, number, or_unset
from scrapy_robots_plus.crawl.settings.setting import setting

_RFC_2_4 = "RFC 9309 2.4: no longer than 24 hours"


@dataclass(frozen=True)
class Freshness:
    """Freshness"""

    ttl: float | None = setting(
        "ROBOTS_TTL",
        or_unset(number("seconds", 1, DAY, _RFC_2_4)),
        default=None,
        example=3_600,
        doc="Seconds for which a robots.txt is fresh where its headers do not say. Unset: what "
        "`ROBOTS_DIALECT` says, a day (`expiry` of a `Dialect`).",
    )
    ttl_min: float = setting(
        "ROBOTS_TTL_MIN",
        number("seconds", 1, DAY, _RFC_2_4),
        default=300,
        example=60,
        doc="Seconds for which it is taken as fresh whatever its headers say.",
    )
    ttl_max: float = setting(
        "ROBOTS_TTL_MAX",
        number("seconds", 1, DAY, _RFC_2_4),
        default=86_400,
        example=43_200,
        doc="Seconds after which it is asked for again whatever its headers say.",
    )
    stale_max: float = setting(
        "ROBOTS_STALE_MAX",
        number("seconds", 0, FOREVER),
        default=30 * 86_400,
        example=86_400,
        doc="Seconds for which the last good copy is obeyed while the file cannot be read.",
    )
