"""What is said of a log in sum is what its entries say."""

from __future__ import annotations

import gc
import json
import sqlite3
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.audit import summary as module
from scrapy_robots_plus.audit.entries import (
    CrawlEntry,
    EndEntry,
    Entry,
    FileEntry,
    VerdictEntry,
)
from scrapy_robots_plus.audit.summary import Summary
from scrapy_robots_plus.protocol.printable import printable

from . import sample_log
from .entries import any_entry
from .sample_log import BEGIN, NEWS, PARTNER, SHOP, SLOW, allowed, begin, denied, end, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import SimpleNamespace


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
            crawls += entry.crawl not in began
            began.add(entry.crawl)
    ends = [entry for entry in entries if isinstance(entry, EndEntry)]
    assert totals.lines == len(entries)
    assert totals.allowed == sum(entry.allowed for entry in verdicts)
    assert totals.denied == sum(not entry.allowed for entry in verdicts)
    assert totals.changes == sum(entry.changed for entry in files)
    assert (totals.files, totals.crawls, totals.ended) == (len(files), crawls, len(ends))
    assert totals.lost == sum(entry.lost for entry in ends)
    by_reason = {each.reason: each.denied + each.allowed for each in summary.rows("reasons")}
    assert by_reason == Counter(printable(each.reason) for each in verdicts)
    assert sum(site.requests_denied for site in summary.rows("sites")) == totals.denied
    assert sum(crawl.denied for crawl in summary.rows("crawls")) == totals.denied


def test_counts_are_exact_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROWS", 7)
    hosts = [f"https://{number}.example" for number in range(50) for _ in range(number)]
    Random(5).shuffle(hosts)
    summary = summary_of(
        [begin(), *(denied(host, "/", at) for at, host in enumerate(hosts)), end()]
    )
    found = {site.origin: site.requests_denied for site in summary.rows("sites")}
    assert found == Counter(hosts)
    (rule,) = (rule for rule in summary.rows("rules") if rule.robots_url.startswith(hosts[0]))
    assert rule.denied == found[hosts[0]]
    assert next(summary.rows("sites")).origin == "https://49.example"


def test_of_equals_the_earliest_comes_first() -> None:
    summary = summary_of([denied(host, "/", at) for at, host in enumerate("bacba")])
    assert [site.origin for site in summary.rows("sites")] == ["b", "a", "c"]
    assert [rule.robots_url[0] for rule in summary.rows("rules")] == ["b", "a", "c"]


def test_the_sample() -> None:
    summary = summary_of(sample_log.entries())
    totals = summary.totals
    found = (totals.denied, totals.allowed, totals.origins, totals.failures, totals.changes)
    assert found == tuple(sample_log.FIGURES.values())
    shop, news = summary.rows("rules", 2)
    where = f"{SHOP}/robots.txt", 3, "Disallow: /private/"
    assert (shop.robots_url, shop.line, shop.rule) == where
    assert (shop.denied, shop.example) == (40, f"{SHOP}/private/0")
    assert (news.denied, news.rule) == (12, "Disallow: /search")
    assert [change.origin for change in summary.rows("changes")] == [NEWS]
    (unread,) = (each for each in summary.rows("answers") if each.answer == "503")
    assert (unread.access, unread.times) == ("unreachable", 5)
    (override,) = summary.rows("overrides")
    assert (override.allowed, override.example) == (7, f"{PARTNER}/private/0")
    assert json.loads(override.override) == {"obey": "False", "reason": sample_log.CONTRACT}


def gaps(entries: Sequence[Entry], origin: str = SLOW) -> list[SimpleNamespace]:
    """Of each delay: how many, how many are too short, and the shortest."""
    summary = summary_of(entries)
    found = [each for each in summary.rows("measured") if each.origin == origin]
    (site,) = (each for each in summary.rows("sites") if each.origin == origin)
    assert site.gaps == sum(each.gaps for each in found)
    assert site.gaps_too_short == sum(each.gaps_too_short for each in found)
    return found


