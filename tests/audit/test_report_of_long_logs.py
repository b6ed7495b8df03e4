"""What a report leaves out of a long log is summed up, and said."""

from __future__ import annotations

from scrapy_robots_plus.audit.entries import Entry
from scrapy_robots_plus.audit.report.sections.pace import PICTURES
from scrapy_robots_plus.audit.report.sections.requests import HOSTS, RULES

from .pages import page_of, tiles
from .sample_log import SHOP, allowed, begin, denied, end, read


def slow_hosts(count: int) -> list[Entry]:
    hosts = [f"https://slow{number}.example" for number in range(count)]
    return [allowed(host, "/", at, delay=2.0) for host in hosts for at in (0, 1)]


def test_of_very_many_slow_hosts_some_are_drawn_and_all_are_counted() -> None:
    found = page_of([begin(), *slow_hosts(PICTURES + 5)])
    assert len(found.all("article")) == PICTURES
    assert f"{PICTURES + 5} of {PICTURES + 5} gaps are shorter than the delay" in found.text
    assert "Not shown: 5 more hosts, 5 of 5 gaps are too short." in found.text


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


def test_what_does_not_fit_is_summed_up_so_that_the_sums_are_right() -> None:
    hosts = [f"https://site{number}.example" for number in range(HOSTS + 20)]
    found = page_of([begin(), *(denied(host, f"/{n}") for host in hosts for n in range(2))])
    *rows, rest = found.tables["hosts"][1:]
    assert (len(rows), rest) == (HOSTS, ["20 more sites", "40"])
    *rows, rest = found.tables["rules"][1:]
    assert (len(rows), rest[0]) == (RULES, "All other rules")
    assert sum(int(row[1]) for row in rows) + int(rest[1]) == 2 * len(hosts)


def test_with_very_many_hosts_totals_are_exact_and_a_count_says_if_it_is_not() -> None:
    many = (denied(f"https://site{number}.example", "/") for number in range(5_000))
    often = [denied(SHOP, "/private/") for _ in range(50)]
    found = page_of([begin(), *many, *often])
    assert "5,050 Requests denied" in tiles(found)
    *rows, rest = found.tables["hosts"][1:]
    assert rows[0][0].startswith(SHOP)
    assert rows[0][1] == "at least 50"
    assert rest[0] == "All other sites"
    counts = [int(row[1].removeprefix("at least ").replace(",", "")) for row in (*rows, rest)]
    assert sum(counts) == 5_050
    assert "There are more sites than are followed one by one." in found.text


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


def test_what_makes_gaps_longer_or_shorter_than_they_should_be_is_said() -> None:
    audit = page_of([begin(mode="observe"), *slow_hosts(1)])
    assert "Crawls in observe mode do not wait" in audit.text
    assert "The one gap is shorter than the delay" in audit.text
    lost = page_of([begin(), *slow_hosts(1), end(lost=3)])
    assert "Lines are missing in the log, so that some gaps look longer" in lost.text
    many = page_of([begin(), *slow_hosts(3_000)])
    assert "Not all hosts are followed: there are too many." in many.text
