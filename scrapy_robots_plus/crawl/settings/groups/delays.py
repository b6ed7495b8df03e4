"""How long to wait between the requests to a host."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_robots_plus.crawl.settings.checks import (
    FOREVER,
    boolean,
    boolean_or_none,
    number,
    one_of,
)
from scrapy_robots_plus.crawl.settings.setting import setting
from scrapy_robots_plus.policy.delay import TooLong
from scrapy_robots_plus.policy.waiting import VisitTime


@dataclass(frozen=True)
class Delays:
    """Delays"""

    crawl_delay: bool | None = setting(
        "ROBOTS_CRAWL_DELAY",
        boolean_or_none,
        default=None,
        example=True,
        doc="Keep the Crawl-delay. Unset: as `ROBOTSTXT_OBEY` says. True with "
        "`ROBOTSTXT_OBEY=False` keeps delays and drops nothing.",
    )
    crawl_delay_max: float = setting(
        "ROBOTS_CRAWL_DELAY_MAX",
        number("seconds", 0.001, FOREVER),
        default=60,
        example=10,
        doc="Seconds over which a Crawl-delay is too long.",
    )
    crawl_delay_too_long: TooLong = setting(
        "ROBOTS_CRAWL_DELAY_TOO_LONG",
        one_of(TooLong),
        default="clamp",
        example="skip",
        doc="`clamp` keeps the maximum, `skip` drops the host's requests, `obey` keeps what was "
        "asked.",
    )
    retry_after: bool = setting(
        "ROBOTS_RETRY_AFTER",
        boolean,
        default=True,
        example=False,
        doc="Leave a host alone for as long as it asks with Retry-After in a 429 or 503 to a "
        "page, and ask it slowly for a while afterwards.",
    )
    retry_after_max: float = setting(
        "ROBOTS_RETRY_AFTER_MAX",
        number("seconds", 0, FOREVER),
        default=300,
        example=60,
        doc="Upper limit, in seconds, of the time that a host is left alone for a Retry-After.",
    )
    visit_time: VisitTime = setting(
        "ROBOTS_VISIT_TIME",
        one_of(VisitTime),
        default="ignore",
        example="obey",
        doc="`obey` keeps the requests to a host whose robots.txt has a Visit-time for its hours,"
        " UTC.",
    )
