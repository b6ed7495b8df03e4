"""Which of Scrapy's own tests cannot pass while their crawls ask for robots.txt, and why."""

from __future__ import annotations

from fnmatch import fnmatchcase

_COUNTED = "It counts the request for robots.txt among the page's."
_LEFT = "It counts the requests that left the downloader; that for robots.txt has left it too."
_ORDER = (
    "It wants the first request sent before the next is scheduled. It waits in the queue for its "
    "robots.txt, and what comes meanwhile with a higher priority goes before it, as it should."
)

REASONS = {
    "test_command_fetch.TestFetchCommand.test_redirect_disabled": (
        "It wants no answer with status 200 in the statistics; that to robots.txt has it."
    ),
    "test_closespider.*test_closespider_pagecount_no_item": _COUNTED,
    "test_crawler_subprocess.*.test_ipv6_default_name_resolver": _COUNTED,
    "test_downloaderslotssettings.TestCrawl.test_delay": (
        "It looks at every downloader slot (Scrapy 2.14); robots.txt has one that it does not know."
    ),
    "test_engine.TestEngine*.test_crawler": _COUNTED,
    "test_engine.TestEngine*.test_crawler_dupefilter": _COUNTED,
    "test_engine_loop.TestRequestSendOrder.test_default": _ORDER,
    "test_engine_loop.TestRequestSendOrder.test_lifo_start": _ORDER,
    "test_engine_loop.TestRequestSendOrder.test_shared_queues": _ORDER,
    "test_engine_stop_download_*.*.test_crawler": _COUNTED,
    "test_pipeline_crawl.*.test_download_media_wrong_urls": _COUNTED,
    "test_pipeline_crawl.*.test_download_media_redirected_default_failure": _COUNTED,
    "test_request_left.*test_*": _LEFT,
    "test_scheduler.*.test_integration_downloader_aware_priority_queue": _COUNTED,
}
"""By a pattern of what stands behind ``tests.`` in the names of the tests."""


def reason(name: str) -> str:
    """Why *name* may fail where ``ROBOTSTXT_OBEY`` is on; empty for a test that must pass."""
    for pattern, why in REASONS.items():
        if fnmatchcase(name.removeprefix("tests."), pattern):
            return why
    return ""
