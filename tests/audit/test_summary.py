"""What is said of a log in sum is what its entries say."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.audit.entries import (
    CrawlEntry,
    EndEntry,
    Entry,
    FileEntry,
    VerdictEntry,
)
from scrapy_robots_plus.audit.summary import Rule, Summary

from . import sample_log
from .entries import any_entry
from .sample_log import BEGIN, NEWS, PARTNER, SHOP, SLOW, allowed, begin, denied, end, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_robots_plus.audit.rows import Gaps


def summary_of(entries: Iterable[Entry]) -> Summary:
    summary = Summary()
    for entry in entries:
        summary.add(entry)
    return summary


@given(st.lists(any_entry, max_size=20))
def test_totals_are_those_of_the_entries(entries: list[Entry]) -> None:
    summary = summary_of(entries)
    totals = summary.totals
    verdicts = [entry for entry in entries if isinstance(entry, VerdictEntry)]
    files = [entry for entry in entries if isinstance(entry, FileEntry)]
    began: set[str] = set()
    crawls = 0
    for entry in entries:
        if isinstance(entry, CrawlEntry):
            crawls += entry.continues is None or entry.crawl not in began
            began.add(entry.crawl)
    ends = [entry for entry in entries if isinstance(entry, EndEntry)]
    assert totals.count == len(entries)
    assert totals.allowed == sum(entry.allowed for entry in verdicts)
    assert totals.denied == sum(not entry.allowed for entry in verdicts)
    assert totals.changes == sum(entry.changed for entry in files)
    assert (totals.files, totals.crawls, totals.ended) == (len(files), crawls, len(ends))
    assert totals.lost == sum(entry.lost for entry in ends)
    by_reason = summary.reasons.ranked(lambda row: row.count)
    assert {name: row.count for name, row in by_reason} == Counter(v.reason for v in verdicts)
    hosts = summary.hosts.ranked(lambda row: row.count)
    assert sum(host.denied for _, host in hosts) == totals.denied


def test_the_sample() -> None:
    summary = summary_of(sample_log.entries())
    totals = summary.totals
    found = (totals.denied, totals.allowed, len(summary.hosts), totals.failures, totals.changes)
    assert found == tuple(sample_log.FIGURES.values())
    (shop, news) = summary.rules.ranked(lambda row: row.count)[:2]
    assert shop[0] == Rule(f"{SHOP}/robots.txt", 3, "Disallow: /private/")
    assert (shop[1].denied, shop[1].example) == (40, f"{SHOP}/private/0")
    assert (news[1].denied, news[0].text) == (12, "Disallow: /search")
    assert summary.changes[0].origin == NEWS
    statuses = dict(summary.statuses.ranked(lambda row: row.count))
    assert statuses["503", "unreachable"].count == 5
    ((fields, override),) = summary.overrides.ranked(lambda row: row.count)
    assert (override.allowed, override.example) == (7, f"{PARTNER}/private/0")
    assert dict(fields) == {"obey": "False", "reason": sample_log.CONTRACT}


def gaps(entries: Sequence[Entry], origin: str = SLOW) -> list[Gaps]:
    hosts = dict(summary_of(entries).hosts.ranked(lambda row: row.count))
    return list(hosts[origin].gaps.values())


def test_gaps_are_those_between_the_requests_of_a_crawl_to_a_host() -> None:
    one, other = begin("one"), begin("other")
    entries: list[Entry] = [one, other]
    for at, crawl, origin in [(0, "one", SLOW), (1, "other", SLOW), (2, "one", SHOP)]:
        entries.append(allowed(origin, "/", at, crawl=crawl, delay=2.0))
    assert gaps(entries) == []
    (found,) = gaps([*entries, allowed(SLOW, "/b", 2.5, crawl="one", delay=2.0)])
    assert (found.count, found.shortest) == (1, 2.5)


def test_a_delay_that_changes_has_gaps_of_its_own() -> None:
    sent = [allowed(SLOW, "/", at, delay=delay) for at, delay in [(0, 1.0), (1, 1.0), (6, 5.0)]]
    found = gaps([begin(), *sent])
    assert [(each.delay, each.count, each.too_short) for each in found] == [(1, 1, 0), (5, 1, 0)]


def test_a_request_without_delay_and_a_denied_one_have_no_gap() -> None:
    assert gaps([begin(), allowed(SLOW, "/", 0), allowed(SLOW, "/", 1)]) == []
    sent = allowed(SLOW, "/", 0, delay=2.0)
    assert gaps([begin(), sent, denied(SLOW, "/", 1, delay=2.0)]) == []


def test_where_not_each_allowed_request_is_logged_no_gap_is_measured() -> None:
    sent = [allowed(SLOW, "/", at, delay=1.0) for at in range(3)]
    assert gaps([begin(allowed_share=0.5), *sent]) == []
    assert gaps(sent) == []  # the begin of the log is missing
    assert gaps([begin(), *sent])[0].count == 2


def test_a_clock_that_was_set_back_makes_no_gap() -> None:
    sent = [allowed(SLOW, "/", at, delay=1.0) for at in (3_600, 3_601, 0, 1.5)]
    (found,) = gaps([begin(), *sent])
    assert (found.shortest, found.count) == (1, 2)


def test_what_a_crawl_counted_and_the_log_does_not_hold_is_known() -> None:
    entries = [begin(allowed_share=0.0), denied(SHOP, "/"), end(allowed=1_000, denied=1)]
    totals = summary_of(entries).totals
    assert (totals.allowed, totals.allowed_not_logged) == (0, 1_000)
    assert totals.sampling_crawls == 1


def test_the_audit_mode_is_counted() -> None:
    entries = [
        begin(mode="observe"),
        denied(SHOP, "/", mode="observe"),
        begin("b"),
        denied(SHOP, "/"),
    ]
    totals = summary_of(entries).totals
    assert (totals.audit_crawls, totals.crawls, totals.not_enforced) == (1, 2, 1)


def test_a_crawl_without_its_begin_or_its_end_is_there() -> None:
    (_, crawl), *_ = summary_of([denied(SHOP, "/")]).crawls.ranked(lambda row: row.count)
    assert (crawl.spider, crawl.ended, crawl.denied, crawl.first) == ("", None, 1, BEGIN)


def test_an_outage_of_a_readable_file_is_a_failure() -> None:
    summary = summary_of([read(SHOP, failure="503"), read(SHOP)])
    assert summary.totals.failures == 1
    assert [key for key, _ in summary.failures.ranked(lambda row: row.count)] == [(SHOP, "503")]
