"""How long to wait between the requests to a host."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_robots_plus.crawl.settings.checks.kinds import (
    FOREVER,
    boolean,
    boolean_or_none,
    number,
    one_of,
    whole_number,
)
from scrapy_robots_plus.crawl.settings.checks.places import shared_pace
from scrapy_robots_plus.crawl.settings.setting import Need, setting
from scrapy_robots_plus.policy.delay import TooLong
from scrapy_robots_plus.policy.options import OnVisitTime, Politeness


@dataclass(frozen=True, eq=False)
class Delays:
    """Delays"""

    politeness: Politeness = setting(
        "ROBOTS_POLITENESS",
        one_of(Politeness),
        default="default",
        example="gentle",
        doc="Sets several settings together. `default` leaves each at its default. `gentle` keeps "
        "a second between the requests to any host, `archive` five. A setting that you set "
        "yourself takes precedence over the preset. See [presets](crawl-delay.md#presets).",
    )
    default_delay: float = setting(
        "ROBOTS_DEFAULT_DELAY",
        number("seconds", 0, FOREVER),
        default=0,
        example=0.5,
        doc="The delay for hosts whose robots.txt names none, or that have no robots.txt. Like a "
        "Crawl-delay it is a minimum, but no maximum applies to it. See "
        "[Crawl-delay](crawl-delay.md#hosts-that-name-none).",
    )
    crawl_delay: bool | None = setting(
        "ROBOTS_CRAWL_DELAY",
        boolean_or_none,
        default=None,
        example=True,
        doc="Whether to honour Crawl-delay; defaults to the value of `ROBOTSTXT_OBEY`. `True` "
        "together with `ROBOTSTXT_OBEY = False` honours delays and drops nothing. See "
        "[Crawl-delay](crawl-delay.md).",
    )
    crawl_delay_max: float = setting(
        "ROBOTS_CRAWL_DELAY_MAX",
        number("seconds", 0.001, FOREVER),
        default=60,
        example=10,
        doc="The longest Crawl-delay, in seconds, that is honoured as it is. "
        "`ROBOTS_CRAWL_DELAY_TOO_LONG` says what happens to a longer one.",
        needs=(Need("ROBOTS_CRAWL_DELAY", lambda its: its.keeps_delays),),
    )
    crawl_delay_too_long: TooLong = setting(
        "ROBOTS_CRAWL_DELAY_TOO_LONG",
        one_of(TooLong),
        default="clamp",
        example="skip",
        doc="If a Crawl-delay is longer than `ROBOTS_CRAWL_DELAY_MAX`, `clamp` shortens it to "
        "the maximum, `skip` drops the requests to the host, and `obey` honours it as it is.",
        needs=(Need("ROBOTS_CRAWL_DELAY", lambda its: its.keeps_delays),),
    )
    retry_after: bool = setting(
        "ROBOTS_RETRY_AFTER",
        boolean,
        default=True,
        example=False,
        doc="Leave a host alone for as long as it asks with Retry-After in a 429 or 503 to a page. "
        "For a while afterwards the host is asked slowly.",
    )
    retry_after_max: float = setting(
        "ROBOTS_RETRY_AFTER_MAX",
        number("seconds", 0, FOREVER),
        default=300,
        example=60,
        doc="Upper limit of the time for which a host is left alone because of Retry-After.",
        needs=(Need("ROBOTS_RETRY_AFTER", lambda its: its.retry_after),),
    )
    backoff: bool = setting(
        "ROBOTS_BACKOFF",
        boolean,
        default=True,
        example=False,
        doc="Slow down a host that answers 429, or 503 to several different requests, also without "
        "Retry-After: leave it alone for a while, then find the pace that it allows. A pace that "
        "does not make refusals rarer is taken back. See [backing off](backing-off.md).",
    )
    backoff_max: float = setting(
        "ROBOTS_BACKOFF_MAX",
        number("seconds", 0.1, FOREVER),
        default=300,
        example=60,
        doc="Upper limit of a single pause of a host that refuses requests without saying for how "
        "long. Pauses that are in vain add up to a minute at most.",
        needs=(Need("ROBOTS_BACKOFF", lambda its: its.backoff),),
    )
    give_up_after: int = setting(
        "ROBOTS_GIVE_UP_AFTER",
        whole_number("refusals", 0, 1_000_000),
        default=10,
        example=5,
        doc="After so many pauses in a row, each after refusals with 429 and longer than the one "
        "before, a host is given up: its requests are denied with the reason `given_up`. An answer "
        "of another kind starts the count again. With 0 no host is given up. See "
        "[backing off](backing-off.md#giving-up).",
        needs=(Need("ROBOTS_BACKOFF", lambda its: its.backoff),),
    )
    visit_time: OnVisitTime = setting(
        "ROBOTS_VISIT_TIME",
        one_of(OnVisitTime),
        default="ignore",
        example="obey",
        doc="Whether a Visit-time in robots.txt is obeyed. `obey` sends requests to the host only "
        "in these hours, which are in UTC. `ignore` sends them at any time.",
        needs=(Need("ROBOTSTXT_OBEY", lambda its: its.needs_file),),
    )
    shared_pace: str = setting(
        "ROBOTS_SHARED_PACE",
        shared_pace,
        default="process",
        example="sqlite:/var/lib/pace.db",
        doc="Which crawls with the same product token keep one delay together: those in one "
        "`process`, those in all processes that name the same SQLite file (`sqlite:PATH`) or the "
        "same Redis server (`redis://HOST:PORT/DB`, `rediss://`, `unix://`), or none (`off`). See "
        "[several crawls, one pace](shared-pace.md).",
        secret=True,
    )
    workers: int = setting(
        "ROBOTS_WORKERS",
        whole_number("crawls", 1, 100_000),
        default=1,
        example=4,
        doc="How many crawls share a pace, or how many workers share a `RobotsQueue`. While the "
        "file or server that they share is unavailable, each of them keeps the delay this many "
        "times as long.",
    )
