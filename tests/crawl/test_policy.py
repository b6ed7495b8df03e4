"""A policy in memory says what its record says, whatever the clocks do meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from scrapy_robots_plus import RobotsParser
from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.origins.freshness import fresh_for, may_answer
from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.protocol import Reason
from scrapy_robots_plus.protocol.access import Access, Failure
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.settings.robots_settings import RobotsSettings
from scrapy_robots_plus.storage.record import RobotsRecord
from tests.crawl.parsers_in_use import PlainParser, read

SETTINGS = RobotsSettings.from_settings(Settings({"ROBOTSTXT_OBEY": True}))
STATS = get_crawler().stats
ORIGIN = Origin("http", "x.example", 80)
NOW = 1_800_000_000.0
seconds = st.sampled_from([0.0, 0.5, 59.0, 60.0, 61.0, 3_600.0, 86_400.0, 40 * 86_400.0])
moments = seconds | seconds.map(lambda ago: -ago)


@settings(deadline=None)
@given(fetched=moments, lifetime=seconds, failed=st.none() | moments, retry=seconds, later=seconds)
def test_what_a_record_allows_now_is_what_its_policy_allows(
    fetched: float, lifetime: float, failed: float | None, retry: float, later: float
) -> None:
    record = RobotsRecord(
        ORIGIN, Access.UNAVAILABLE, 404, ORIGIN.robots_url, NOW + fetched, lifetime
    )
    if failed is not None:
        failure: dict[str, Any] = {
            "failure": Failure.TIMEOUT,
            "failed_at": NOW + failed,
            "retry_in": retry,
        }
        record = record._replace(**failure)
    now, set_back = NOW, 0.0
    clock = Clock(wall=lambda: now - set_back, monotonic=lambda: now - NOW)
    policy = Policy(record, None, SETTINGS, clock, STATS)
    for _ in range(3):
        assert policy.may_answer is may_answer(record, now, SETTINGS.limits)
        assert (policy.fresh_for > 0) <= (fresh_for(record, now) > 0)
        now, set_back = now + later, 7_200.0


URL = "https://x.example"
RULES = b"User-agent: *\nDisallow: /closed\nCrawl-delay: 90\n"


def policy_of(
    *failure: Failure, access: Access = Access.RULES, file: Any = RULES, **changed: Any
) -> Policy:
    outcome = 404 if access is Access.UNAVAILABLE else 200
    record = RobotsRecord(ORIGIN, access, outcome, ORIGIN.robots_url, NOW, 3_600.0)
    if failure:
        record = record._replace(outcome=failure[0], failure=failure[0], failed_at=NOW)
    values = {"ROBOTSTXT_OBEY": True, **changed}
    clock = Clock(wall=lambda: NOW, monotonic=lambda: 0.0)
    parsed = read(file) if isinstance(file, bytes) else file
    if access is not Access.RULES:
        parsed = None
    return Policy(record, parsed, RobotsSettings.from_settings(Settings(values)), clock, STATS)


class TestVerdicts:
    def test_a_rule_is_named(self) -> None:
        verdict = policy_of().verdict(f"{URL}/closed", "Foobot")
        assert (verdict.allowed, verdict.reason, verdict.line) == (False, Reason.RULE, 2)
        assert (verdict.robots_url, verdict.outcome) == (ORIGIN.robots_url, "200")

    @pytest.mark.parametrize(("names", "is_kept"), [(32, True), (33, False)])
    def test_a_group_of_many_names_is_not_kept_for_each_host(
        self, names: int, is_kept: bool
    ) -> None:
        policy = policy_of(file=b"User-agent: *\n" * names + RULES[14:])
        first, again = (policy.verdict(f"{URL}/closed", "Foobot") for _ in range(2))
        assert first == again
        assert first.group == ("*",) * names
        assert (first is again) is is_kept

    def test_nothing_is_refused_that_no_rule_matches(self) -> None:
        assert policy_of().verdict(f"{URL}/open", "Foobot").allowed
        assert policy_of().verdict(f"{URL}/open", "Foobot").reason is Reason.NO_RULE

    def test_a_crawler_may_have_a_list_of_names(self) -> None:
        assert policy_of().verdict(f"{URL}/open", ["Barbot", "Foobot"]).allowed

    def test_a_form_that_may_be_sent_decides(self) -> None:
        refusal = policy_of().verdict(f"{URL}/open/../closed", "Foobot")
        assert not refusal.allowed
        assert (refusal.reason, refusal.form) == (Reason.RULE, "/closed")

    def test_without_a_file_everything_is_allowed(self) -> None:
        policy = policy_of(access=Access.UNAVAILABLE)
        assert policy.verdict(f"{URL}/closed", "Foobot").allowed
        verdict = policy.verdict(f"{URL}/closed", "Foobot")
        assert (verdict.allowed, verdict.reason) == (True, Reason.UNAVAILABLE)
        assert policy.in_words == "404, all allowed"

    def test_unread_it_refuses_all_but_itself(self) -> None:
        policy = policy_of(Failure.TIMEOUT, access=Access.UNREACHABLE)
        assert policy.denies_as_unreachable
        verdict = policy.verdict(f"{URL}/open", "Foobot")
        assert (verdict.allowed, verdict.reason) == (False, Reason.UNREACHABLE)
        assert verdict.outcome == "timeout"
        assert policy.verdict(ORIGIN.robots_url, "Foobot").allowed
        assert policy.in_words == "timeout, all denied"

    def test_where_delays_alone_are_kept_nothing_is_refused(self) -> None:
        delays: Any = {"ROBOTSTXT_OBEY": False, "ROBOTS_CRAWL_DELAY_OBEY": True}
        unread = policy_of(Failure.TIMEOUT, access=Access.UNREACHABLE, **delays)
        for policy in (policy_of(**delays), unread):
            assert policy.verdict(f"{URL}/closed", "Foobot").allowed
            assert not policy.denies_as_unreachable
        assert unread.verdict(f"{URL}/x", "Foobot").allowed
        assert unread.in_words == "timeout, no rules"

    def test_a_delay_for_which_the_host_is_skipped(self) -> None:
        policy = policy_of(ROBOTS_CRAWL_DELAY_TOO_LONG="skip")
        refusal = policy.verdict(f"{URL}/open", "Foobot")
        assert not refusal.allowed
        assert (refusal.reason, refusal.delay) == (Reason.CRAWL_DELAY, 90)

    def test_a_parser_that_names_no_rules(self) -> None:
        policy = policy_of(file=read(b"https://x.example/closed", PlainParser))
        verdict = policy.verdict(f"{URL}/closed", "Foobot")
        assert (verdict.allowed, verdict.reason, verdict.rule) == (False, Reason.RULE, None)
        assert policy.verdict(f"{URL}/open", "Foobot").allowed

    @pytest.mark.parametrize("fails", ["allowed", "verdict"])
    def test_a_parser_that_fails_allows_nothing(self, fails: str) -> None:
        parser = type("Failing", (RobotsParser,), {fails: lambda *_: 1 / 0})
        policy = policy_of(file=read(RULES, parser))
        refusal = policy.verdict(f"{URL}/closed", "Foobot")
        assert not refusal.allowed
        assert refusal.reason is Reason.UNREACHABLE


def test_questions_change_nothing() -> None:
    policy = policy_of()
    for _ in range(2):
        policy.verdict(f"{URL}/closed", "Foobot")
        assert (policy.is_paced, policy.delay, policy.opens_in) == (False, None, 0)
        assert (policy.may_answer, policy.access) == (True, Access.RULES)
        assert (policy.age, policy.fresh_for, policy.sitemaps) == (0, 3_600, ())
    policy.enforce("Foobot")
    assert (policy.is_paced, policy.delay) == (True, 60)


def test_the_last_good_copy_tells_what_is_the_matter() -> None:
    policy = policy_of()
    record = policy.record._replace(failure=503, failed_at=NOW, retry_in=60.0)
    held = Policy(record, policy.file, SETTINGS, Clock(wall=lambda: NOW), STATS)
    assert (held.status, held.in_words) == ("200, now 503", "200, now 503, rules")
    assert repr(held) == f"<Policy {ORIGIN}: 200, now 503, rules>"
