"""Permissions in feeds: written by Scrapy, and read back as they were."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from itemadapter import ItemAdapter
from scrapy.exporters import BaseItemExporter
from scrapy.settings import Settings

from scrapy_robots_plus import RobotsSettingsError
from scrapy_robots_plus.settings.robots_settings import RobotsSettings
from tests.crawling import crawl, names_rules, stat
from tests.pages.stamping import StampStepSpider
from tests.sites import TDMREP, answer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.http import Response

    from tests.sites import Host, Sites

pytestmark = names_rules

RULES = """\
User-agent: *
Content-Usage: /usage train-ai=n
Content-Signal: search=yes, use=reference
Allow: /usage
License: https://x.example/license.xml
"""
PATHS = ("/", "/usage/1", "/tdm/1", "/unchecked", "/header", "/page", "/\u00e9|,\"'\n")


class ParquetExporter(BaseItemExporter):
    """As others write it: the schema of each file is what its items have."""

    def __init__(self, file: Any, **options: Any) -> None:
        super().__init__(dont_fail=True, **options)
        self.file = file
        self.rows: list[dict[str, Any]] = []

    def export_item(self, item: Any) -> None:
        self.rows.append(ItemAdapter(item).asdict())

    def finish_exporting(self) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.Table.from_pylist(self.rows), self.file)


class FeedSpider(StampStepSpider):
    """An item for each page, first of one that is not checked."""

    def request(self, url: str, **arguments: Any) -> scrapy.Request:
        meta = {"dont_obey_robotstxt": True} if url.endswith("/unchecked") else {}
        return super().request(url, meta=meta, **arguments)

    def parse(self, response: Response) -> Iterator[Any]:  # type: ignore[override]
        super().parse(response)
        yield {"url": response.url}


def site(sites: Sites) -> Host:
    host = sites.host(RULES)
    host.pages[TDMREP] = answer(
        '[{"location": "/tdm/", "tdm-reservation": 1, "tdm-policy": "https://x.example/p"}]'
    )
    host.pages["/header"] = answer("", content_usage="train-ai=y", tdm_reservation="0")
    host.pages["/page"] = answer("", x_robots_tag="noarchive")
    return host


async def fed(host: Host, feed: str, kind: str, field: str, **more: Any) -> Any:
    """The stamps of a crawl whose feed is *feed*, by URL."""
    urls = [host.url(path) for path in ("/unchecked", *PATHS)]
    crawler = await crawl(
        *urls,
        spider=FeedSpider,
        FEEDS={feed: {"format": kind, **more}},
        FEED_EXPORTERS={"parquet": ParquetExporter},
        ROBOTS_ITEM_FIELD=field,
        ROBOTS_AI_USES=["train-ai"],
        ROBOTS_NOINDEX="observe",
    )
    assert stat(crawler, "log_count/ERROR") == 0
    assert stat(crawler, "item_scraped_count") == len(urls)
    return crawler.spider.stamps


def checked(stamps: dict[str, Any]) -> dict[str, Any]:
    return {url: stamp for url, stamp in stamps.items() if stamp is not None}


@pytest_twisted.ensureDeferred
async def test_lines_of_json_have_it_whole(sites: Sites, tmp_path: Path) -> None:
    feed = tmp_path / "items.jsonl"
    for field in ("robots", "robots:json"):
        stamps = await fed(site(sites), str(feed), "jsonlines", field, overwrite=True)
        items = [json.loads(line) for line in feed.read_text().splitlines()]
        found = {each["url"]: each.get("robots") for each in items}
        if field == "robots:json":
            assert {type(each) for each in found.values()} == {str}
            found = {url: json.loads(text) for url, text in found.items()}
        assert {url: found[url] for url in checked(stamps)} == checked(stamps)
        assert len(stamps) == len(PATHS)
        assert {each["train-ai"] for each in preferences_of(checked(stamps))} == {
            *("allow", "disallow", "unknown")
        }


def preferences_of(stamps: dict[str, Any]) -> list[dict[str, str]]:
    return [stamp["preferences"] for stamp in stamps.values()]


@pytest_twisted.ensureDeferred
async def test_tables_of_text_have_it_from_the_first_row_on(sites: Sites, tmp_path: Path) -> None:
    """The first item is of a page that was not checked."""
    feed = tmp_path / "items.csv"
    stamps = await fed(site(sites), str(feed), "csv", "robots:json")
    with feed.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(PATHS) + 1
    for row in rows:
        stamp = json.loads(row["robots"])
        known = stamps[row["url"]]
        if known is not None:
            assert stamp == known
        else:
            assert (stamp["reason"], stamp["allowed"]) == ("not_obeyed", True)
            assert set(stamp["preferences"].values()) == {"not_read"}


@pytest_twisted.ensureDeferred
async def test_the_columns_of_all_batches_are_the_same(sites: Sites, tmp_path: Path) -> None:
    """Of typed tables, in files of two items each."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    feed = str(tmp_path / "items-%(batch_id)d.parquet")
    stamps = await fed(site(sites), feed, "parquet", "robots:json", batch_item_count=2)
    files = sorted(tmp_path.glob("*.parquet"))
    assert len(files) == 4
    assert len({str(parquet.read_schema(file)) for file in files}) == 1
    rows = pyarrow.concat_tables([parquet.read_table(file) for file in files]).to_pylist()
    found = {row["url"]: json.loads(row["robots"]) for row in rows}
    assert {url: found[url] for url in checked(stamps)} == checked(stamps)


@pytest.mark.parametrize("kind", ["jsonlines", "csv"])
@pytest_twisted.ensureDeferred
async def test_no_item_is_lost_because_of_what_a_site_says(
    sites: Sites, tmp_path: Path, kind: str
) -> None:
    host = site(sites)
    host.pages[TDMREP] = answer(
        r'[{"location": "/tdm/\ud800", "tdm-reservation": 0},'
        r' {"location": "/", "tdm-reservation": 1, "tdm-policy": "https://x.example/\udfff"}]'
    )
    feed = tmp_path / "feed"
    stamps = await fed(host, str(feed), kind, "robots:json", encoding="utf-8")
    assert stamps[host.url("/tdm/1")]["tdm_policy"] == r"https://x.example/\udfff"
    rows = feed.read_text(encoding="utf-8")
    assert rows.count("udfff") > 3


FIELDS = {
    **dict.fromkeys(("robots", "a b:json"), True),
    **dict.fromkeys((":json", "robots:", "robots:text", "robots:json:json", ":"), False),
}


@pytest.mark.parametrize("field", FIELDS)
def test_other_forms_are_not_known(field: str) -> None:
    settings = Settings({"ROBOTS_ITEM_FIELD": field})
    if not FIELDS[field]:
        with pytest.raises(RobotsSettingsError, match="expected the name of a field; :json may"):
            RobotsSettings.from_settings(settings)
    else:
        assert RobotsSettings.from_settings(settings).item_field == field
