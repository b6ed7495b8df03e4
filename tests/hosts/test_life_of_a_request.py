"""The life of a request is as the docs tell it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import scrapy
from pytest_twisted import ensureDeferred

import scrapy_robots_plus
from tests.crawling import HAS_THROTTLER, ProbeSpider, make_crawler, names_rules, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sites import Sites

PACKAGE = Path(scrapy_robots_plus.__file__).parent
PAGE = PACKAGE.parent / "docs" / "internals" / "queue.md"
ROW = re.compile(r"^\| [^|]*\| `([\w/]+\.py)` \| (`[\w.`, ]+`) \|$", re.MULTILINE)

Stop = tuple[str, str]
"""The file and the name of a function."""


def stops_in_docs() -> list[Stop]:
    life = PAGE.read_text().partition("## The life of a request")[2].partition("\n## ")[0]
    rows = ROW.findall(life)
    return [(file, name) for file, names in rows for name in re.findall(r"`([^`]+)`", names)]


class Followed(ProbeSpider):
    """Notes all functions of the package that run from its first page to its second."""

    run_through: set[Stop]

    def parse(self, response: scrapy.http.Response) -> Iterator[scrapy.Request]:
        super().parse(response)
        if response.url.endswith("/second"):
            sys.setprofile(None)
            return
        self.run_through = set()
        sys.setprofile(self._note)
        yield scrapy.Request(response.urljoin("/second"))

    def _note(self, frame: Any, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            name = frame.f_code.co_name
            owner = frame.f_locals.get("self")
            classes = [each.__name__ for each in type(owner).__mro__] if owner is not None else []
            file = path.relative_to(PACKAGE).as_posix()
            self.run_through |= {(file, name), *((file, f"{each}.{name}") for each in classes)}


@names_rules  # they are those of our parser
@ensureDeferred
async def test_each_stop_that_the_docs_name_is_run_through(sites: Sites) -> None:
    if sys.getprofile() is not None:
        pytest.skip("a profiler is at work")
    crawler = make_crawler(Followed)
    try:
        host = sites.host("User-agent: *\nCrawl-delay: 0.1\n")
        await run(crawler, urls=[host.url("/first")])
    finally:
        sys.setprofile(None)
    assert host.fetched == ["/first", "/second"]
    spider: Any = crawler.spider
    stops = stops_in_docs()
    assert len(stops) > 50
    left_out = {("hosts/slot_delays.py", "ShownDelay.show")} if HAS_THROTTLER else set()
    assert {stop for stop in stops if stop not in spider.run_through} == left_out
