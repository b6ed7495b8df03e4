"""The example of docs/monitoring.md: what it writes is read by Prometheus' own parser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from prometheus_client.parser import text_string_to_metric_families

from docs.tables import STATS_BY_SECTION
from tests.crawling import ProbeSpider, crawl
from tests.samples import block_with, settings_of
from tests.sites import Sites, answer, half

if TYPE_CHECKING:
    from pathlib import Path

CLOSED = "User-agent: *\nDisallow: /private/\n"
Labels = frozenset[tuple[str, str]]
KEYS = [key for keys in STATS_BY_SECTION.values() for key in keys]


def example() -> dict[str, Any]:
    return block_with("PrometheusFile:", "docs/monitoring.md")


def samples(text: str) -> dict[tuple[str, Labels], float]:
    """Each sample once, by name and labels."""
    families = list(text_string_to_metric_families(text))
    assert {family.type for family in families} <= {"counter"}
    found = [sample for family in families for sample in family.samples]
    read = {(each.name, frozenset(each.labels.items())): each.value for each in found}
    assert len(read) == len(found) == len([line for line in text.splitlines() if line[0] != "#"])
    return read


@pytest_twisted.ensureDeferred
async def test_the_example_writes_what_the_stats_say(sites: Sites, tmp_path: Path) -> None:
    partly, broken = sites.host(CLOSED), sites.host(answer("", 503))
    settings = settings_of(block_with("PROMETHEUS_FOLDER =", "docs/monitoring.md"))
    ((name, place),) = settings.pop("EXTENSIONS").items()
    assert list(settings) == ["PROMETHEUS_FOLDER"]
    crawler = await crawl(
        partly.url("/private/1"),
        partly.url("/private/2"),
        partly.url("/"),
        broken.url(),
        sites.host(half(CLOSED)).url(),
        ROBOTS_FETCH_RETRIES=0,
        EXTENSIONS={example()[name.rpartition(".")[2]]: place},
        PROMETHEUS_FOLDER=str(tmp_path),
    )
    (path,) = tmp_path.iterdir()
    assert path.name == "probe.prom"
    found = samples(path.read_text())

    def value(name: str, **labels: str) -> float:
        return found[
            f"scrapy_robotstxt_{name}_total", frozenset({"spider": "probe", **labels}.items())
        ]

    assert value("forbidden", reason="rule") == 2
    assert value("forbidden", reason="unreachable") == 2
    assert value("response_status", status="503") == 1
    assert value("failure", failure="cut") == 1
    assert value("request") == 3
    ours = {key: count for key, count in crawler.stats.get_stats().items() if "robotstxt/" in key}
    del ours["robotstxt/forbidden"]
    assert sorted(found.values()) == sorted(map(float, ours.values()))


def test_each_stat_is_counted_by_its_label_and_never_twice() -> None:
    counted = dict.fromkeys((key.replace("<", "").replace(">", "") for key in KEYS), 1)
    found = samples(example()["prometheus_text"](counted, "probe"))
    assert len(found) == len(counted) - 2  # without the sums of the reasons
    labelled = {key.partition("<") for key in KEYS if "<" in key}
    labels = {prefix: label.removesuffix(">") for prefix, _, label in labelled}
    assert example()["LABELS"] == labels


@pytest.mark.parametrize(
    "name", ['a "quoted" one', "back\\slash", "a\\nb", "two\nlines", "日本", "a}b,c=d"]
)
def test_no_name_breaks_the_text(name: str) -> None:
    counted = {"robotstxt/forbidden/rule": 1, "robotstxt/request_count": 2, "item_count": 3}
    counted['robotstxt/exception_count/odd."\\\n{}'] = 4
    found = samples(example()["prometheus_text"](counted, name))
    assert {dict(labels)["spider"] for _, labels in found} == {name}
    assert {dict(labels).get("exception") for _, labels in found} == {None, 'odd."\\\n{}'}


@pytest_twisted.ensureDeferred
async def test_no_name_of_a_spider_leaves_the_folder(sites: Sites, tmp_path: Path) -> None:
    class Spider(ProbeSpider):
        name = "../evil/../../x"

    folder = tmp_path / "node"
    folder.mkdir()
    await crawl(
        sites.host(CLOSED).url(),
        spider=Spider,
        EXTENSIONS={example()["PrometheusFile"]: 500},
        PROMETHEUS_FOLDER=str(folder),
    )
    assert list(tmp_path.iterdir()) == [folder]
    assert len(list(folder.iterdir())) == 1


@pytest_twisted.ensureDeferred
async def test_a_folder_that_is_not_there_does_not_end_the_crawl(
    sites: Sites, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(CLOSED)
    extensions = {example()["PrometheusFile"]: 500}
    missing = str(tmp_path / "missing")
    await crawl(host.url(), EXTENSIONS=extensions, PROMETHEUS_FOLDER=missing)
    assert host.fetched == ["/"]
    assert "No such file or directory" in caplog.text


@pytest_twisted.ensureDeferred
async def test_without_a_folder_it_is_off(sites: Sites) -> None:
    host = sites.host(CLOSED)
    await crawl(host.url(), EXTENSIONS={example()["PrometheusFile"]: 500})
    assert host.fetched == ["/"]
