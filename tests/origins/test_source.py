"""Where a robots.txt came from, as stamps and logs name it."""

from __future__ import annotations

from scrapy_robots_plus.origins.freshness import Source


def test_names() -> None:
    assert [f"{source}" for source in Source] == ["network", "store", "cache", "override"]
