"""What robots.txt says of requests that wait: how long they are kept while it cannot be read."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.hosts.given_up import GivenUp
from scrapy_robots_plus.hosts.host import State
from scrapy_robots_plus.hosts.origin_states import (
    FAILING,
    OPEN,
    UNKNOWN,
    OriginState,
    OriginStates,
)
from scrapy_robots_plus.origins.policies import LEAST_PAUSE
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.verdict import Reason
from tests.crawl.hand_clock import HandClock
from tests.crawl.world import policy, states_of

A, B = (Origin("http", name, 80) for name in ("a.example", "b.example"))
DEFER = 100.0


class States:
    """Looks at policies at a clock that the test turns. It begins at 1,000."""

    def __init__(self, defer: float = DEFER) -> None:
        self.time = HandClock()
        self.states = states_of(self.time, defer)

    def of_unreachable(self, origin: Origin = A, lasts: float = 1e9) -> OriginState:
        return self.states.under(policy(origin, unreachable=True, lasts=lasts))


def held(until: float) -> OriginState:
    return OriginState(State.HELD, until)


def test_what_may_be_read_is_open_with_its_delay() -> None:
    states = States().states
    assert states.under(policy(A)) is OPEN
    assert states.under(policy(A, delay=5.0)) == OriginState(State.READY, delay=5.0)


def test_before_its_visiting_hours_requests_wait_for_them() -> None:
    states = States().states
    closed = policy(A, lasts=1e9, opens_in=600.0)
    assert states.under(closed) == held(1600.0)
    slow = policy(A, lasts=1e9, delay=2.0, opens_in=600.0)
    assert states.under(slow) == held(1600.0)._replace(delay=2.0)


def test_visiting_hours_are_believed_while_the_file_is_fresh() -> None:
    states = States().states
    assert states.now(policy(A, lasts=60.0, opens_in=600.0)) == held(1060.0)
    assert states.now(policy(A, lasts=0.0, opens_in=600.0)) is UNKNOWN
    assert states.now(policy(A, lasts=0.0)) is OPEN
    assert states.now(None) is UNKNOWN


def test_without_patience_requests_fail_while_the_file_cannot_be_read() -> None:
    states = States(0.0)
    assert states.of_unreachable() is FAILING
    assert not states.states.defers(A)


def test_requests_to_an_origin_that_is_given_up_fail() -> None:
    states = States().states
    given_up: GivenUp = states._given_up
    given_up.add(A, Reason.GIVEN_UP)
    assert states.under(policy(A)) is FAILING
    assert states.under(policy(B)) is OPEN


def test_deferred_requests_wait_until_the_file_is_asked_for_again() -> None:
    assert States().of_unreachable(lasts=60.0) == held(1060.0)


@pytest.mark.parametrize("lasts", [0.0, -5.0])
def test_a_file_that_may_be_asked_for_at_once_is_asked_for_after_a_pause(lasts: float) -> None:
    assert States().of_unreachable(lasts=lasts) == held(1000.0 + LEAST_PAUSE)


def test_deferred_requests_wait_no_longer_than_the_setting_says() -> None:
    states = States()
    assert states.of_unreachable() == held(1000.0 + DEFER)
    assert states.states.defers(A)
    states.time.now += DEFER
    assert states.of_unreachable() is FAILING
    assert not states.states.defers(A)


def test_each_outage_has_its_own_beginning() -> None:
    states = States()
    states.of_unreachable(A)
    states.time.now += 60
    assert states.of_unreachable(B) == held(1060.0 + DEFER)
    assert states.of_unreachable(A) == held(1000.0 + DEFER)
    states.time.now += 40
    assert states.of_unreachable(A) is FAILING
    assert states.of_unreachable(B).state is State.HELD


def test_an_outage_that_was_over_begins_anew() -> None:
    states = States()
    states.of_unreachable()
    states.time.now += 60
    assert states.states.under(policy(A)) is OPEN
    states.time.now += 60
    assert states.of_unreachable() == held(1120.0 + DEFER)
    assert states.states.defers(A)


def test_a_request_that_comes_back_begins_an_outage() -> None:
    states = States()
    assert states.states.defers(A)
    states.time.now += 60
    assert states.of_unreachable() == held(1000.0 + DEFER)


def test_of_many_origins_those_seen_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OriginStates, "MOST_OUTAGES", 1)
    states = States()
    states.of_unreachable(A)
    states.time.now += 60
    states.of_unreachable(B)
    assert states.of_unreachable(A) == held(1060.0 + DEFER)
