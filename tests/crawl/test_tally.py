"""Each request is counted once, by origin; numbers outlive what else is known of an origin."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from scrapy import Request

from scrapy_robots_plus.origins.tally import Row, Tally
from scrapy_robots_plus.protocol.origin import Origin

if TYPE_CHECKING:
    from scrapy_robots_plus.origins.policy import Policy

A, B, C = (Origin("http", f"{name}.example", 80) for name in "abc")
START = Request("http://a.example/", meta={"is_start_request": True})
LATER = Request("http://a.example/later")
POLICY, NEWER = (cast("Policy", SimpleNamespace()) for _ in range(2))


def test_numbers_are_those_of_each_origin_with_its_policy_as_last_seen() -> None:
    tally = Tally(10)
    tally.allow(LATER, A, POLICY)
    tally.deny(LATER, A, NEWER)
    tally.deny(LATER, B, None)
    assert dict(tally) == {A: Row(1, 1, NEWER), B: Row(0, 1, None)}
    assert (len(tally), tally.allowed, tally.denied) == (2, 1, 2)


def test_a_request_that_is_not_sent_after_all_is_no_longer_allowed() -> None:
    tally = Tally(10)
    tally.allow(LATER, A, POLICY)
    tally.allow(LATER, A, POLICY)
    tally.revoke(LATER, A)
    assert dict(tally) == {A: Row(1, 0, POLICY)}


def test_beyond_its_size_the_least_recently_used_are_added_up() -> None:
    tally = Tally(2)
    for origin in (A, B, A, C):
        tally.allow(LATER, origin, POLICY)
    tally.deny(LATER, C, POLICY)
    assert [origin for origin, _ in tally] == [A, C]
    assert (len(tally), tally.allowed, tally.denied) == (3, 4, 1)


def test_what_is_revoked_of_an_origin_that_was_added_up_is_taken_from_the_sum() -> None:
    tally = Tally(1)
    tally.allow(LATER, A, POLICY)
    tally.allow(LATER, B, POLICY)
    tally.revoke(LATER, A)
    assert tally.allowed == 1


@pytest.mark.parametrize("request_", [START, LATER])
def test_no_number_goes_below_zero(request_: Request) -> None:
    tally = Tally(1)
    tally.revoke(request_, A)
    tally.allow(request_, A, POLICY)
    assert tally.allowed == 1


def test_a_crawl_is_denied_from_the_start_where_no_start_request_and_nothing_else_passes() -> None:
    tally = Tally(10)
    assert not tally.denied_from_the_start
    tally.deny(LATER, A, POLICY)
    assert not tally.denied_from_the_start
    tally.deny(START, A, POLICY)
    assert tally.denied_from_the_start
    tally.allow(LATER, A, POLICY)
    assert not tally.denied_from_the_start
    tally.revoke(LATER, A)
    assert tally.denied_from_the_start


def test_a_start_request_that_passes_unasked_is_no_denial() -> None:
    tally = Tally(10)
    tally.deny(START, A, POLICY)
    tally.exempt(START)
    assert not tally.denied_from_the_start


def test_a_start_request_that_is_refused_when_it_is_judged_again_is_denied_once() -> None:
    tally = Tally(10)
    tally.allow(START, A, POLICY)
    tally.revoke(START, A)
    tally.deny(START, A, POLICY)
    assert dict(tally) == {A: Row(0, 1, POLICY)}
    assert tally.denied_from_the_start
