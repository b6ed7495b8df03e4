"""The promises of the gate, in a process of its own for each reactor mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.crawl_process import MODES, crawl_in_process
from tests.sending import HICCUP, gaps
from tests.sites import after, answer, drip, gzipped, half, hang, hang_up, redirect

if TYPE_CHECKING:
    from tests.sites import Sites

pytestmark = pytest.mark.parametrize("mode", MODES)

CLOSED = "User-agent: *\nDisallow: /\n"
RULES = "User-agent: *\nDisallow: /closed\n"


def test_of_100_disallowed_urls_that_arrive_together_none_is_fetched(
    sites: Sites, mode: str
) -> None:
    host = sites.host(after(0.3, answer(CLOSED)))
    result = crawl_in_process(mode, *(host.url(f"/{number}") for number in range(100)))
    assert host.fetched == []
    assert host.robots_hits == 1
    assert set(result["failures"].values()) == {"RobotsDisallowed"}
    assert len(result["failures"]) == 100


def test_failures_close_the_site_and_are_told_apart(sites: Sites, mode: str) -> None:
    replies = {
        "hang-up": hang_up,
        "half": half(RULES),
        "503": answer("", 503),
        "dns": redirect("http://no-such-host.invalid/robots.txt"),
        "not gzip": answer(RULES, content_encoding="gzip"),
        "endless": answer("", 301, location="/robots.txt"),
        "bomb": gzipped(RULES.encode() + b"#" * 3_000_000),
        "large": answer(RULES + ("# filler" * 9 + "\n") * 10_000),
        "404": answer(CLOSED, 404),
    }
    hosts = {name: sites.host(reply) for name, reply in replies.items()}
    urls = [host.url(path) for host in hosts.values() for path in ("/open", "/closed")]
    result = crawl_in_process(mode, *urls, ROBOTS_FETCH_RETRIES=0, CONCURRENT_REQUESTS=64)
    fetched = {name: sorted(host.fetched) for name, host in hosts.items() if host.fetched}
    assert fetched == {
        "endless": ["/closed", "/open"],
        "404": ["/closed", "/open"],
        "bomb": ["/open"],
        "large": ["/open"],
    }
    assert failures_counted(result) == {
        "connection": 1, "cut": 1, "dns": 1, "redirects": 1, "undecodable": 1,
    }  # fmt: skip


def test_a_file_that_does_not_come_in_time_closes_the_site(sites: Sites, mode: str) -> None:
    hosts = [sites.host(hang), sites.host(drip(RULES * 10, 0.1))]
    urls = [host.url(path) for host in hosts for path in ("/open", "/closed")]
    result = crawl_in_process(mode, *urls, ROBOTS_FETCH_TIMEOUT=1)
    assert [host.fetched for host in hosts] == [[], []]
    assert failures_counted(result) == {"timeout": 2}


def failures_counted(result: dict[str, Any]) -> dict[str, int]:
    prefix = "robotstxt/failure_count/"
    return {
        name.removeprefix(prefix): count
        for name, count in result["stats"].items()
        if name.startswith(prefix)
    }


def test_the_crawl_delay_is_kept(sites: Sites, mode: str) -> None:
    host = sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 1\n")
    urls = [host.url(f"/{number}") for number in range(3)]
    result = crawl_in_process(mode, *urls, AUTOTHROTTLE_ENABLED=True, AUTOTHROTTLE_START_DELAY=0.1)
    assert len(host.fetched) == 3
    assert min(gaps(result["sent"], host)) >= 1 - HICCUP


def test_closing_while_a_fetch_hangs(sites: Sites, mode: str) -> None:
    host = sites.host(hang)
    result = crawl_in_process(
        mode, host.url("/a"), host.url("/b"),
        CLOSESPIDER_TIMEOUT=2, ROBOTS_FETCH_TIMEOUT=30, ROBOTS_FETCH_RETRIES=9,
        SCHEDULER_PRIORITY_QUEUE="scrapy.pqueues.ScrapyPriorityQueue",
    )  # fmt: skip
    assert result["stats"]["finish_reason"] == "closespider_timeout"
    assert result["stats"]["robotstxt/forbidden/closing"] == 2
    assert host.fetched == []
    assert host.robots_hits == 1


def test_overrides_and_observe_mode(sites: Sites, mode: str) -> None:
    off, own, other = sites.host(CLOSED), sites.host(hang), sites.host(CLOSED)
    overrides = {
        off.address: {"obey": False, "reason": "ours"},
        own.address: {"robots_txt": RULES, "crawl_delay": 0.5},
    }
    urls = [off.url("/a"), own.url("/closed"), own.url("/1"), own.url("/2")]
    result = crawl_in_process(mode, *urls, ROBOTS_OVERRIDES=overrides)
    assert result["failures"] == {own.url("/closed"): "RobotsDisallowed"}
    assert min(gaps(result["sent"], own)) >= 0.5 - HICCUP
    assert off.robots_hits == own.robots_hits == 0
    urls = [*urls, other.url("/a")]
    result = crawl_in_process(mode, *urls, ROBOTS_OVERRIDES=overrides, ROBOTS_MODE="observe")
    assert sorted(result["got"]) == sorted(urls)
    assert result["stats"]["robotstxt/forbidden"] == 2


def test_pages_whose_site_objects_to_their_use_are_skipped(sites: Sites, mode: str) -> None:
    host = sites.host("User-agent: *\nContent-Usage: /no-train train-ai=n\n")
    host.pages["/header"] = answer("A page", 200, content_usage="train-ai=n")
    urls = [host.url(path) for path in ("/no-train", "/header", "/open")]
    uses: dict[str, Any] = {"ROBOTS_AI_USES": ["train-ai"], "ROBOTS_AI_POLICY": "skip"}
    result = crawl_in_process(mode, *urls, **uses, ROBOTS_ITEM_FIELD="robots")
    assert result["got"] == urls[2:]
    assert result["failures"] == dict.fromkeys(urls[:2], "RobotsUseDisallowed")
    assert sorted(host.fetched) == ["/header", "/open"]
