"""The report: its figures are the log's, and it says what it cannot show."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from scrapy_robots_plus.audit.entries import Entry
from scrapy_robots_plus.audit.report.html import FIRST

from . import sample_log
from .pages import Page, page_of, text_of
from .sample_log import BROKEN, NEWS, SHOP, SLOW, allowed, begin, denied, end, read


@pytest.fixture(scope="module")
def sample() -> Page:
    return page_of(sample_log.entries())


def test_first_comes_a_sentence_with_the_figures_of_the_log(sample: Page) -> None:
    assert sample.sentence == (
        "58 of 206 requests denied, on 4 sites; the robots.txt of 1 site could not be read; "
        "1 of 99 gaps between requests shorter than the delay."
    )


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([], "0 of 0 requests denied; the log does not tell whether delays were kept."),
        ([begin(), denied(SHOP, "/")], "1 of 1 request denied, on 1 site; no delay had to be"),
        (
            [begin(), *(allowed(SLOW, "/", at, delay=2.0) for at in (0, 2, 4))],
            "0 of 3 requests denied; every delay was kept.",
        ),
        (
            [begin(mode="observe"), denied(SHOP, "/", mode="observe"), end()],
            "1 of 1 request denied, on 1 site; no delay",
        ),
        ([begin(allowed_share=0.0), denied(SHOP, "/")], "1 request denied, on 1 site; the"),
    ],
)
def test_the_sentence_says_no_more_than_the_log_does(entries: list[Entry], words: str) -> None:
    assert page_of(entries).sentence.startswith(words)


def test_a_title_of_ones_own() -> None:
    found = Page(text_of([begin()], title="Crawls of November"))
    assert "Crawls of November prices" in found.text
    assert "robots.txt report" not in found.text


def test_sites_in_one_row_each_with_their_delay(sample: Page) -> None:
    hosts = sample.figures("hosts")
    assert sample.tables["hosts"][0] == [
        "Site",
        "robots.txt",
        "Denied",
        "Allowed",
        "Delay asked",
        "kept",
        "Smallest gap",
    ]
    assert hosts[SHOP] == ["200", "40", "40", "", "", ""]
    assert hosts[SLOW] == ["200", "0", "100", "2 s", "2 s", "1.80 s"]


def test_a_gap_that_is_too_short_stands_out(sample: Page) -> None:
    assert [each for each in sample.all("b") if each.get("class") == "short"]
    kept = page_of([begin(), *(allowed(SLOW, "/", at, delay=2.0) for at in (0, 2))])
    assert not [each for each in kept.all("b") if each.get("class") == "short"]


def test_the_first_sites_are_shown_and_the_others_folded() -> None:
    few = [denied(f"https://site{number}.example", "/") for number in range(FIRST)]
    assert "more site" not in page_of([begin(), *few]).text
    found = page_of([begin(), *few, denied(SHOP, "/"), denied(NEWS, "/")])
    assert "2 more sites" in found.text
    assert SHOP in found.figures("hosts")


def test_reasons_with_a_sum(sample: Page) -> None:
    assert sample.tables["reasons"][:6] == [
        ["What decided", "Denied", "Allowed"],
        ["A rule of the robots.txt", "53", "0"],
        ["The robots.txt cannot be read", "5", "0"],
        ["No rule of the robots.txt matches", "0", "147"],
        ["The robots.txt is unavailable", "0", "1"],
        ["All", "58", "148"],
    ]


def test_rules_with_their_line_their_file_and_an_example(sample: Page) -> None:
    rules = [row for row in sample.tables["reasons"] if "/private/" in row[0]]
    where = f"line 3 of {SHOP}/robots.txt ; for example {SHOP}/private/0"
    assert rules == [[f"Disallow: /private/ {where}", "40"]]


def test_failures_changes_overrides_and_crawls(sample: Page) -> None:
    answer = ["The server answered 503 (Service Unavailable)", "It cannot be read", "1", "5"]
    assert answer in sample.tables["files"]
    assert sample.figures("hosts")[BROKEN][0] == "503"
    ((override, *counts),) = sample.tables["overrides"][1:]
    assert override.startswith(f"{sample_log.CONTRACT} obey: False")
    assert counts == ["0", "7"]
    (crawl, *counts), (every, *sums) = sample.tables["crawls"][1:]
    assert crawl.startswith(
        "prices 2026-11-20 18:58:00 to 2026-11-20 19:24:40 UTC, ended: finished"
    )
    assert (every, counts, sums) == ("All 1", ["58", "148"], ["58", "148"])


def test_failures_are_grouped_by_cause_in_plain_words() -> None:
    detail = "[<twisted.python.failure.Failure twisted.internet.error.ConnectionLost: x>]"
    failed: list[Entry] = [
        read(f"https://site{number}.example", access="unreachable", failure=failure, detail=detail)
        for number, failure in enumerate(["timeout"] * 7 + ["dns", "599", "a new one"])
    ]
    found = page_of([begin(), *failed])
    assert "twisted" not in found.text
    cells = found.tables["files"]
    heads = [
        "No answer in time",
        "The host name has no address",
        "The server answered 599",
        "A new one",
    ]
    meaning, counts = "It cannot be read", ["7", "1", "1", "1"]
    rows = [[head, meaning, count, count] for head, count in zip(heads, counts, strict=True)]
    assert cells == [["Answer", "Meaning", "Sites", "Times"], *rows, ["All", "", "", "10"]]


def test_each_crawl_has_its_version_and_settings(sample: Page) -> None:
    crawl = sample.tables["crawls"][1][0]
    assert "crawl 1a2b3c4d, scrapy-robots-plus 1.0" in crawl
    for setting in (
        "obey = True",
        "agent = examplebot",
        "dialect = RFC9309",
        "crawl_delay_max = 60.0",
        "allowed_share = 1.0",
    ):
        assert setting in crawl
    assert "time = " not in crawl  # that is no setting


def test_a_long_setting_is_shown_to_its_end() -> None:
    policy = {str(status): "unavailable" for status in range(400, 450)}
    crawl = page_of([begin(status_policy=policy), end()]).tables["crawls"][1][0]
    assert f"status_policy = {policy}" in crawl


def test_it_says_what_it_was_made_from(sample: Page) -> None:
    made = r"Made from audit\.jsonl , 218 lines, on 20[0-9: -]{17} UTC by scrapy-robots-plus \d"
    assert re.search(made, sample.text)
    assert f"Hash of the last line: {'5f' * 32}" in sample.text


def test_headings_do_not_skip_a_level_and_each_cell_has_a_head(sample: Page) -> None:
    levels = [int(tag[1]) for tag, _ in sample.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert all(each.get("scope") in ("col", "row") for each in sample.all("th"))


def test_the_contents_lead_to_each_section(sample: Page) -> None:
    links = [(each["href"] or "").removeprefix("#") for each in sample.all("a")]
    sections = [each["id"] for each in sample.all("section")]
    assert sections == links


def test_the_observe_mode_is_said_on_top() -> None:
    found = page_of([begin(mode="observe"), denied(SHOP, "/", mode="observe"), end()])
    assert "Observe mode in 1 of 1 crawl" in found.text
    assert "nothing was blocked or delayed there. Not enforced: 1." in found.text
    both = page_of([begin(mode="observe"), begin("b"), denied(SHOP, "/", mode="observe")])
    assert "Observe mode in 1 of 2 crawls" in both.text
    assert "Observe mode" not in page_of(sample_log.entries()).text


def test_a_damaged_log_is_said_on_top() -> None:
    found = page_of([begin(), end()], "line 3: changed: its hash does not match")
    head, _, _ = found.text.partition("What decided")
    assert "This log is incomplete or damaged" in head
    assert "line 3: changed: its hash does not match" in head


def test_lines_that_could_not_be_written_are_said_on_top() -> None:
    found = page_of([begin(), end(lost=1_200)])
    assert "1,200 lines could not be written" in found.text.partition("What decided")[0]


def test_what_a_log_without_allowed_requests_cannot_show_is_said() -> None:
    entries = [begin(allowed_share=0.0), denied(SLOW, "/", delay=2.0), end(allowed=1_000)]
    found = page_of(entries)
    assert found.sentence.startswith("1 of 1,001 requests denied, on 1 site; the log does not")
    assert "Of the allowed requests, 0 are in the log, and counted here." in found.text
    assert found.tables["crawls"][1][1:] == ["1", "1,000"]


def test_no_figure_stands_where_nothing_was_logged_or_counted() -> None:
    found = page_of([begin(allowed_share=0.0), denied(SLOW, "/")])
    assert found.sentence.startswith("1 request denied")
    assert found.tables["crawls"][1][1:] == ["1", "not logged"]


def test_a_crawl_that_goes_on_in_another_file_is_one() -> None:
    found = page_of([begin(), allowed(SLOW, "/"), begin(), allowed(SLOW, "/"), end(allowed=2)])
    assert found.tables["crawls"][2:] == [["All 1", "0", "2"]]


def test_what_the_chain_does_not_prove_is_said(sample: Page) -> None:
    assert "all of them are right. None is missing, and each crawl has ended" in sample.text
    _, _, words = sample.text.partition("What this does not prove.")
    assert "do not show that nothing was left out" in words
    assert "whoever held the file can have written all of it anew" in words


def test_of_a_log_with_a_sample_of_allowed_requests_gaps_of_other_crawls_are_shown() -> None:
    sent = [allowed(SLOW, "/", at, delay=2.0) for at in (0, 2)]
    found = page_of([begin(), *sent, begin("b", allowed_share=0.1)])
    assert "in a crawl whose log holds all allowed requests" in found.text
    assert found.figures("hosts")[SLOW][-1] == "2.00 s"


def test_an_asked_delay_that_is_not_kept_is_named() -> None:
    sent = [allowed(SLOW, "/", at, delay=60.0) for at in (0, 61)]
    found = page_of([begin(), read(SLOW, delay_asked=120.0), *sent])
    assert found.figures("hosts")[SLOW][3:] == ["120 s", "60 s", "61.00 s"]
