"""``ROBOTS_ITEM_FIELD``: items carry the stamp of the page that they were made of."""

from __future__ import annotations

import copy
import csv
import json
import logging
import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import pytest_twisted
import scrapy
from scrapy import signals

from scrapy_robots_plus import RobotsItemMiddleware
from tests.crawling import ProbeSpider, make_crawler, run, stat
from tests.samples import block_with

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tests.sites import Sites

RULES = "User-agent: *\nAllow: /page\n"
ON: dict[str, Any] = {"ROBOTS_ITEM_FIELD": "robots"}


class PageItem(scrapy.Item):
    url = scrapy.Field()
    robots = scrapy.Field()


class BareItem(scrapy.Item):
    url = scrapy.Field()


@dataclass
class PageData:
    url: str
    robots: dict[str, Any] | None = None


@dataclass
class BareData:
    url: str


@dataclass(frozen=True)
class FrozenData:
    url: str
    robots: dict[str, Any] | None = None


@dataclass
class LateData:
    url: str
    robots: dict[str, Any] = field(init=False)


@attrs.define
class PageAttrs:
    url: str
    robots: dict[str, Any] | None = None


@attrs.define
class BareAttrs:
    url: str


class ItemSpider(ProbeSpider):
    """Yields an item of each kind for each page."""

    kinds: tuple[Callable[..., Any], ...] = (dict,)

    def parse(self, response: Response) -> Iterator[Any]:
        super().parse(response)
        for kind in self.kinds:
            yield kind(url=response.url)


class AsyncSpider(ItemSpider):
    async def parse(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        for kind in self.kinds:
            yield kind(url=response.url)


class RaisingSpider(ItemSpider):
    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url}
        raise RuntimeError("in mid-page")


async def items_of(
    *urls: str | scrapy.Request,
    spider: type[ProbeSpider] = ItemSpider,
    kinds: tuple[Any, ...] = (dict,),
    **settings: Any,
) -> tuple[list[Any], Crawler]:
    """The items that come out of the crawl."""
    crawler = make_crawler(type("Spider", (spider,), {"kinds": kinds}), **{**ON, **settings})
    items: list[Any] = []

    def scraped(item: Any) -> None:
        items.append(item)

    crawler.signals.connect(scraped, signals.item_scraped)
    await run(crawler, urls=urls)
    return items, crawler


def robots_of(item: Any) -> Any:
    return item["robots"] if isinstance(item, (dict, scrapy.Item)) else item.robots


@pytest.mark.parametrize("spider", [ItemSpider, AsyncSpider])
@pytest_twisted.ensureDeferred
async def test_every_kind_of_item_is_stamped(sites: Sites, spider: type[ProbeSpider]) -> None:
    host = sites.host(RULES)
    kinds = (dict, PageItem, PageData, LateData, PageAttrs)
    items, crawler = await items_of(host.url("/page"), spider=spider, kinds=kinds)
    assert [type(item) for item in items] == list(kinds)
    stamps = [robots_of(item) for item in items]
    assert {stamp["robots_url"] for stamp in stamps} == {host.url("/robots.txt")}
    assert len({id(stamp) for stamp in stamps}) == len(kinds)
    assert stat(crawler, "robotstxt/items_not_stamped") == 0


@pytest.mark.parametrize("kind", [BareItem, BareData, BareAttrs, FrozenData])
@pytest_twisted.ensureDeferred
async def test_a_kind_that_has_no_such_field_is_told_once_and_not_lost(
    sites: Sites, caplog: pytest.LogCaptureFixture, kind: type
) -> None:
    host = sites.host(RULES)
    urls = [host.url(f"/{number}") for number in range(3)]
    with caplog.at_level(logging.INFO):
        items, crawler = await items_of(*urls, kinds=(kind, dict))
    assert sorted(type(item).__name__ for item in items) == sorted([kind.__name__, "dict"] * 3)
    assert stat(crawler, "robotstxt/items_not_stamped") == 3
    (message,) = [each.getMessage() for each in caplog.records if "ITEM_FIELD" in each.getMessage()]
    assert f"Items of tests.pages.test_items.{kind.__name__} get no 'robots'" in message


@pytest_twisted.ensureDeferred
async def test_items_before_an_exception_are_stamped(sites: Sites) -> None:
    host = sites.host(RULES)
    items, crawler = await items_of(host.url("/page"), spider=RaisingSpider)
    (item,) = items
    assert item["robots"]["allowed"] is True
    assert stat(crawler, "spider_exceptions/RuntimeError") == 1


