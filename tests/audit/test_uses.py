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


def test_objections_are_counted_by_use_and_source() -> None:
    robots = objected(source="robots.txt Content-Usage", line=3, rule="Content-Usage: train-ai=n")
    page = page_of([begin(), objected(), objected(), robots, end()])
    assert page.tables["uses"][1:] == [
        ["train-ai X-Robots-Tag; for example https://a.example/x", "2"],
        ["train-ai robots.txt Content-Usage; for example https://a.example/x", "1"],
    ]
    # A header is no rule of a robots.txt.
    assert [row[1] for row in page.tables["reasons"] if len(row) == 2] == ["Denied", "1", "1"]


def test_what_crawls_were_for_is_among_their_settings() -> None:
    first = replace(begin(), ai_uses=("train-ai", "search"), ai_policy="observe")
    page = page_of([first, end()])
    assert page.text.count("ai_policy = observe ai_uses = ('train-ai', 'search')") == 1
    assert "uses" not in page.tables  # there were no objections
    assert "What sites want done" not in page.text


def test_an_objection_to_no_use_from_nowhere_is_counted() -> None:
    summary = Summary()
    summary.add(objected(use=None, source=None))
    (objection,) = summary.rows("objections")
    assert (objection.use, objection.source, objection.denied) == ("", "", 1)
