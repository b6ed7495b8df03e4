"""A part of a log: of some hosts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scrapy_robots_plus.audit.summary import Summary

from .pages import page_of
from .sample_log import NEWS, SHOP, allowed, begin, denied, end, read

ENTRIES = [
    begin("a"),
    begin("b", 1, spider="news"),
    read(SHOP, 2, crawl="a"),
    denied(SHOP, "/", 3, crawl="a"),
    allowed(NEWS, "/", 4, crawl="b"),
    allowed(SHOP, "/", 5, crawl="b"),
    end("a", 6),
    end("b", 7),
]


@pytest.mark.parametrize(
    ("hosts", "found"),
    [
        ([], {SHOP: (1, 1), NEWS: (0, 1)}),
        (["shop.example"], {SHOP: (1, 1)}),
        (["*.example"], {SHOP: (1, 1), NEWS: (0, 1)}),
        (["news.example", "x.example"], {NEWS: (0, 1)}),
        (["http://shop.example"], {}),
    ],
)
def test_sites_that_nobody_asked_for_are_left_out(
    hosts: list[str], found: dict[str, tuple[int, int]]
) -> None:
    summary = Summary(hosts)
    for entry in ENTRIES:
        summary.add(entry)
    sites = summary.rows("sites")
    assert {each.origin: (each.requests_denied, each.requests_allowed) for each in sites} == found
    assert (summary.totals.crawls, summary.totals.files) == (2, SHOP in found)


@pytest.mark.parametrize("origin", [None, "", "ftp://x.example", "http://x.example:port"])
def test_what_has_no_origin_is_of_no_host(origin: str | None) -> None:
    summary = Summary(["x.example"])
    summary.add(replace(denied(SHOP, "/"), origin=origin))
    assert summary.totals.lines == 0


def test_a_part_of_a_crawl_that_has_ended_does_not_call_it_killed() -> None:
    log = [begin(), denied(SHOP, "/", 1), denied(NEWS, "/", 2), end(at=3)]
    assert "ended: finished" in page_of(log, hosts=["shop.example"]).text
