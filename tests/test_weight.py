"""What a plain crawl imports of the package, and when: what it does not use is not loaded."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from .programs import CODE, run_text, scrapy_in

if TYPE_CHECKING:
    from pathlib import Path

    from .sites import Sites

PACKAGE = "scrapy_robots_plus"
MOST_MODULES = 200
"""A crawl starts with fewer than this; each costs some 0.3 ms."""
UNUSED = (
    "audit",
    "commands",
    "hosts.book_in_file",
    "hosts.book_on_server",
    "job",
    "protocol.difference",
    "protocol.directives",
    "protocol.lint",
    "redis",
    "robotparser",
    "storage.redis_server",
    "storage.redis_store",
    "storage.sqlite_file",
    "storage.sqlite_store",
)
"""Rooms of which a crawl with the add-on and nothing else needs nothing."""
PROGRAM = """
import json, sys
from tests.programs import forget
forget("scrapy_robots_plus")
import scrapy, scrapy_robots_plus
from scrapy.crawler import AsyncCrawlerProcess

class Spider(scrapy.Spider):
    name = "plain"

    @classmethod
    def from_crawler(cls, crawler, **arguments):
        spider = super().from_crawler(crawler, **arguments)
        crawler.signals.connect(spider.started, scrapy.signals.engine_started)
        crawler.signals.connect(spider.found, scrapy_robots_plus.sitemaps_found)
        return spider

    def started(self):
        self.modules = list(sys.modules)

    def found(self, urls):
        self.sitemaps = urls

    def parse(self, response):
        pass

process = AsyncCrawlerProcess(json.loads(sys.argv[1]))
crawler = process.create_crawler(Spider)
process.crawl(crawler, start_urls=sys.argv[2:])
process.start()
spider = crawler.spider
answers = crawler.stats.get_value("response_received_count")
print(json.dumps([answers, spider.sitemaps, spider.modules, list(sys.modules)]))
"""


def modules_of_a_crawl(sites: Sites, folder: Path, **settings: Any) -> list[set[str]]:
    """The modules of this package that a crawl of two pages has imported when it begins, and when
    it has ended, without the package's name."""
    host = sites.host("User-agent: *\nDisallow: /private\nCrawl-delay: 0.1\nSitemap: /s.xml\n")
    urls = [host.url("/a"), host.url("/b"), host.url("/private")]
    given = {
        "ADDONS": {f"{PACKAGE}.Addon": 300},
        "LOG_ENABLED": False,
        "LOGSTATS_INTERVAL": 0.05,
        "TELNETCONSOLE_ENABLED": False,
        **settings,
    }
    status, printed = scrapy_in(folder, PROGRAM, json.dumps(given), *urls, main=CODE)
    assert status == 0, printed
    answers, sitemaps, *modules = json.loads(printed.splitlines()[-1])
    assert answers == 3  # with the robots.txt
    assert sitemaps == [host.url("/s.xml")]
    return [
        {name.removeprefix(f"{PACKAGE}.") for name in names if name.startswith(PACKAGE)}
        for names in modules
    ]


def of(room: str, modules: set[str]) -> set[str]:
    return {each for each in modules if f"{each}.".startswith(f"{room}.")}


def test_a_plain_crawl_imports_few_modules_and_none_of_rooms_that_it_does_not_use(
    sites: Sites, tmp_path: Path
) -> None:
    at_the_start, modules = modules_of_a_crawl(sites, tmp_path)
    # Later there may be no file left to open, or another version in its place.
    assert modules - at_the_start == set()
    assert set().union(*(of(room, modules) for room in UNUSED)) == set()
    assert len(modules) < MOST_MODULES


def test_there_are_these_rooms() -> None:
    assert [each for each in UNUSED if find_spec(f"{PACKAGE}.{each}") is None] == []


@pytest.mark.stress
def test_what_settings_ask_for_is_imported(sites: Sites, tmp_path: Path) -> None:
    _, modules = modules_of_a_crawl(
        sites,
        tmp_path,
        JOBDIR="job",
        ROBOTS_STORE="sqlite:robots.db",
        ROBOTS_AUDIT_LOG="audit.jsonl",
        ROBOTS_SHARED_PACE="sqlite:pace.db",
        ROBOTS_NOINDEX="obey",
    )
    rooms = ("job.file", "job.dupefilter", "storage.sqlite_store", "audit", "audit.recorder")
    for room in (*rooms, "hosts.book_in_file", "protocol.directives"):
        assert of(room, modules), room


def test_what_scrapy_imports_for_each_command_is_light() -> None:
    """It imports the module of ``scrapy robots`` for each of its own commands, too."""
    program = (
        "import sys, tests.programs\n"
        "tests.programs.forget('scrapy_robots_plus')\n"
        "import scrapy_robots_plus.commands.robots\n"
        "print(*(each for each in sys.modules if each.startswith('scrapy_robots_plus.')))"
    )
    status, printed = run_text(program)
    assert status == 0, printed
    heavy = ("compat", "crawl", "hosts", "job", "origins", "pages", "requests")
    assert [each for each in printed.split() if each.split(".")[1] in heavy] == []
