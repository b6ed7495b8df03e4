"""What a log says in sum of uses; a log may have been written by anybody."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.audit.summary import Summary

from .pages import page_of
from .sample_log import begin, denied, end

if TYPE_CHECKING:
    from scrapy_robots_plus.audit.entries import VerdictEntry

OBJECTED: dict[str, Any] = {"reason": "ai_preference", "use": "train-ai", "source": "X-Robots-Tag"}


def objected(**fields: Any) -> VerdictEntry:
    return denied("https://a.example", "/x", **{**OBJECTED, "rule": "noai", "line": None, **fields})


def test_a_log_without_preferences_has_no_such_section() -> None:
    page = page_of([begin(), denied("https://a.example", "/x", rule="Disallow: /x", line=2), end()])
    assert "uses" not in page.tables
    assert "What sites want done" not in page.text


def test_objections_are_counted_by_use_and_source() -> None:
    robots = objected(source="robots.txt Content-Usage", line=3, rule="Content-Usage: train-ai=n")
    page = page_of([begin(), objected(), objected(), robots, end()])
    assert page.tables["uses"][1:] == [
        ["train-ai X-Robots-Tag; for example https://a.example/x", "2"],
        ["train-ai robots.txt Content-Usage; for example https://a.example/x", "1"],
    ]
    # A header is no rule of a robots.txt.
    assert [row[1] for row in page.tables["reasons"] if len(row) == 2] == ["Denied", "1", "1"]


def test_what_crawls_were_for_and_what_sites_prefer() -> None:
    first = replace(begin(), ai_uses=("train-ai", "search"), ai_policy="observe")
    last = replace(end(), preferences={"train-ai/disallow": 2_000, "search/allow": 1})
    page = page_of([first, last, replace(first, crawl="b"), replace(last, crawl="b")])
    assert page.text.count("ai_policy = observe ai_uses = ('train-ai', 'search')") == 2
    assert page.tables["uses"][1:] == [["search/allow", "2"], ["train-ai/disallow", "4,000"]]


def test_what_nobody_would_write_does_no_harm() -> None:
    summary = Summary()
    odd = {f"{number}/allow": 1 for number in range(1000)} | {"a": "b", "c": [1], "d": True}
    summary.add(replace(end(), preferences=odd))
    summary.add(replace(end(), preferences={"x" * 10_000: 10**30, "0/allow": -5}))
    found = {each.preference: each.responses for each in summary.rows("preferences")}
    assert len(found) == 1_001
    assert found["0/allow"] == 1
    assert all(len(name) <= 500 for name in found)
    summary.add(objected(use=None, source=None))
    (objection,) = summary.rows("objections")
    assert (objection.use, objection.source, objection.denied) == ("", "", 1)
