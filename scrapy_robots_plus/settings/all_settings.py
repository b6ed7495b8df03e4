"""Every setting, declared once, in the order of docs/settings.md.

Checks, docs, overrides, suggestions and warnings follow from the declarations. After a change, run
``make tables``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeVar, cast

from scrapy_robots_plus.protocol.access import StatusTable
from scrapy_robots_plus.protocol.dialect import Dialect
from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from . import checks
from .checks import DAY, FOREVER, Check
from .override import EXTRA_KEYS, Override, overrides_from

_T = TypeVar("_T")

# The words that some settings take; the docs of these settings say what they mean.
Mode = Literal["obey", "observe"]
Politeness = Literal["default", "gentle", "archive"]
TooLong = Literal["clamp", "skip"]
OnVisitTime = Literal["ignore", "obey"]
OnWall = Literal["report", "stop"]
AiPolicy = Literal["observe", "skip"]
ContentUse = Literal["immediate", "reference", "full"]
PageAction = Literal["ignore", "observe", "obey"]


def uses_of(ai_uses: Iterable[str], content_use: str | None) -> tuple[str, ...]:
    """Returns all uses of a crawl, as statements name them: ``train-ai``, ``use=full``."""
    return (*ai_uses, *(() if content_use is None else (f"use={content_use}",)))


NEEDS = {
    "obey": "ROBOTSTXT_OBEY",
    "needs_file": "ROBOTSTXT_OBEY or ROBOTS_CRAWL_DELAY_OBEY",
    "is_on": "ROBOTSTXT_OBEY, a delay, ROBOTS_AI_USES or ROBOTS_CONTENT_USE",
    "keeps_delays": "ROBOTS_CRAWL_DELAY_OBEY",
    "backoff_max": "ROBOTS_BACKOFF_MAX",
    "uses": "ROBOTS_AI_USES or ROBOTS_CONTENT_USE",
    "audit_log": "ROBOTS_AUDIT_LOG",
}
"""Attributes of ``RobotsSettings`` that other settings need, and the settings behind each."""
SECONDS = checks.number("seconds", 0, FOREVER)


class Setting(NamedTuple):
    """The declaration of one setting."""

    check: Check[Any]
    default: Any = None
    """The default, as a user would write it; it is checked like any other value."""
    need: str | None = None
    """A key of :data:`NEEDS`: without it, a value that is not the default only causes a warning."""
    overridable: bool = False
    """Whether ``ROBOTS_OVERRIDES`` may set it too, under the name of its field."""
    name: str = ""


def setting(check: Check[_T], **declared: Any) -> _T:
    """Declares a setting of the type that *check* returns.

    *declared* are the other fields of its :class:`Setting`. Its name is ``ROBOTS_`` and that of its
    field. The docstring below it is a paragraph of Markdown for docs/settings.md and ends with an
    example; the README shows only the first sentence.
    """
    return cast("_T", Setting(check, **declared))


class Declared:
    """The settings of a crawl, with their values as read."""

    # What is obeyed

    obey: bool = setting(checks.boolean, default=True, overridable=True)
    """Drop requests that robots.txt disallows. Scrapy's own default is `False`; the add-on sets it
    to `True` unless your project sets it. With `False` nothing is fetched and nothing dropped;
    delays are still honoured if `ROBOTS_CRAWL_DELAY_OBEY` is `True`. Example: `False`."""
    user_agent: str | tuple[str, ...] | None = setting(
        checks.OrUnset(checks.agent), overridable=True
    )
    """The name of your crawler in robots.txt: a product token, a whole User-Agent header, or a list
    of names in order of preference. If unset, the User-Agent header of each request is used.
    Example: `"Foobot"`."""
    dialect: Dialect = setting(checks.dialect, default="RFC9309", overridable=True)
    """How a file is read: `RFC9309`, `GOOGLE`, `GYM2008`, `MK1996`, `FIRST_MATCH`, or a
    `scrapy_robots_plus.protocol.Dialect`. Needs this package's parser. See [dialects](dialects.md).
    Example: `"GOOGLE"`."""

    # Overrides

    overrides: dict[str, Override] = setting(
        Check(
            "a dict of hosts, each with a dict of what is different there",
            lambda value: overrides_from(value, OVERRIDE_KEYS),
        ),
        default={},
    )
    """What is different for some hosts: a dict for each, with `obey` and its `reason`, or others of
    the keys on [overrides](overrides.md). Example: `{"intranet.example": {"obey": False, "reason":
    "our own site"}}`."""
    mode: Mode = setting(checks.one_of(Mode), default="obey")
    """Whether robots.txt is enforced. `observe` sends every request, and only counts and logs what
    would have been denied. See [observe mode](overrides.md#observe-mode). Example: `"observe"`."""

    # Failures

    status_policy: StatusTable = setting(checks.status_policy, default="rfc9309", overridable=True)
    """What a status or a failure means: `rfc9309`, `mk1996`, `fail-open`, `fail-closed`, or a dict
    that changes one of these. See [failures](failures.md). Example: `{"preset": "rfc9309", "403":
    "disallow", "timeout": "allow"}`."""
    defer: float = setting(SECONDS, default=0, need="obey")
    """How long requests to a host whose robots.txt cannot be read are kept in the queue, counted
    from the first failure to read it. Then they fail with `RobotsUnreachable`; with 0 they do so at
    once. See [failures](failures.md#how-long-it-is-remembered). Example: `3600`."""
    retry_interval: tuple[float, float] = setting(
        checks.pair("seconds", 0, DAY), default=(60, 3_600)
    )
    """How long to wait before a robots.txt that cannot be read is fetched again: at first, and at
    most. The time doubles with each failure in a row. Up to a tenth of it is taken off at random,
    so that hosts that failed together are not asked again together. Example: `(10, 600)`."""

    # Freshness

    ttl: tuple[float, float] = setting(checks.pair("seconds", 1, DAY), default=(300, DAY))
    """How long a robots.txt is fresh: at least, and at most; RFC 9309 2.4 allows no more than a
    day. Between these limits its HTTP headers decide, or if they do not say, the dialect (`expiry`
    of a `Dialect`); with `RFC9309` it is a day. See [freshness](freshness.md). Example: `(300,
    3600)`."""
    stale_max: float = setting(SECONDS, default=30 * 86_400)
    """How long the last good copy is obeyed in an outage. See [freshness](freshness.md). Example:
    `86400`."""

    # Delays

    politeness: Politeness = setting(checks.one_of(Politeness), default="default")
    """Sets several settings together. `default` leaves each at its default. `gentle` keeps a second
    between the requests to a host whose robots.txt names no delay, `archive` five. A setting that
    you set yourself takes precedence over the preset. See [presets](crawl-delay.md#presets).
    Example: `"gentle"`."""
    default_delay: float = setting(SECONDS, default=0, overridable=True)
    """The least delay for hosts whose robots.txt names none, or that have no robots.txt. No maximum
    applies to it. See [Crawl-delay](crawl-delay.md#hosts-that-name-none). Example: `0.5`."""
    crawl_delay_obey: bool | None = setting(checks.OrUnset(checks.boolean))
    """Whether to honour Crawl-delay; defaults to the value of `ROBOTSTXT_OBEY`. See
    [Crawl-delay](crawl-delay.md). Example: `True`."""
    crawl_delay_max: float = setting(SECONDS, default=60, need="keeps_delays")
    """The longest Crawl-delay, in seconds, that is honoured as it is; 0 for no maximum.
    `ROBOTS_CRAWL_DELAY_TOO_LONG` says what happens to a longer one. Example: `10`."""
    crawl_delay_too_long: TooLong = setting(
        checks.one_of(TooLong), default="clamp", need="keeps_delays"
    )
    """If a Crawl-delay is longer than `ROBOTS_CRAWL_DELAY_MAX`, `clamp` shortens it to the maximum,
    and `skip` drops the requests to the host. Example: `"skip"`."""
    backoff_max: float = setting(SECONDS, default=300)
    """The longest pause of a host that refuses requests: with 429, with Retry-After in a 429 or
    503, or with 503 to several different requests. The host is left alone for as long as it asks,
    or for a while, and then asked at the pace that it allows. A pace that does not make refusals
    rarer is taken back; pauses that are in vain add up to a minute at most. With 0 no host is left
    alone or slowed down. See [backing off](backing-off.md). Example: `60`."""
    give_up_after: int = setting(
        checks.whole_number("refusals", 0, 1_000_000), default=10, need="backoff_max"
    )
    """After so many pauses in a row, each asked for by a 429 with Retry-After, a host is given up:
    its requests are denied with the reason `given_up`. Any answer but 429 and 503 starts the
    count again. With 0 no host is given up. See [backing off](backing-off.md#giving-up). Example:
    `5`."""
    walls: OnWall = setting(checks.one_of(OnWall), default="report", need="obey")
    """What happens when a site refuses pages that its robots.txt allows, or puts a challenge in
    their place. `report` shows it. `stop` lets its requests fail with `RobotsWalled`; each ten
    minutes some try it again. See [walls](walls.md#stopping). Example: `"stop"`."""
    visit_time: OnVisitTime = setting(
        checks.one_of(OnVisitTime), default="ignore", need="needs_file"
    )
    """Whether a Visit-time in robots.txt is obeyed. `obey` sends requests to the host only in these
    hours, which are in UTC. `ignore` sends them at any time. Example: `"obey"`."""
    shared_pace: str = setting(checks.shared_pace, default="process")
    """Which crawls with the same product token keep one delay together: those in one `process`,
    those in all processes that name the same SQLite file (`sqlite:PATH`) or the same Redis server
    (`redis://HOST:PORT/DB`, `rediss://`, `unix://`), or none (`off`). With `RobotsQueue`, `process`
    means all workers of its queue alone. See [several crawls, one pace](shared-pace.md). Example:
    `"sqlite:pace.db"`."""
    workers: int = setting(checks.whole_number("crawls", 1, 100_000), default=1)
    """How many crawls share a pace, or how many workers share a `RobotsQueue`. While the file or
    server that they share is unavailable, each of them keeps the delay this many times as long.
    Example: `4`."""

    # The queue

    fetch_concurrency: int = setting(checks.whole_number("fetches", 1, 10_000), default=32)
    """How many robots.txt files are fetched at the same time. They do not count towards
    `CONCURRENT_REQUESTS`. Unusually slow fetches stop counting towards this limit. Example:
    `64`."""
    worker_lifetime: float = setting(checks.number("seconds", 1, 86_400), default=60)
    """With `RobotsQueue` for scrapy-redis: how long a worker may be silent before others get its
    requests. It reports several times in that time, unless a callback keeps it busy for longer.
    Example: `300`."""

    # Preferences

    ai_uses: tuple[str, ...] = setting(checks.ai_uses, default=[], overridable=True)
    """What the crawl is for: `train-ai`, `ai-use`, `search`. Pages whose site objects are counted,
    or skipped with `ROBOTS_AI_POLICY`. See [preferences](preferences.md#skipping). Example:
    `['train-ai']`."""
    content_use: ContentUse | None = setting(
        checks.OrUnset(checks.one_of(ContentUse)), overridable=True
    )
    """How far the crawl uses pages: `immediate` stores nothing, `reference` indexes, quotes and
    links, `full` reproduces. A site whose Content-Signal says `use=` something less objects, as to
    a use in `ROBOTS_AI_USES`. See [preferences](preferences.md#skipping). Example:
    `"reference"`."""
    ai_policy: AiPolicy = setting(
        checks.one_of(AiPolicy), default="observe", need="uses", overridable=True
    )
    """What happens to pages whose site objects to `ROBOTS_AI_USES` or `ROBOTS_CONTENT_USE`.
    `observe` counts them. `skip` drops the request if robots.txt or tdmrep.json says so, and the
    page if it says so itself. See [preferences](preferences.md#skipping). Example: `"skip"`."""
    ai_tokens: tuple[str, ...] = setting(
        checks.ai_tokens, default=[], need="obey", overridable=True
    )
    """Names of groups in a robots.txt that stand for training, not for a crawler: what such a group
    disallows counts as `train-ai=n`. Example: `['Google-Extended', 'Applebot-Extended']`."""
    item_field: str | None = setting(checks.OrUnset(checks.item_field))
    """A field of items in which `response.meta["robots"]` of their page is stored. `None` stores it
    nowhere. `robots:json` stores it as text. See [items](preferences.md#items). Example:
    `"robots"`."""

    # Page-level directives

    nofollow: PageAction = setting(checks.one_of(PageAction), default="ignore", overridable=True)
    """What happens to requests from a page with `nofollow` or `none`: `obey` drops them, `observe`
    sets `robots_nofollow` in their meta. See [page-level directives](page-directives.md). Example:
    `"obey"`."""
    noindex: PageAction = setting(checks.one_of(PageAction), default="ignore", overridable=True)
    """What happens to items of a page marked `noindex` or `none`, or whose `unavailable_after` is
    over. `obey` drops them, `observe` counts them and says so in `response.meta["robots"]`.
    Example: `"obey"`."""

    # Fetching robots.txt

    fetch_timeout: float = setting(checks.number("seconds", 0.001, 86_400), default=15)
    """How long fetching a robots.txt may take: redirects, retries and body together. Example:
    `30`."""
    fetch_retries: int = setting(checks.whole_number("retries", 0, 100), default=2)
    """How many times a failed robots.txt request is sent again at once (`DOWNLOAD_DELAY` applies).
    Server errors (5xx) and network failures are retried; with a Retry-After, also a 429, if there
    is time to wait for it. A timeout is not, unless the process itself stood still. Example:
    `3`."""
    fetch_max_bytes: int = setting(
        checks.whole_number("bytes", MAX_BYTES, 2**30), default=MAX_BYTES
    )
    """How much of a robots.txt is read, before the rest is ignored. RFC 9309 2.5 asks for at least
    500 KiB (512,000 bytes). Example: `1048576`."""
    fetch_meta: Mapping[str, Any] = setting(checks.fetch_meta, default={})
    """`Request.meta` of robots.txt requests, such as `proxy`, or what a download handler needs.
    `headers` in it is a dict of HTTP headers: `{"headers": {"Accept-Language": "en"}}`. Example:
    `{"proxy": "http://proxy.example:3128"}`."""

    # Storage

    store: str | None = setting(checks.store_uri)
    """Where robots.txt files are kept: `memory`, `sqlite:PATH` to have them in the next crawl too,
    or the URL of a Redis server that several machines share, such as
    `redis://USER:PASSWORD@HOST:6379/0`. A relative path is relative to the folder in which the
    crawl is started. If unset, a file in `JOBDIR`, else `memory`. See [stores](storage.md).
    Example: `"sqlite:robots.db"`."""
    store_max: int = setting(checks.whole_number("records", 1, 1_000_000_000), default=100_000)
    """How many records the store keeps, one for each origin. A file removes the least recently
    fetched first, memory the least recently used. A Redis server has a limit of its own,
    `maxmemory`. Example: `1000000`."""
    cache_size: int = setting(checks.whole_number("origins", 1, 100_000_000), default=10_000)
    """How many origins are kept in memory. The least recently used are removed first. Example:
    `50000`."""

    # Sitemaps and Clean-param

    sitemaps: bool = setting(checks.boolean, default=False, need="needs_file")
    """Request the sitemaps that robots.txt files name, with the spider's `parse_sitemap` as
    callback. See [sitemaps](sitemaps.md). Example: `True`."""
    clean_param: bool = setting(checks.boolean, default=False, need="needs_file")
    """Of URLs that a site's Clean-param lines call equal, request the first and drop the others.
    See [Clean-param and Host](clean-param.md). Example: `True`."""

    # Reporting

    summary_file: str | None = setting(checks.OrUnset(checks.file_name), need="is_on")
    """A file to which a summary of the crawl is written as JSON when it ends. `%(name)s` stands for
    the spider's name, `%(time)s` for the start of the crawl, as in Scrapy's `FEEDS`. A relative
    path begins where the crawl is started. See [the end of a crawl](end-of-crawl.md). Example:
    `"summaries/%(name)s.json"`."""
    audit_log: str | None = setting(checks.OrUnset(checks.file_name), need="is_on")
    """A file to which each denial is appended as a line of JSON, with the rule that decided and its
    line. `%(name)s` and `%(time)s` as in `ROBOTS_SUMMARY_FILE`. Several crawls may write to one
    file. See [the audit log](audit-log.md). Example: `"audit.jsonl"`."""
    audit_log_allowed: float = setting(checks.share, default=False, need="audit_log")
    """Whether allowed requests are in the audit log too, when they are sent: `True`, `False`, or a
    share from 0 to 1, by a hash of the URL, so that it is logged in each crawl or in none. Example:
    `0.01`."""
    audit_bodies: bool | str = setting(checks.boolean_or_path, default=True, need="audit_log")
    """Whether the text of each robots.txt is stored, once and by its hash (`ab/abcd….txt.gz`), to
    recompute verdicts: in `audit.bodies` beside `audit.jsonl`, or in the folder that you name.
    Example: `"robots-files"`."""
    audit_warc: str | None = setting(checks.OrUnset(checks.warc_file), need="is_on")
    """A new file for all robots.txt requests and their answers as WARC records, compressed if its
    name ends in `.gz`; if there is one of that name, `robots-2.warc.gz` and so on. Needs `pip
    install 'scrapy-robots-plus[warc]'`. `%(name)s` and `%(time)s` as in `ROBOTS_AUDIT_LOG`.
    Example: `"robots.warc.gz"`."""


_SCRAPYS = {"obey": "ROBOTSTXT_OBEY", "user_agent": "ROBOTSTXT_USER_AGENT"}
"""The names of settings that Scrapy has too, by their fields."""

DECLARED: dict[str, Setting] = {
    field: each._replace(name=_SCRAPYS.get(field, f"ROBOTS_{field.upper()}"))
    for field, each in vars(Declared).items()
    if isinstance(each, Setting)
}
"""Every setting by the name of its field."""


OVERRIDE_KEYS: dict[str, Callable[[Any], Any]] = {
    **{field: each.check.read for field, each in DECLARED.items() if each.overridable},
    **EXTRA_KEYS,
}
"""The keys of an override, each with the function that reads its value."""


def names() -> list[str]:
    """Returns the names of all settings of this package."""
    return [declared.name for declared in DECLARED.values()]