def test_gaps_are_those_between_the_requests_of_a_crawl_to_a_host() -> None:
    one, other = begin("one"), begin("other")
    entries: list[Entry] = [one, other]
    for at, crawl, origin in [(0, "one", SLOW), (1, "other", SLOW), (2, "one", SHOP)]:
        entries.append(allowed(origin, "/", at, crawl=crawl, delay=2.0))
    assert gaps(entries) == []
    (found,) = gaps([*entries, allowed(SLOW, "/b", 2.5, crawl="one", delay=2.0)])
    assert (found.gaps, found.shortest) == (1, 2.5)


def test_a_delay_that_changes_has_gaps_of_its_own() -> None:
    sent = [allowed(SLOW, "/", at, delay=delay) for at, delay in [(0, 1.0), (1, 1.0), (6, 5.0)]]
    found = gaps([begin(), *sent])
    counts = [(each.delay, each.gaps, each.gaps_too_short) for each in found]
    assert counts == [(1, 1, 0), (5, 1, 0)]


def test_a_request_without_delay_and_a_denied_one_have_no_gap() -> None:
    assert gaps([begin(), allowed(SLOW, "/", 0), allowed(SLOW, "/", 1)]) == []
    sent = allowed(SLOW, "/", 0, delay=2.0)
    assert gaps([begin(), sent, denied(SLOW, "/", 1, delay=2.0)]) == []


def test_where_not_each_allowed_request_is_logged_no_gap_is_measured() -> None:
    sent = [allowed(SLOW, "/", at, delay=1.0) for at in range(3)]
    assert gaps([begin(allowed_share=0.5), *sent]) == []
    assert gaps(sent) == []  # the begin of the log is missing
    assert gaps([begin(), *sent])[0].gaps == 2


def test_a_clock_that_was_set_back_makes_no_gap() -> None:
    sent = [allowed(SLOW, "/", at, delay=1.0) for at in (3_600, 3_601, 0, 1.5)]
    (found,) = gaps([begin(), *sent])
    assert (found.shortest, found.gaps) == (1, 2)


def test_what_a_crawl_counted_and_the_log_does_not_hold_is_known() -> None:
    entries = [begin(allowed_share=0.0), denied(SHOP, "/"), end(allowed=1_000, denied=1)]
    totals = summary_of(entries).totals
    assert (totals.allowed, totals.allowed_not_logged) == (0, 1_000)
    assert totals.crawls - totals.full_crawls == 1
    not_judged = summary_of([*entries[:-1], end(allowed=1_000, dont_obey=7)]).totals
    assert not_judged.allowed_not_logged == 1_007


def test_of_a_part_without_all_denials_nothing_is_said_that_a_crawl_counted() -> None:
    ended = end(allowed=1_000, denied=501)
    summary = summary_of([begin(allowed_share=0.0), denied(SHOP, "/"), ended])
    totals = summary.totals
    assert (totals.denied, totals.allowed_not_logged, totals.counts_all) == (1, 0, 0)
    (crawl,) = summary.rows("crawls")
    assert (crawl.ended, crawl.counted) == ("finished", None)


def test_the_end_of_one_crawl_is_not_that_of_another() -> None:
    unfinished, elsewhere = begin("other", allowed_share=0.0), end(allowed=5)
    totals = summary_of([unfinished, denied(SHOP, "/", crawl="other"), elsewhere]).totals
    assert (totals.denied, totals.counts_all) == (1, 0)


def test_what_a_crawl_counted_is_not_said_of_a_part() -> None:
    summary = Summary(["shop.example"])
    for entry in (begin(allowed_share=0.0), denied(SHOP, "/"), end(allowed=1_000)):
        summary.add(entry)
    (crawl,) = summary.rows("crawls")
    assert (crawl.ended, crawl.counted) == ("finished", None)
    assert (summary.totals.allowed_not_logged, summary.totals.counts_all) == (0, 0)


def test_the_settings_of_a_crawl_are_what_its_verdicts_depended_on() -> None:
    entry = begin(bodies="audit.bodies", overrides={"a.example": {"obey": False}})
    summary = summary_of([entry])
    (crawl,) = summary.rows("crawls")
    said = "agent allowed_share crawl_delay_max crawl_delay_too_long dialect obey parser stale_max"
    assert list(json.loads(crawl.settings)) == said.split()


