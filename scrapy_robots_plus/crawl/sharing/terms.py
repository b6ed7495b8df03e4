"""What must be equal in all workers, so that no worker undoes the pace of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus._version import __version__
from scrapy_robots_plus.protocol.product_token import product_tokens

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.gate.crawl import Crawl


def terms(crawler: Crawler, crawl: Crawl) -> dict[str, str]:
    """By the names that a user knows, as text."""
    own = crawl.settings
    found: dict[str, object] = {
        "the version of scrapy-robots-plus": __version__,
        "whether robots.txt is obeyed": crawl.holds_requests,
        "DOWNLOAD_DELAY": crawler.settings.getfloat("DOWNLOAD_DELAY"),
        "ROBOTS_CRAWL_DELAY_OBEY": own.crawl_delay_obey,
        "ROBOTS_CRAWL_DELAY_MAX": own.crawl_delay_max,
        "ROBOTS_CRAWL_DELAY_TOO_LONG": own.crawl_delay_too_long,
        "ROBOTS_DEFAULT_DELAY": own.default_delay,
    }
    if crawl.holds_requests:
        found["the product token"] = next(iter(product_tokens(crawl.agents.default)), "*")
    return {name: str(value) for name, value in found.items()}
