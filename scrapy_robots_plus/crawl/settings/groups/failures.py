"""What happens when a robots.txt cannot be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.settings.checks.kinds import DAY, FOREVER, number, one_of
from scrapy_robots_plus.crawl.settings.checks.reading_rules import status_policy
from scrapy_robots_plus.crawl.settings.setting import Need, setting
from scrapy_robots_plus.policy.options import Unreachable

if TYPE_CHECKING:
    from scrapy_robots_plus.policy.status_policy import StatusTable


@dataclass(frozen=True, eq=False)
class Failures:
    """Failures"""

    status_policy: StatusTable = setting(
        "ROBOTS_STATUS_POLICY",
        status_policy,
        default="rfc9309",
        example={"preset": "rfc9309", "403": "disallow", "timeout": "allow"},
        doc="What a status or a failure means: `rfc9309`, `mk1996`, `fail-open`, `fail-closed`, or "
        "a dict that changes one of these. See [failures](failures.md).",
    )
    unreachable: Unreachable = setting(
        "ROBOTS_UNREACHABLE",
        one_of(Unreachable),
        default="drop",
        example="defer",
        doc="Requests to a host whose robots.txt cannot be read: `drop` makes them fail with "
        "`RobotsUnreachable`, `defer` keeps them in the queue until the file can be read.",
        needs=(Need("ROBOTSTXT_OBEY", lambda its: its.obey),),
    )
    defer_max: float = setting(
        "ROBOTS_DEFER_MAX",
        number("seconds", 0, FOREVER),
        default=3_600,
        example=600,
        doc="How long requests are deferred, counted from the first failure to read the "
        'robots.txt. Then they fail. Used if `ROBOTS_UNREACHABLE` is `"defer"`.',
        needs=(Need("ROBOTS_UNREACHABLE", lambda its: its.defers),),
    )
    error_ttl: float = setting(
        "ROBOTS_ERROR_TTL",
        number("seconds", 0, DAY),
        default=60,
        example=10,
        doc="How long to wait before a robots.txt that cannot be read is fetched again. The time "
        "doubles with each failure in a row, up to `ROBOTS_ERROR_TTL_MAX`. Up to a tenth of it is "
        "taken off at random, so that hosts that failed together are not asked again together.",
    )
    error_ttl_max: float = setting(
        "ROBOTS_ERROR_TTL_MAX",
        number("seconds", 0, DAY),
        default=3_600,
        example=600,
        doc="Upper limit of the growing retry interval. It cannot be less than `ROBOTS_ERROR_TTL`.",
    )