def test_the_audit_mode_is_counted() -> None:
    entries = [
        begin(mode="observe"),
        denied(SHOP, "/", mode="observe"),
        begin("b"),
        denied(SHOP, "/"),
    ]
    totals = summary_of(entries).totals
    assert (totals.observing_crawls, totals.crawls, totals.not_enforced) == (1, 2, 1)


def test_a_crawl_without_its_begin_or_its_end_is_there() -> None:
    summary = summary_of([denied(SHOP, "/")])
    (crawl,) = summary.rows("crawls")
    assert (crawl.spider, crawl.ended, crawl.denied, crawl.first) == (None, None, 1, BEGIN)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"status": "404", "access": "unavailable"}, "404"),
        ({"status": "200", "failure": "503"}, "200, now 503"),
        ({"status": None, "access": "rules"}, "own text"),
        ({"status": None, "access": None}, ""),
    ],
)
def test_what_a_site_answered_is_in_its_row(said: dict[str, Any], status: str) -> None:
    summary = summary_of([allowed(SHOP, "/", **said)])
    (site,) = summary.rows("sites")
    assert site.status == status


@pytest.mark.parametrize("last", [{"access": None}, {"access": "rules"}])
def test_a_request_that_asked_no_robots_txt_hides_nothing(last: dict[str, Any]) -> None:
    asked = denied(SHOP, "/", 1.0, status="404", access="unavailable")
    exempt = allowed(SHOP, "/", 2.0, status=None, **last)
    for entries in ([asked, exempt], [exempt, asked]):
        summary = summary_of(entries)
        (site,) = summary.rows("sites")
        assert site.status == "404"


def test_a_file_that_came_or_went_has_changed_from_or_to_no_rules() -> None:
    came = read(SHOP, changed=True, previous=None, sha256="ab")
    went = read(SHOP, changed=True, previous="ab", sha256=None)
    found = summary_of([came, went])
    assert [(each.before, each.after) for each in found.rows("changes")] == [("ab", ""), ("", "ab")]


def test_an_outage_of_a_readable_file_is_a_failure() -> None:
    summary = summary_of([read(SHOP, failure="503"), read(SHOP)])
    assert summary.totals.failures == 1
    answers = [(each.answer, each.origins) for each in summary.rows("answers")]
    assert answers == [("503", 1), ("200", 1)]


def steps_for(count: int) -> int:
    """How many steps of SQLite it takes to say all of so many sites, crawls, rules and changes."""
    entries: list[Entry] = []
    for number in range(count):
        origin, crawl = f"https://site{number}.example", f"crawl {number}"
        entries += [begin(crawl), read(origin, number, crawl=crawl, changed=True, failure="503")]
        sent = [allowed(origin, "/", number + at, crawl=crawl, delay=2.0) for at in (0, 1)]
        entries += [*sent, denied(origin, "/", number, crawl=crawl), end(crawl)]
    summary = summary_of(entries)
    steps: list[int] = []
    summary._file.set_progress_handler(lambda: steps.append(100), 100)
    views = "totals sites rules changes crawls reasons answers"
    for view in views.split():
        assert list(summary.rows(view))
    return sum(steps)


def test_what_many_sites_and_crawls_cost_grows_with_their_number() -> None:
    assert steps_for(800) < 6 * steps_for(200)


def test_its_file_is_closed_when_nobody_has_it_any_more() -> None:
    summary = summary_of([begin(), end()])
    file = summary._file
    del summary
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        file.execute("SELECT 1")


def test_sums_that_no_crawl_can_have_counted_are_exact_all_the_same() -> None:
    lost = 2**53 - 1, 2
    assert summary_of([begin(), *(end(lost=each) for each in lost)]).totals.lost == sum(lost)


def test_a_sum_that_is_too_large_for_sqlite_is_the_largest_that_it_has() -> None:
    ends = [end(str(number), lost=2**60) for number in range(1_500)]
    assert summary_of([begin(), *ends]).totals.lost == 2**63 - 1
