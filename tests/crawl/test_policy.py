"""A policy in memory says what its record says, whatever the clocks do meanwhile."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.crawl.policies.policy import Policy
from scrapy_robots_plus.crawl.settings import RobotsSettings
from scrapy_robots_plus.policy.access import Access, Failure
from scrapy_robots_plus.policy.decide import Lookup, lookup
from scrapy_robots_plus.policy.origin import Origin
from scrapy_robots_plus.policy.record import RobotsRecord

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
        failure = {"failure": Failure.TIMEOUT, "failed_at": NOW + failed, "retry_in": retry}
        record = replace(record, **failure)
    now, set_back = NOW, 0.0
    clock = Clock(wall=lambda: now - set_back, monotonic=lambda: now - NOW)
    policy = Policy(record, None, SETTINGS, clock, STATS)
    for _ in range(3):
        expected = lookup(record, now, SETTINGS.limits)
        assert policy.lookup is expected
        assert (policy.fresh_for > 0) <= (expected is Lookup.USE)
        now, set_back = now + later, 7_200.0