@pytest_twisted.ensureDeferred
async def test_a_page_that_was_not_checked_stamps_nothing(sites: Sites) -> None:
    host = sites.host(RULES)
    request = scrapy.Request(host.url("/page"), meta={"dont_obey_robotstxt": True})
    items, _ = await items_of(request)
    assert items == [{"url": host.url("/page")}]


@pytest_twisted.ensureDeferred
async def test_a_field_that_has_a_value_keeps_it(sites: Sites) -> None:
    def made(url: str) -> dict[str, Any]:
        return {"url": url, "robots": "my own"}

    host = sites.host(RULES)
    items, _ = await items_of(host.url("/page"), kinds=(made,))
    assert items == [{"url": host.url("/page"), "robots": "my own"}]


@dataclass
class EmptyData:
    url: str
    robots: dict[str, Any] = field(default_factory=dict)


@attrs.define
class EmptyText:
    url: str
    robots: Any = ""


@pytest_twisted.ensureDeferred
async def test_an_empty_default_is_no_value(sites: Sites) -> None:
    def made(url: str) -> dict[str, Any]:
        return {"url": url, "robots": {}}

    def zero(url: str) -> dict[str, Any]:
        return {"url": url, "robots": 0}

    host = sites.host(RULES)
    items, _ = await items_of(host.url("/page"), kinds=(EmptyData, EmptyText, made, zero))
    stamps = [robots_of(item) for item in items]
    assert [stamp and stamp["allowed"] for stamp in stamps] == [True, True, True, 0]
    assert type(pickle.loads(pickle.dumps(stamps[0]))) is dict
    assert type(copy.copy(stamps[0])) is type(copy.deepcopy(stamps[0])) is dict


FORMATS = ["csv", "json", "jsonlines", "xml", "pickle"]


@pytest_twisted.ensureDeferred
async def test_each_kind_of_feed_has_it_as_json_or_as_a_dict(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(RULES)
    for name in FORMATS:
        feed = str(tmp_path / name)
        items, crawler = await items_of(host.url("/page"), FEEDS={feed: {"format": name}})
        assert stat(crawler, "feedexport/success_count/FileFeedStorage") == 1
        assert stat(crawler, "log_count/ERROR") == 0
        octets = (tmp_path / name).read_bytes()
        stamp = dict(items[0]["robots"])
        if name == "csv":
            (row,) = csv.DictReader(octets.decode().splitlines())
            assert json.loads(row["robots"]) == stamp
        elif name in ("json", "jsonlines"):
            found = json.loads(octets)
            assert (found[0] if name == "json" else found)["robots"] == stamp
        elif name != "xml":
            assert pickle.loads(octets)["robots"] == stamp


@pytest_twisted.ensureDeferred
async def test_the_field_may_have_another_name(sites: Sites) -> None:
    host = sites.host(RULES)
    items, _ = await items_of(host.url("/page"), ROBOTS_ITEM_FIELD="permission")
    assert items[0]["permission"]["allowed"] is True
    assert "robots" not in items[0]


@pytest.mark.parametrize("unset", [None, ""])
@pytest_twisted.ensureDeferred
async def test_by_default_items_stay_as_they_are(sites: Sites, unset: str | None) -> None:
    host = sites.host(RULES)
    items, crawler = await items_of(host.url("/page"), ROBOTS_ITEM_FIELD=unset)
    assert items == [{"url": host.url("/page")}]
    assert crawler.get_spider_middleware(RobotsItemMiddleware) is None


@pytest_twisted.ensureDeferred
async def test_what_is_no_item_passes(sites: Sites) -> None:
    """Scrapy takes any object; what it makes of it is not our affair."""
    host = sites.host(RULES)

    def made(url: str) -> tuple[str, ...]:
        return (url,)

    items, crawler = await items_of(host.url("/page"), kinds=(made,))
    assert items == [(host.url("/page"),)]
    assert stat(crawler, "robotstxt/items_not_stamped") == 0


class StartSpider(ProbeSpider):
    """Yields an item before there is any page."""

    async def start(self) -> AsyncIterator[Any]:
        yield {"from": "start"}


@pytest_twisted.ensureDeferred
async def test_an_item_of_no_page_stays_as_it_is(sites: Sites) -> None:
    items, _ = await items_of(spider=StartSpider)
    assert items == [{"from": "start"}]


@pytest_twisted.ensureDeferred
async def test_the_item_of_the_docs_is_stamped(sites: Sites) -> None:
    declared = block_with("class PageItem", "docs/preferences.md")["PageItem"]

    def made(url: str) -> Any:
        return declared(title=url)

    host = sites.host(RULES)
    (item,), _ = await items_of(host.url("/page"), kinds=(made,))
    assert (item["title"], item["robots"]["allowed"]) == (host.url("/page"), True)
