"""A part of a log: of some hosts, some time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scrapy_robots_plus.audit import summary
from scrapy_robots_plus.audit.summary import Selection

from .pages import page_of
from .sample_log import BEGIN, NEWS, SHOP, allowed, begin, denied, end, read

ENTRIES = [
    begin("a"),
    begin("b", 1, spider="news"),
    read(SHOP, 2, crawl="a"),
    denied(SHOP, "/", 3, crawl="a"),
    allowed(NEWS, "/", 4, crawl="b"),
    allowed(SHOP, "/", 5, crawl="b"),
    end("a", 6),
    end("b", 7),
]


def chosen(**options: Any) -> list[str]:
    """Crawl and seconds of each entry that counts."""
    part = Selection(**options)
    return [f"{each.crawl}{each.time - BEGIN:.0f}" for each in part.of(ENTRIES)]


def test_all_of_it() -> None:
    assert list(Selection().of(ENTRIES)) == ENTRIES
    assert Selection().words == []


def test_what_it_is_limited_to() -> None:
    part = Selection(("x.example",), 0.0)
    since = "since 1970-01-01T00:00:00.000000Z"
    assert part.words == ["host x.example", since]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"since": 0.0}, ["a0", "a2", "a3", "b1", "b4", "b5", "a6", "b7"]),
        ({"hosts": ("shop.example",)}, ["a0", "a2", "a3", "b1", "b5", "a6", "b7"]),
        ({"hosts": ("*.example",)}, ["a0", "a2", "a3", "b1", "b4", "b5", "a6", "b7"]),
        ({"hosts": ("http://shop.example",)}, []),
        ({"since": BEGIN + 4, "until": BEGIN + 6}, ["b1", "b4", "b5", "b7"]),
        ({"until": BEGIN + 1}, []),
    ],
)
def test_a_crawl_begins_with_the_first_entry_that_counts(
    options: dict[str, Any], found: list[str]
) -> None:
    assert chosen(**options) == found


@pytest.mark.parametrize("origin", [None, "", "ftp://x.example", "http://x.example:port"])
def test_what_has_no_origin_is_of_no_host(origin: str | None) -> None:
    part = Selection(("x.example",))
    odd = replace(denied(SHOP, "/"), origin=origin)
    assert list(part.of([begin(), odd])) == []


def test_of_very_many_crawls_the_oldest_begins_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(summary, "MOST_OPEN_CRAWLS", 2)
    entries = [begin(name) for name in "abc"]
    part = Selection(since=0.0)
    found = list(part.of([*entries, denied(SHOP, "/", crawl="a"), denied(SHOP, "/", crawl="c")]))
    assert [(each.type, each.crawl) for each in found] == [
        ("verdict", "a"),
        ("crawl", "c"),
        ("verdict", "c"),
    ]


def test_a_part_of_a_crawl_that_has_ended_does_not_call_it_killed() -> None:
    log = [begin(), denied(SHOP, "/", 1), denied(NEWS, "/", 2), end(at=3)]
    part = Selection(hosts=("shop.example",))
    found = page_of(part.of(log), is_part=True)
    assert "ended: finished" in found.text


def test_a_crawl_whose_begin_is_in_another_part_has_its_end() -> None:
    entries = [denied(SHOP, "/", 3), end(at=6)]
    assert list(Selection(since=0.0).of(entries)) == entries
