"""What else a robots.txt says about URLs."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_robots_plus.crawl.settings.checks.kinds import boolean, one_of, whole_number
from scrapy_robots_plus.crawl.settings.setting import Need, setting
from scrapy_robots_plus.policy.options import SitemapScope


@dataclass(frozen=True, eq=False)
class Hints:
    """Sitemaps and Clean-param"""

    sitemaps: bool = setting(
        "ROBOTS_SITEMAPS",
        boolean,
        default=False,
        example=True,
        doc="Request the sitemaps that robots.txt files name, with the spider's `parse_sitemap` "
        "as callback. See [sitemaps](sitemaps.md).",
        needs=(Need("ROBOTSTXT_OBEY", lambda its: its.needs_file),),
    )
    sitemaps_scope: SitemapScope = setting(
        "ROBOTS_SITEMAPS_SCOPE",
        one_of(SitemapScope),
        default="any",
        example="site",
        doc="Which sitemaps are requested, for `ROBOTS_SITEMAPS` and by `RobotsSitemapSpider`: "
        "those on the `host` of the robots.txt, those on any host of the same `site`, which is "
        "the registrable domain, or `any`, as the protocol allows. IP addresses and hosts without "
        "a registrable domain are sites of their own.",
    )
    sitemaps_max: int = setting(
        "ROBOTS_SITEMAPS_MAX",
        whole_number("Sitemap lines", 1, 100_000),
        default=5_000,
        example=100,
        doc="How many Sitemap lines of a robots.txt are read; the others are counted.",
    )
    clean_param: bool = setting(
        "ROBOTS_CLEAN_PARAM",
        boolean,
        default=False,
        example=True,
        doc="Of URLs that a site's Clean-param lines call equal, request the first and drop the "
        "others. See [Clean-param and Host](clean-param.md).",
        needs=(Need("ROBOTSTXT_OBEY", lambda its: its.needs_file),),
    )
    clean_param_max: int = setting(
        "ROBOTS_CLEAN_PARAM_MAX",
        whole_number("URLs", 1, 1_000_000_000),
        default=100_000,
        example=1_000_000,
        doc="How many URLs on paths with Clean-param are remembered for `ROBOTS_CLEAN_PARAM`. "
        "Beyond that, those that were asked for longest ago are forgotten, and may be requested "
        "again.",
        needs=(Need("ROBOTS_CLEAN_PARAM", lambda its: its.clean_param),),
    )
