"""The life of a request is as the docs tell it."""

from __future__ import annotations

import ast
import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, signals

import scrapy_robots_plus
from tests.crawling import BASE_SETTINGS, HAS_THROTTLER, ProbeSpider, names_rules
from tests.programs import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tests.sites import Sites

PACKAGE = Path(scrapy_robots_plus.__file__).parent
PAGE = PACKAGE.parent / "docs" / "internals" / "queue.md"
ROW = re.compile(r"^\| [^|]*\| `([\w/]+\.py)` \| (`[\w.`, ]+`) \|$", re.MULTILINE)

MOST_STOPS, MOST_FILES = 120, 45
"""Of one request: more than that nobody can keep in mind."""

TICKS = {"ClosingWatch._look", "Departures.was_held_up"}
"""What runs several times a second, whatever a request does, or on a busy machine only."""

Stop = tuple[str, str]
"""The file and the name of a function."""


def stops_in_docs(title: str) -> list[Stop]:
    _, _, life = PAGE.read_text().partition(f"## {title}\n")
    rows = ROW.findall(life.partition("\n## ")[0])
    return [(file, name) for file, names in rows for name in re.findall(r"`([^`]+)`", names)]


@cache
def functions_in(file: Path) -> dict[int, str]:
    """Those of a module and of its classes, by the line they begin at, without getters and
    constructors.
    """
    found: dict[int, str] = {}
    for owner in ast.parse(file.read_text()).body:
        for each in owner.body if isinstance(owner, ast.ClassDef) else [owner]:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and not is_getter(each):
                line = min(part.lineno for part in (each, *each.decorator_list))
                of_class = f"{owner.name}." if isinstance(owner, ast.ClassDef) else ""
                found[line] = of_class + each.name
    return found


def is_getter(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it does nothing but say something, or makes an object."""
    steps = function.body[ast.get_docstring(function) is not None :]
    is_property = any("property" in ast.unparse(each) for each in function.decorator_list)
    is_one_line = not steps or isinstance(steps[0], ast.Return)
    return is_property or is_one_line or function.name.startswith("__")


class Followed(ProbeSpider):
    """Goes from page to page, and notes the functions of the package that each request enters from
    another file, in order.
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.entered: list[dict[tuple[str, int], None]] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **named: Any) -> Followed:
        spider = super().from_crawler(crawler, *args, **named)
        crawler.signals.connect(spider.scheduled, signals.request_scheduled)
        return spider

    def scheduled(self) -> None:
        self.entered.append({})
        sys.setprofile(self._note)

    def parse(self, response: Response) -> Iterator[Request]:
        sys.setprofile(None)
        super().parse(response)
        if "next" in response.meta:
            url, *rest = response.meta["next"]
            yield Request(url, meta={"next": rest} if rest else {})

    def _note(self, frame: Any, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and frame.f_back.f_code.co_filename != code.co_filename:
            self.entered[-1].setdefault((code.co_filename, code.co_firstlineno))

    def stops(self, number: int) -> list[Stop]:
        entered = [(Path(file), line) for file, line in self.entered[number]]
        inside = [(file, line) for file, line in entered if file.is_relative_to(PACKAGE)]
        names = {file: functions_in(file) for file, _ in inside}
        return [
            (file.relative_to(PACKAGE).as_posix(), names[file][line])
            for file, line in inside
            if line in names[file] and names[file][line] not in TICKS
        ]


MAIN = f"{__name__}:main"


def main() -> None:
    """Crawls two hosts, and prints the stops of the first page and of the second of one of them.

    In a process of its own, where no crawl of another test enters functions, too.
    """
    from scrapy.crawler import AsyncCrawlerProcess

    first, *others = sys.argv[1:]
    process = AsyncCrawlerProcess(BASE_SETTINGS)
    crawler = process.create_crawler(Followed)
    process.crawl(crawler, urls=[Request(first, meta={"next": others})])
    process.start()
    spider: Any = crawler.spider
    print(json.dumps([spider.stops(1), spider.stops(2)]))


@names_rules  # they are those of our parser
@pytest.mark.skipif(HAS_THROTTLER, reason="Its slots are others")
def test_the_docs_name_each_stop(sites: Sites) -> None:
    first, host = (sites.host("User-agent: *\nCrawl-delay: 2\nDisallow: /private/\n") for _ in "12")
    with Program(MAIN, first.url("/"), host.url("/first"), host.url("/second")) as program:
        output, errors = program.communicate()
    assert host.fetched == ["/first", "/second"], errors
    new, known = ({(file, name) for file, name in stops} for stops in json.loads(output))
    named, also_named = map(stops_in_docs, ("The life of a request", "The fetch of a robots.txt"))
    assert len(set(named)) <= MOST_STOPS
    assert len(files_of(set(named))) <= MOST_FILES
    assert set(named) == known
    assert set(also_named) == new - known
    page = " ".join(PAGE.read_text().split())
    assert f"comes to them: {len(known)} in {len(files_of(known))} files." in page
    more = len(files_of(new) - files_of(known))
    assert f"passes these as well: {len(new - known)} functions, in {more} more files." in page


def files_of(stops: set[Stop]) -> set[str]:
    return {file for file, _ in stops}
