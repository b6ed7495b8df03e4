"""The report: its figures are the log's, and nothing from a log is obeyed by a browser."""

from __future__ import annotations

import base64
import hashlib
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.audit.fields import moment_of
from scrapy_robots_plus.audit.report.pace import PICTURES
from scrapy_robots_plus.audit.report.page import Log, page
from scrapy_robots_plus.audit.report.requests import HOSTS, RULES
from scrapy_robots_plus.audit.report.style import STYLE
from scrapy_robots_plus.audit.summary.summary import Summary

from . import sample_log
from .entries import any_entry
from .pages import Page
from .sample_log import BEGIN, SHOP, SLOW, allowed, begin, denied, end, read

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_robots_plus.audit.entries import Entry

ELEMENT = re.compile(
    "html|head|meta|title|link|style|body|header|main|section|nav|a|h[1-3]|p|b|div|span|ul|li|dl|dt"
    "|dd|table|thead|tbody|tfoot|tr|th|td|br|code|time|article|figure|figcaption|svg|rect|line"
)
ATTRIBUTE = re.compile(
    "lang|charset|http-equiv|content|name|rel|href|id|class|aria-label|aria-hidden|role|scope|dir"
    "|datetime|viewbox|preserveaspectratio|x|y|[xy][12]|width|height"
)


def text_of(entries: Iterable[Entry], *damages: str) -> str:
    summary = Summary()
    for entry in entries:
        summary.add(entry)
    lines = summary.totals.entries
    log = Log("audit.jsonl", lines, damages, len(damages), "5f" * 32, BEGIN, "maker 1.0")
    return page(summary, log)


def page_of(entries: Iterable[Entry], *damages: str) -> Page:
    return Page(text_of(entries, *damages))


@pytest.fixture(scope="module")
def sample() -> Page:
    return page_of(sample_log.entries())


def test_the_figures_are_those_of_the_log(sample: Page) -> None:
    assert _tiles(sample) == [
        "58 Requests denied",
        "148 Requests allowed",
        "7 Hosts",
        "5 robots.txt failures",
        "1 robots.txt changes",
    ]


def _tiles(of: Page) -> list[str]:
    names = "Requests denied|Requests allowed|Hosts|robots.txt failures|robots.txt changes"
    found = re.findall(rf"({names}) ([\d,]+)", of.text)
    return [f"{number} {name}" for name, number in found[:5]]


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


def assert_harmless(found: Page) -> None:
    for tag, attributes in found.elements:
        assert ELEMENT.fullmatch(tag)
        assert all(map(ATTRIBUTE.fullmatch, attributes))
    assert {(each["href"] or "")[0] for each in found.all("a")} == {"#"}
    assert [each["href"] for each in found.all("link")] == ["data:,"]


def test_text_from_a_site_is_shown_and_not_obeyed(sample: Page) -> None:
    assert_harmless(sample)
    shown = r"/<script>alert('x')</script>?a=\u202egnp.exe\x00\x1b[31m&b=" + "\"'></style></title>"
    assert f"Disallow: {shown}\\ud800" in sample.text
    assert len(max(sample.texts, key=len)) < 1_000


@given(st.lists(any_entry, max_size=20))
def test_whatever_a_log_holds_a_page_is_made_of_it_in_ascii(entries: list[Entry]) -> None:
    text = text_of(entries)
    assert text.isascii()
    assert_harmless(Page(text))


@given(st.text())
def test_any_text_is_shown_as_it_is_or_escaped(text: str) -> None:
    shown = page_of([begin(), denied(SHOP, "/", rule=text)])
    assert_harmless(shown)
    visible = "".join(each for each in text[:300] if each.isprintable()).split()
    words = shown.tables["rules"][1][0]
    assert all(part in words for word in visible for part in (word[:1], word[-1:]))


def test_nothing_else_may_be_loaded_or_run(sample: Page) -> None:
    (policy,) = (each["content"] for each in sample.all("meta") if "http-equiv" in each)
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:"
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def test_the_audit_mode_is_said_in_the_heading() -> None:
    found = page_of([begin(mode="audit"), denied(SHOP, "/", mode="audit"), end()])
    assert "robots.txt report, audit mode" in found.text
    assert "nothing was blocked or delayed there. 1 denial not enforced." in found.text
    both = page_of([begin(mode="audit"), begin("b"), denied(SHOP, "/", mode="audit")])
    assert "1 of 2 crawls ran in audit mode" in both.text
    assert "Audit mode" not in page_of(sample_log.entries()).text


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
    assert "counted 1,000 more" in found.text
    assert "gaps cannot be measured" in found.text
    assert found.tables["hosts"][0] == ["Host", "Denied"]
    assert found.all("article") == []


def test_of_a_log_with_a_sample_of_allowed_requests_gaps_of_other_crawls_are_shown() -> None:
    sent = [allowed(SLOW, "/", at, delay=2.0) for at in (0, 2)]
    found = page_of([begin(), *sent, begin("b", allowed_share=0.1)])
    assert "Not measured: 1 crawl whose log" in found.text
    assert "The one gap is not shorter than the delay" in found.text


def slow_hosts(count: int) -> list[Entry]:
    hosts = [f"https://slow{number}.example" for number in range(count)]
    return [allowed(host, "/", at, delay=2.0) for host in hosts for at in (0, 1)]


