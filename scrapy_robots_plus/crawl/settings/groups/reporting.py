"""What a crawl leaves on record, and tells when it is over."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_robots_plus.crawl.settings.checks.kinds import or_unset, share
from scrapy_robots_plus.crawl.settings.checks.places import boolean_or_path, file_name, warc_file
from scrapy_robots_plus.crawl.settings.setting import Need, setting


@dataclass(frozen=True, eq=False)
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
        needs=(Need("ROBOTSTXT_OBEY", lambda its: its.is_on),),
    )
    audit_log: str | None = setting(
        "ROBOTS_AUDIT_LOG",
        or_unset(file_name),
        default=None,
        example="audit.jsonl",
        doc="A file to which each denial is appended as a line of JSON, with the rule that decided "
        "and its line. `%(name)s` and `%(time)s` stand for the spider's name and the start of the "
        "crawl, as in Scrapy's `FEEDS`. Several crawls may write to the same file. See [the audit "
        "log](audit-log.md).",
        needs=(Need("ROBOTSTXT_OBEY", lambda its: its.is_on),),
    )
    audit_log_allowed: float = setting(
        "ROBOTS_AUDIT_LOG_ALLOWED",
        share,
        default=False,
        example=0.01,
        doc="Whether allowed requests are in the audit log too, when they are sent: `True`, "
        "`False`, or the share of them that is, from 0 to 1. The share is taken by a hash of the "
        "URL, so that a URL is logged in each crawl or in none.",
        needs=(Need("ROBOTS_AUDIT_LOG", lambda its: its.audit_log),),
    )
    audit_bodies: bool | str = setting(
        "ROBOTS_AUDIT_BODIES",
        boolean_or_path,
        default=True,
        example="robots-files",
        doc="Whether the text of each robots.txt is stored beside the audit log, once and by its "
        "hash, so that verdicts can be recomputed: in the folder `audit.bodies` for `audit.jsonl`, "
        "or in the folder that you name.",
        needs=(Need("ROBOTS_AUDIT_LOG", lambda its: its.audit_log),),
    )
    audit_warc: str | None = setting(
        "ROBOTS_AUDIT_WARC",
        or_unset(warc_file),
        default=None,
        example="robots.warc.gz",
        doc="A file to which all robots.txt requests and their answers are appended as WARC "
        "records, compressed if its name ends in `.gz`. Needs `pip install "
        "'scrapy-robots-plus[warc]'`. `%(name)s` and `%(time)s` as in `ROBOTS_AUDIT_LOG`.",
        needs=(Need("ROBOTSTXT_OBEY", lambda its: its.is_on),),
    )
