"""The report: its figures are the log's, and it says what it cannot show."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from . import sample_log
from .pages import Page, page_of, tiles
from .sample_log import SHOP, SLOW, allowed, begin, denied, end, read


@pytest.fixture(scope="module")
def sample() -> Page:
    return page_of(sample_log.entries())


def test_the_figures_are_those_of_the_log(sample: Page) -> None:
    assert tiles(sample) == [
        "58 Requests denied",
        "148 Requests allowed",
        "7 Sites",
        "5 robots.txt failures",
        "1 robots.txt changes",
    ]


def test_hosts_with_what_was_denied_and_why(sample: Page) -> None:
    hosts = sample.figures("hosts")
    assert hosts[f"{SHOP} robots.txt: 200 · 40 denied: a rule of the robots.txt"] == ["40", "40"]
    assert hosts[f"{SLOW} robots.txt: 200"] == ["0", "100"]


def test_reasons_with_a_sum(sample: Page) -> None:
    assert sample.tables["reasons"] == [
        ["What decided", "Denied", "Allowed"],
        ["A rule of the robots.txt", "53", "0"],
        ["The robots.txt cannot be read", "5", "0"],
        ["No rule of the robots.txt matches", "0", "147"],
        ["The robots.txt is unavailable", "0", "1"],
        ["All", "58", "148"],
    ]


def test_rules_with_their_line_their_file_and_an_example(sample: Page) -> None:
    rules = [row for row in sample.tables["rules"] if "/private/" in row[0]]
    where = f"line 3 of {SHOP}/robots.txt for example {SHOP}/private/0"
    assert rules == [[f"Disallow: /private/ {where}", "40"]]


def test_gaps_with_a_picture_that_has_words(sample: Page) -> None:
    assert "1 of 99 gaps are shorter than the delay" in sample.text
    assert "Gaps 99 Too short 1 Shortest 1.80 s Median 2.60 s" in sample.text
    (picture,) = (each for each in sample.all("svg") if SLOW in (each.get("aria-label") or ""))
    assert picture["role"] == "img"
    assert "99 gaps" in (picture["aria-label"] or "")


def test_failures_changes_overrides_and_crawls(sample: Page) -> None:
    assert ["503", "It cannot be read", "5"] in sample.tables["files"]
    assert "503: Service Unavailable" in sample.text
    assert "Looks like a mistake: its rules became HTML" in sample.text
    ((override, *counts),) = sample.tables["overrides"][1:]
    assert override.startswith(f"{sample_log.CONTRACT} obey: False")
    assert counts == ["0", "7"]
    ((crawl, *counts),) = sample.tables["crawls"][1:]
    assert crawl.startswith("prices 2026-11-20 18:58:00 to 19:24:40 UTC, ended: finished")
    assert counts == ["58", "148"]


def test_it_says_what_it_was_made_from(sample: Page) -> None:
    assert "Made from audit.jsonl , 218 lines, on 2026-11-20 18:58:00 UTC by maker 1.0." in (
        sample.text
    )
    assert f"Hash of the last line: {'5f' * 32}" in sample.text


def test_a_picture_has_words_or_nothing_to_say(sample: Page) -> None:
    pictures = sample.all("svg")
    assert len(pictures) > 5
    for picture in pictures:
        hidden = picture.get("aria-hidden") == "true"
        assert hidden or (picture["role"] == "img" and picture["aria-label"]), picture


def test_headings_do_not_skip_a_level_and_each_cell_has_a_head(sample: Page) -> None:
    levels = [int(tag[1]) for tag, _ in sample.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert all(each.get("scope") in ("col", "row") for each in sample.all("th"))


def test_the_contents_lead_to_each_section(sample: Page) -> None:
    links = [(each["href"] or "").removeprefix("#") for each in sample.all("a")]
    sections = [each["id"] for each in sample.all("section")]
    assert sections == ["short", *links]


def test_the_audit_mode_is_said_in_the_heading() -> None:
    found = page_of([begin(mode="observe"), denied(SHOP, "/", mode="observe"), end()])
    assert "robots.txt report, observe mode" in found.text
    assert "nothing was blocked or delayed there. 1 denial not enforced." in found.text
    both = page_of([begin(mode="observe"), begin("b"), denied(SHOP, "/", mode="observe")])
    assert "1 of 2 crawls ran in observe mode" in both.text
    assert "Observe mode" not in page_of(sample_log.entries()).text


def test_a_damaged_log_is_said_on_top() -> None:
    found = page_of([begin(), end()], "line 3: changed: its hash is another one")
    head, _, _ = found.text.partition("Requests denied")
    assert "This log is not whole" in head
    assert "line 3: changed: its hash is another one" in head


def test_lines_that_could_not_be_written_are_said_on_top() -> None:
    found = page_of([begin(), end(lost=1_200)])
    assert "1,200 lines could not be written" in found.text.partition("Requests denied")[0]


def test_what_a_log_without_allowed_requests_cannot_show_is_said() -> None:
    entries = [begin(allowed_share=0.0), denied(SLOW, "/", delay=2.0), end(allowed=1_000)]
    found = page_of(entries)
    assert tiles(found)[1] == "1,000 Requests allowed"
    assert "Of the allowed requests, 0 are in the log, and counted below." in found.text
    assert found.tables["crawls"][1][1:] == ["1", "1,000"]
    assert "gaps cannot be measured" in found.text
    assert found.tables["hosts"][0] == ["Site", "Denied"]
    assert found.all("article") == []


def test_no_figure_stands_where_nothing_was_logged_or_counted() -> None:
    found = page_of([begin(allowed_share=0.0), denied(SLOW, "/")])
    assert "Requests allowed not in the log" in found.text
    assert found.tables["crawls"][1][1:] == ["1", "not logged"]


def test_what_was_counted_is_a_least_while_another_crawl_runs() -> None:
    entries = [begin(allowed_share=0.0), end(allowed=70), begin("b", allowed_share=0.0)]
    assert "Requests allowed at least 70" in page_of(entries).text


def test_a_crawl_that_goes_on_in_another_file_is_one() -> None:
    again = begin(continues={"n": 1, "hash": "ab" * 32, "lines": 2})
    found = page_of([begin(), allowed(SLOW, "/"), again, allowed(SLOW, "/"), end(allowed=2)])
    assert len(found.tables["crawls"]) == 2


def test_what_the_chain_does_not_prove_is_said(sample: Page) -> None:
    assert "all of them are right. Each crawl counted its lines, and none is missing" in sample.text
    _, _, words = sample.text.partition("What this does not prove.")
    assert "do not show that nothing was left out" in words
    assert "whoever held the file can have written all of it anew" in words


def test_of_a_log_with_a_sample_of_allowed_requests_gaps_of_other_crawls_are_shown() -> None:
    sent = [allowed(SLOW, "/", at, delay=2.0) for at in (0, 2)]
    found = page_of([begin(), *sent, begin("b", allowed_share=0.1)])
    assert "Not measured: 1 crawl whose log" in found.text
    assert "The one gap is not shorter than the delay" in found.text


def test_gaps_that_are_far_longer_than_the_delay_have_a_bar() -> None:
    found = page_of([begin(), *(allowed(SLOW, "/", at, delay=2.0) for at in (0, 500))])
    assert "Gaps 1 Too short 0 Shortest 500 s Median 500 s" in found.text
    assert len([each for each in found.all("rect") if each["class"] == "kept"]) == 1


def test_an_asked_delay_that_is_not_kept_is_named() -> None:
    sent = [allowed(SLOW, "/", at, delay=60.0) for at in (0, 61)]
    found = page_of([begin(), read(SLOW, delay=60.0, delay_asked=120.0), *sent])
    assert "Delay: 60 s (its robots.txt last asked for 120 s)" in found.text