def test_of_very_many_slow_hosts_some_are_drawn_and_all_are_counted() -> None:
    found = page_of([begin(), *slow_hosts(PICTURES + 5)])
    assert len(found.all("article")) == PICTURES
    assert f"{PICTURES + 5} of {PICTURES + 5} gaps are shorter than the delay" in found.text
    assert "Not shown: 5 more hosts, 5 of 5 gaps are too short." in found.text


def test_what_makes_gaps_longer_or_shorter_than_they_should_be_is_said() -> None:
    audit = page_of([begin(mode="audit"), *slow_hosts(1)])
    assert "Crawls in audit mode do not wait" in audit.text
    assert "The one gap is shorter than the delay" in audit.text
    lost = page_of([begin(), *slow_hosts(1), end(lost=3)])
    assert "Lines are missing in the log, so that some gaps look longer" in lost.text
    many = page_of([begin(), *slow_hosts(3_000)])
    assert "Not all hosts are followed: there are too many." in many.text


def test_gaps_that_are_far_longer_than_the_delay_have_a_bar() -> None:
    found = page_of([begin(), *(allowed(SLOW, "/", at, delay=2.0) for at in (0, 500))])
    assert "Gaps 1 Too short 0 Shortest 500 s Median 500 s" in found.text
    assert len([each for each in found.all("rect") if each["class"] == "kept"]) == 1


def test_of_very_many_changes_the_latest_are_listed() -> None:
    changes = [read(f"https://site{n}.example", n, changed=True, sha256=None) for n in range(130)]
    found = page_of([begin(), *changes])
    assert "The latest 100 of 130 changes." in found.text
    listed = [row[0] for row in found.tables["files"] if "became no rules" in row[0]]
    assert len(listed) == 100
    assert listed[-1].startswith("https://site129.example")


def test_of_very_many_failures_most_are_summed_up() -> None:
    failed = [
        read(f"https://site{number}.example", number, failure="503", access="unreachable")
        for number in range(130)
    ]
    found = page_of([begin(), *failed])
    assert ["All others", "30"] in found.tables["files"]


def test_an_asked_delay_that_is_not_kept_is_named() -> None:
    sent = [allowed(SLOW, "/", at, delay=60.0) for at in (0, 61)]
    found = page_of([begin(), read(SLOW, delay=60.0, delay_asked=120.0), *sent])
    assert "Delay: 60 s (its robots.txt last asked for 120 s)" in found.text


def test_an_empty_log() -> None:
    found = page_of([])
    assert "0 Requests denied" in _tiles(found)
    assert "The log holds no crawl." in found.text
    assert_harmless(found)


def test_what_does_not_fit_is_summed_up_so_that_the_sums_are_right() -> None:
    hosts = [f"https://site{number}.example" for number in range(HOSTS + 20)]
    found = page_of([begin(), *(denied(host, f"/{n}") for host in hosts for n in range(2))])
    *rows, rest = found.tables["hosts"][1:]
    assert (len(rows), rest) == (HOSTS, ["20 more hosts", "40"])
    *rows, rest = found.tables["rules"][1:]
    assert (len(rows), rest[0]) == (RULES, "All other rules")
    assert sum(int(row[1]) for row in rows) + int(rest[1]) == 2 * len(hosts)


def test_with_very_many_hosts_totals_are_exact_and_a_count_says_if_it_is_not() -> None:
    many = (denied(f"https://site{number}.example", "/") for number in range(5_000))
    often = [denied(SHOP, "/private/") for _ in range(50)]
    found = page_of([begin(), *many, *often])
    assert "5,050 Requests denied" in _tiles(found)
    *rows, rest = found.tables["hosts"][1:]
    assert rows[0][0].startswith(SHOP)
    assert rows[0][1] == "at least 50"
    assert rest[0] == "All other hosts"
    counts = [int(row[1].removeprefix("at least ").replace(",", "")) for row in (*rows, rest)]
    assert sum(counts) == 5_050
    assert "There are more hosts than are followed one by one." in found.text


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
def test_a_time_at_the_end_of_all_times(moment: str) -> None:
    at = moment_of(moment) - BEGIN
    entries = [denied(SHOP, "/", at), allowed(SLOW, "/", sent=BEGIN), read(SHOP, at, changed=True)]
    assert moment[:10] in page_of(entries).text


def test_numbers_that_no_crawl_can_have_counted() -> None:
    huge = 10**4_299
    entries = [begin(), denied(SHOP, "/", line=huge), *(end(allowed=huge, lost=huge),) * 2, end()]
    assert len(text_of(entries)) < 100_000


@pytest.mark.parametrize("depth", [10, 500, 900, 990])
def test_an_override_that_is_nested_deeply(depth: int) -> None:
    nested: object = "x"
    for _ in range(depth):
        nested = [nested]
    found = page_of([denied(SHOP, "/", override={"reason": "Deep", "obey": nested})])
    assert found.tables["overrides"][1][0].startswith("Deep obey: ")


def test_a_number_without_bound_of_reasons_answers_and_crawls_is_summed_up() -> None:
    entries: list[Entry] = []
    for number in range(500):
        crawl = f"crawl {number}"
        entries.append(begin(crawl, agent="a" * 1_000))
        entries.append(denied(SHOP, "/", reason=f"reason {number}", crawl=crawl))
        entries.append(read(SHOP, status=f"{number}", crawl=crawl))
    found = page_of(entries)
    assert found.tables["reasons"][-1] == ["All", "500"]
    assert found.tables["files"][-1][-1] == "500"
    *rows, rest = found.tables["crawls"][1:]
    assert rest[0] == "Others of 500 crawls"
    assert sum(int(row[1]) for row in (*rows, rest)) == 500
