"""What pages say of themselves, by X-Robots-Tag and robots meta tags."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_robots_plus.crawl.settings.checks.kinds import one_of
from scrapy_robots_plus.crawl.settings.setting import setting
from scrapy_robots_plus.policy.options import PageAction


@dataclass(frozen=True, eq=False)
class Pages:
    """Page-level directives"""

    nofollow: PageAction = setting(
        "ROBOTS_NOFOLLOW",
        one_of(PageAction),
        default="ignore",
        example="obey",
        doc="What becomes of the requests that a callback makes of a page with `nofollow` or "
        "`none`. `obey` drops them, `mark` sets `robots_nofollow` in their meta. See [page-level "
        "directives](page-directives.md).",
    )
    noindex: PageAction = setting(
        "ROBOTS_NOINDEX",
        one_of(PageAction),
        default="ignore",
        example="obey",
        doc="What becomes of the items that a callback makes of a page with `noindex` or `none`, "
        "or whose `unavailable_after` is over. `obey` drops them, `mark` counts them and says so "
        'in `response.meta["robots"]`.',
    )
