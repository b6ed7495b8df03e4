"""What a report leaves out of a long log is summed up, and said."""

from __future__ import annotations

from scrapy_robots_plus.audit.entries import Entry
from scrapy_robots_plus.audit.report import RULES, SITES
from scrapy_robots_plus.audit.report.html import FIRST

from .pages import page_of
from .sample_log import SHOP, allowed, begin, denied, read


def slow_hosts(count: int) -> list[Entry]:
    hosts = [f"https://slow{number}.example" for number in range(count)]
    return [allowed(host, "/", at, delay=2.0) for host in hosts for at in (0, 1)]


def test_of_very_many_changes_the_latest_are_listed() -> None:
    changes = [read(f"https://site{n}.example", n, changed=True, sha256=None) for n in range(130)]
    found = page_of([begin(), *changes])
    assert ["Changes in all", "130"] in found.tables["files"]
    listed = [row[0] for row in found.tables["files"] if "became no rules" in row[0]]
    assert len(listed) == 100
    assert listed[-1].startswith("https://site129.example")
    assert "75 more changes" in found.text


def test_of_very_many_failures_most_are_summed_up() -> None:
    failed = [
        read(
            f"https://site{number}.example", number, failure=f"cause {number}", access="unreachable"
        )
        for number in range(130)
    ]
    found = page_of([begin(), *failed])
    assert len(found.tables["files"]) == 1 + FIRST + 1
    assert found.tables["files"][-1] == ["All", "", "", "130"]
    many = [
        read(f"https://site{number}.example", number, failure="503", access="unreachable")
        for number in range(1_000)
    ]
    found = page_of([begin(), *many])
    assert "the robots.txt of 1,000 sites could not be read" in found.sentence
    (cause,) = (row for row in found.tables["files"] if row[0].startswith("The server answered"))
    assert cause[2:] == ["1,000", "1,000"]


def test_what_does_not_fit_is_summed_up_so_that_the_sums_are_right() -> None:
    hosts = [f"https://site{number}.example" for number in range(SITES + 20)]
    found = page_of([begin(), *(denied(host, f"/{n}") for host in hosts for n in range(2))])
    rows = [row for row in found.tables["hosts"] if row[0] != "Site"]
    assert len(rows) == SITES + 1
    assert [f"All {len(hosts)}", "", f"{2 * len(hosts):,}", "0", "", "", ""] in rows
    *rows, last = [row for row in found.tables["reasons"] if len(row) == 2][1:]
    assert (len(rows), last) == (RULES, ["All rules", f"{2 * len(hosts):,}"])


def test_with_very_many_hosts_all_counts_are_exact() -> None:
    many = (denied(f"https://site{number}.example", "/") for number in range(2_000))
    often = [denied(SHOP, "/private/") for _ in range(50)]
    found = page_of([begin(), *many, *often])
    assert found.sentence.startswith("2,050 of 2,050 requests denied, on 2,001 sites;")
    _, first, *rows = found.tables["hosts"]
    assert first[0].startswith(SHOP)
    assert first[2] == "50"
    assert ["All 2,001", "", "2,050", "0", "", "", ""] in rows


def test_a_number_without_bound_of_reasons_answers_and_crawls_is_summed_up() -> None:
    entries: list[Entry] = []
    for number in range(500):
        crawl = f"crawl {number}"
        entries.append(begin(crawl, agent="a" * 1_000))
        entries.append(denied(SHOP, "/", reason=f"reason {number}", crawl=crawl))
        entries.append(read(SHOP, status=f"{number}", crawl=crawl))
    found = page_of(entries)
    assert ["All", "500", "0"] in found.tables["reasons"]
    assert ["All", "", "", "500"] in found.tables["files"]
    assert ["All 500", "500", "0"] in found.tables["crawls"]


def test_gaps_that_are_too_short_are_said() -> None:
    audit = page_of([begin(mode="observe"), *slow_hosts(1)])
    assert "1 of 1 gap between requests shorter than the delay" in audit.sentence
    many = page_of([begin(), *slow_hosts(1_000)])
    assert "1,000 of 1,000 gaps between requests shorter than the delay" in many.sentence
