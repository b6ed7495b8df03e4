"""The queue works in each reactor mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.crawl_process import MODES, crawl_in_process
from tests.crawling import parts_of_seconds

if TYPE_CHECKING:
    from tests.sites import Sites


@parts_of_seconds
@pytest.mark.parametrize("mode", sorted(MODES))
def test_a_crawl_in_each_mode(sites: Sites, shared: dict[str, Any], mode: str) -> None:
    paced = sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 0.1\n")
    host = sites.host("User-agent: *\nDisallow: /never\n")
    urls = [each.url(f"/{page}") for each in (paced, host) for page in range(4)]
    spider = "tests.crawl.shared_queue.crews.ModeSpider"
    result = crawl_in_process(mode, *urls, spider=spider, **shared)
    assert sorted(result["got"]) == sorted(urls)
    assert result["stats"]["finish_reason"] == "finished"
    assert result["stats"].get("log_count/ERROR", 0) == 0
    assert min(paced.gaps) > 0.05
