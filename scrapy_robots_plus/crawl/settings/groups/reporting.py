"""What a crawl tells when it is over."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_robots_plus.crawl.settings.checks import file_name, or_unset
from scrapy_robots_plus.crawl.settings.setting import setting


@dataclass(frozen=True)
class Reporting:
    """Reporting"""

    summary_file: str | None = setting(
        "ROBOTS_SUMMARY_FILE",
        or_unset(file_name),
        default=None,
        example="summaries/%(name)s.json",
        doc="A file to which a summary of the crawl is written as JSON when it ends. `%(name)s` "
        "stands for the name of the spider, `%(time)s` for the moment at which the crawl began, as "
        "in Scrapy's `FEEDS`. A relative path is relative to the folder in which the crawl is "
        "started. See [the end of a crawl](end-of-crawl.md).",
    )
