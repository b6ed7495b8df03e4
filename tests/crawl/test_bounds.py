"""However many hosts a crawl visits, what it keeps of those it is done with has bounds."""

from __future__ import annotations

import gc
from collections import Counter, deque
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

import pytest
import pytest_twisted
import scrapy

from scrapy_robots_plus.audit import recorder
from scrapy_robots_plus.crawl import requests as requests_module
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.hosts import book as book
from scrapy_robots_plus.hosts.door import Door
from scrapy_robots_plus.hosts.origin_states import OriginStates
from scrapy_robots_plus.origins import parsers
from scrapy_robots_plus.origins.parsers import HotFiles
from scrapy_robots_plus.protocol.origin import Origin
from tests.crawling import StepSpider, crawl, make_crawler, run, stat
from tests.sites import answer, hang_up

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.sites import Host, Sites

PACKAGE = "scrapy_robots_plus"
CONTAINERS = (dict, list, set, deque, WeakKeyDictionary, WeakSet)
KEPT = 4
"""For all settings that say how many."""
OF_THE_CRAWL = 2
"""Rows of the tally, for example, that are of no host."""

SETTINGS = {
    "ROBOTS_CACHE_SIZE": KEPT,
    "ROBOTS_STORE_MAX": KEPT,
    "ROBOTS_BACKOFF_MAX": 0,  # a host that is left alone is kept until that is over
    "ROBOTS_FETCH_RETRIES": 0,
    "ROBOTS_VISIT_TIME": "obey",
    "ROBOTS_OVERRIDES": {"127.0.0.1": {"obey": False, "reason": "to look up each host"}},
}


def odd(host: Host, number: int) -> Host:
    """Each eighth host is like the others."""
    match number % 8:
        case 0:
            host.robots("User-agent: *\nDisallow: /never\n")
        case 1:
            host.robots("User-agent: *\nCrawl-delay: 0.01\nRequest-rate: 100/1 0000-2359\n")
        case 2:
            host.robots(answer(status=503))
        case 3:
            host.robots(hang_up)
        case 4:
            host.robots("User-agent: *\nVisit-time: 0000-2359\n")
            host.pages["/"] = answer(status=429, retry_after="0")
        case 5:
            host.robots(f"User-agent: *\nDisallow: /{number}\nDisallow: /\n")
        case 6:
            host.robots(answer(status=301, location=f"{host.origin}/other.txt"))
        case _:
            host.pages["/"] = answer(status=503)
    return host


def ours() -> Iterator[Any]:
    """Objects of the package, without the names of origins, which are parts of others."""
    gc.collect()
    for each in gc.get_objects():
        kind: Any = type(each)
        if is_ours(kind):
            yield each


@cache
def is_ours(kind: type) -> bool:
    return str(getattr(kind, "__module__", "")).startswith(PACKAGE) and kind is not Origin


def attributes(each: object) -> Iterator[tuple[str, Any]]:
    yield from getattr(each, "__dict__", {}).items()
    for kind in type(each).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__"):
                yield name, getattr(each, name, None)


def sizes(objects: list[Any]) -> dict[str, int]:
    """How many there are of each class of the package, and the longest of their containers."""
    found: Counter[str] = Counter(type(each).__qualname__ for each in objects)
    for each in objects:
        for name, value in attributes(each):
            if isinstance(value, CONTAINERS):
                key = f"{type(each).__qualname__}.{name}"
                found[key] = max(found[key], len(value))
    return found


class Counting(scrapy.Spider):
    """Keeps nothing of what became of its requests."""

    name = "counting"
    urls: list[str]
    done = 0

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.urls:
            yield scrapy.Request(url, self.count, errback=self.count)

    def count(self, _: object) -> None:
        self.done += 1


async def crawl_of(sites: Sites, hosts: int, folder: Path) -> dict[str, int]:
    """The sizes when all requests are done, before anything is closed."""
    urls = [odd(sites.host(), number).url("/") for number in range(hosts)]
    before = list(ours())
    ids = set(map(id, before))
    found: dict[str, int] = {}

    def look() -> None:
        requests_module._plain.cache_clear()
        engine: Any = crawler.engine
        engine.downloader._slot_gc(age=0)  # as Scrapy does each minute
        found.update(sizes([each for each in ours() if id(each) not in ids]))

    crawler = make_crawler(Counting, **SETTINGS, ROBOTS_AUDIT_LOG=str(folder / f"{hosts}.jsonl"))
    crawler.signals.connect(look, scrapy.signals.spider_idle)
    await run(crawler, urls=urls)
    spider: Any = crawler.spider
    assert spider.done == hosts
    return found


@pytest.mark.parametrize("hosts", [16, pytest.param(2_000, marks=pytest.mark.stress)])
@pytest_twisted.ensureDeferred
async def test_of_twice_the_hosts_no_more_is_kept(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hosts: int
) -> None:
    monkeypatch.setattr(OriginStates, "MOST_OUTAGES", KEPT)
    monkeypatch.setattr(parsers, "_hot", HotFiles(1, KEPT))
    monkeypatch.setattr(recorder, "BATCH", KEPT)
    monkeypatch.setattr(Door, "TRIM_SECONDS", 0.0)
    monkeypatch.setattr(book, "REMEMBERED", 0.0)
    monkeypatch.setattr(book.BookInMemory, "LEAST", KEPT)
    monkeypatch.setattr(Door, "LEAST", KEPT)
    some = await crawl_of(sites, hosts, tmp_path)
    more = await crawl_of(sites, 2 * hosts, tmp_path)
    grown = {key: (some.get(key, 0), size) for key, size in more.items() if size > some.get(key, 0)}
    most = 2 * KEPT + OF_THE_CRAWL  # a policy holds up to two verdicts
    assert {key: sizes for key, sizes in grown.items() if sizes[1] > most} == {}
    assert {"Tally._rows", "Policies._recent", "Door.lines"} <= set(more)


@pytest_twisted.ensureDeferred
async def test_a_host_that_comes_back_costs_one_look_into_the_store(
    sites: Sites, tmp_path: Path
) -> None:
    hosts = [sites.host().robots("User-agent: *\nDisallow: /never\n") for _ in range(3 * KEPT)]
    urls = [host.url(path) for path in ("/a", "/b") for host in hosts]
    store = f"sqlite:{tmp_path / 'robots.db'}"
    crawler = await crawl(
        *urls, spider=StepSpider, ROBOTS_CACHE_SIZE=KEPT, ROBOTS_STORE=store, LOG_LEVEL="INFO"
    )
    assert [host.fetched for host in hosts] == [["/a", "/b"]] * len(hosts)
    assert [host.robots_hits for host in hosts] == [1] * len(hosts)
    assert stat(crawler, stats.STORE_MISSES) == stat(crawler, stats.STORE_HITS) == len(hosts)


@pytest.mark.parametrize("url", ["http://{}.example/", "http://user:{}@site.example/"])
def test_no_long_url_is_kept(url: str) -> None:
    requests_module._plain.cache_clear()
    request = scrapy.Request(url.format("a" * 10_000))
    origin = requests_module.origin_of(request)
    assert origin is not None
    assert origin.robots_url.endswith(".example/robots.txt")
    assert requests_module._plain.cache_info().currsize == 0
