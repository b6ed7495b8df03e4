"""Every key of every command's JSON is in the one table of docs/json.md, with its type."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from tests.audit import sample_log
from tests.audit.logs import write_sealed
from tests.crawling import ProbeSpider, crawl, names_rules
from tests.samples import ROOT
from tests.sites import Sites, answer, hang_up

from .running import Robots

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = """\
Content-Signal: ai-train=no
User-agent: Scrapy
User-agent: foobot
Crawl-delay: 2
Request-rate: 1/5 0900-1700
Visit-time: 0600-0845
Disallow: /private/
Allow: /private/open
Content-Usage: train-ai=n
Clean-param: a
Dissallow: /x
License: https://site.example/license.xml
Host: site.example
Sitemap: https://site.example/sitemap.xml
"""
TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "list": list,
    "object": dict,
    "map": dict,
    "string or list": (str, list),
}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def table() -> dict[str, str]:
    """The type of each key."""
    page = (ROOT / "docs" / "json.md").read_text()
    rows = re.findall(r"^\| (`[^|]+`) \| ([a-z ]+) \|", page, re.MULTILINE)
    keys = [(key, kind) for names, kind in rows for key in re.findall("`(.+?)`", names)]
    assert len(dict(keys)) == len(keys)
    return dict(keys)


TABLE = table()


def assert_described(found: dict[str, Any], *, is_map: bool = False) -> Iterator[str]:
    """The keys of *found*, and of all objects in it."""
    for key, value in found.items():
        kind = "map" if is_map else TABLE.get(key, "not in docs/json.md")
        if not is_map:
            yield key
            assert kind != "not in docs/json.md", key
            _assert_type(key, kind, value)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                yield from assert_described(each, is_map=kind == "map" and not is_map)


def _assert_type(key: str, kind: str, value: object) -> None:
    if value is None:
        return
    if kind == "time":
        assert isinstance(value, str), key
        assert TIME.fullmatch(value), key
        return
    assert isinstance(value, TYPES[kind]), (key, kind, value)
    assert isinstance(value, bool) is (kind == "boolean"), (key, kind, value)


async def everything(sites: Sites, folder: Path) -> Iterator[tuple[str, ...]]:
    """Arguments of each command that prints JSON, and files for them in *folder*."""
    host, moved, dead = sites.host(FILE), sites.host(), sites.host(hang_up)
    moved.robots(answer("", 301, location=host.url("/robots.txt")))
    folder.joinpath("old.txt").write_text("User-agent: *\nDisallow: /\n")
    folder.joinpath("new.txt").write_text(FILE)
    write_sealed(folder / "report.jsonl", sample_log.entries())
    job: Any = {"JOBDIR": folder / "job", "CLOSESPIDER_PAGECOUNT": 1, "CONCURRENT_REQUESTS": 1}
    urls = [host.url(f"/{number}") for number in range(5)]
    await crawl(*urls, spider=ProbeSpider, ROBOTS_CRAWL_DELAY_OBEY=False, **job)
    folder.joinpath("latin.txt").write_bytes(b"User-agent: \xe9\n")
    store = ("--store", "sqlite:store.db")
    set_store = ("-s", "ROBOTS_STORE=sqlite:store.db", "-s", "ROBOTS_FETCH_RETRIES=0")
    yield_ = [host.url("/private/a"), moved.url("/b"), dead.url("/c")]
    return iter(
        [
            ("check", "--json", *yield_, "no url", *set_store),
            ("explain", "--json", host.url("/private/open?a=1"), *set_store),
            ("explain", "--json", moved.url("/"), *set_store),
            ("explain", "--json", dead.url("/"), *set_store),
            ("explain", "--json", "--file", "new.txt", "http://site.example/private/open"),
            ("show", "--json", host.origin, moved.origin, dead.origin, "new.txt", "latin.txt"),
            ("permissions", "--use", "search", "--json", *yield_, "no url"),
            ("diff", "--json", "old.txt", "new.txt"),
            ("diff", "--json", host.origin, "new.txt"),
            ("plan", "--json", *yield_, "no url", "mailto:a@site.example"),
            ("cache", "list", "--json", *store),
            ("cache", "show", "--json", host.origin, *store),
            ("job", "show", "--urls", "--json", "job"),
            ("report", "--json", "report.jsonl"),
        ]
    )


@names_rules
@pytest_twisted.ensureDeferred
async def test_each_key_is_in_the_table_with_its_type(sites: Sites, tmp_path: Path) -> None:
    robots, met = Robots(tmp_path), set[str]()
    for arguments in await everything(sites, tmp_path):
        done = robots(*arguments)
        assert done.lines, (arguments, done.errors)
        for line in done.lines:
            fields = json.loads(line)
            assert next(iter(fields.items())) == ("v", 1), arguments
            met |= set(assert_described(fields))
    rarely = {"kills", "lane"}
    assert set(TABLE) - met <= rarely


def test_a_key_has_one_row() -> None:
    assert len(TABLE) > 80


@pytest.mark.parametrize("kind", sorted({*TABLE.values()} - {"time"}))
def test_each_type_is_known(kind: str) -> None:
    assert kind in TYPES
