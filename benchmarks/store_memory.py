"""What a crawl keeps in memory of each host: Scrapy's own middleware, and this package."""

from __future__ import annotations

import gc
import tracemalloc
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy.robotstxt import ProtegoRobotParser
from scrapy.utils.test import get_crawler

from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.origins.parsers import ParsedFile, RobotsParser
from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.settings.robots_settings import RobotsSettings
from scrapy_robots_plus.storage import open_store

from .store_records import body, host, record

if TYPE_CHECKING:
    from collections.abc import Callable

AGENT = "Foobot/1.0 (+https://foobot.example)"


def measure(hosts: int) -> list[tuple[str, float]]:
    """Bytes a host by what holds them, all of the same hosts; each has answered a question."""
    crawler = get_crawler(Spider)
    settings = RobotsSettings.from_settings(crawler.settings)
    clock = Clock()
    numbers = [number for number in range(hosts * 2) if record(number).access is Access.RULES]
    numbers = numbers[:hosts]

    def built_in() -> object:
        parsers: dict[str, Any] = {}
        for number in numbers:
            parser = ProtegoRobotParser.from_crawler(crawler, body(number))
            parser.allowed(f"https://{host(number)}/page?x=1", AGENT)
            parsers[host(number)] = parser
        return parsers

    def policies() -> object:
        held: dict[Any, Policy] = {}
        for number in numbers:
            parser = RobotsParser.from_crawler(crawler, body(number))
            slim = record(number)._replace(body=b"")
            policy = Policy(slim, ParsedFile(parser), settings, clock, crawler.stats)
            policy.verdict(f"https://{host(number)}/page?x=1", AGENT)
            policy.enforce(AGENT)
            held[slim.origin] = policy
        return held

    def memory_store() -> object:
        store = open_store("memory", hosts)
        for number in numbers:
            store.put(record(number))
        return store

    return [
        ("Scrapy's own: a ProtegoRobotParser", _bytes(built_in) / hosts),
        ("this package: a Policy", _bytes(policies) / hosts),
        ("this package: a record in the memory store", _bytes(memory_store) / hosts),
    ]


def _bytes(make: Callable[[], object]) -> int:
    make()  # what is made once and kept (caches, compiled expressions) is not the hosts'
    gc.collect()
    tracemalloc.start()
    try:
        kept = make()
        gc.collect()
        traced, _ = tracemalloc.get_traced_memory()
        del kept
        return traced
    finally:
        tracemalloc.stop()
