"""Where what is known is kept."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_robots_plus.crawl.settings.checks.kinds import whole_number
from scrapy_robots_plus.crawl.settings.checks.places import store_uri
from scrapy_robots_plus.crawl.settings.setting import setting


@dataclass(frozen=True, eq=False)
class Storage:
    """Storage"""

    store: str | None = setting(
        "ROBOTS_STORE",
        store_uri,
        default=None,
        example="sqlite:robots.db",
        doc="Where robots.txt files are kept: `memory`, `sqlite:PATH` to have them in the next "
        "crawl too, or the URL of a Redis server that several machines share, such as "
        "`redis://USER:PASSWORD@HOST:6379/0`. A relative path is relative to the folder in which "
        "the crawl is started. If unset, a file in `JOBDIR`, or `memory` if there is no `JOBDIR`. "
        "See [stores](storage.md).",
        secret=True,
    )
    store_max: int = setting(
        "ROBOTS_STORE_MAX",
        whole_number("records", 1, 1_000_000_000),
        default=100_000,
        example=1_000_000,
        doc="How many records the store keeps, one for each origin. The least recently fetched are "
        "removed first. A Redis server has a limit of its own, `maxmemory`.",
    )
    cache_size: int = setting(
        "ROBOTS_CACHE_SIZE",
        whole_number("origins", 1, 100_000_000),
        default=10_000,
        example=50_000,
        doc="How many origins are kept in memory. The least recently used are removed first.",
    )
