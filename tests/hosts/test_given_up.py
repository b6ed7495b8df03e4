"""Hosts that are not asked any more."""

from __future__ import annotations

from scrapy_robots_plus.hosts.given_up import GivenUp
from scrapy_robots_plus.protocol.origin import Origin

ORIGINS = [Origin("http", f"{name}.example", 80) for name in "abc"]


def test_an_origin_that_was_given_up_is_tried_again_after_an_hour() -> None:
    now = [0.0]
    given_up = GivenUp(10, lambda: now[0])
    given_up.add(ORIGINS[0])
    assert ORIGINS[0] in given_up
    assert ORIGINS[1] not in given_up
    now[0] = GivenUp.SECONDS - 1
    assert ORIGINS[0] in given_up
    given_up.add(ORIGINS[0])
    now[0] += 2
    assert ORIGINS[0] in given_up
    now[0] += GivenUp.SECONDS
    assert ORIGINS[0] not in given_up


def test_the_oldest_are_forgotten_if_too_many_are_given_up() -> None:
    given_up = GivenUp(2, lambda: 0.0)
    for origin in (*ORIGINS[:2], ORIGINS[0], ORIGINS[2]):
        given_up.add(origin)
    assert [origin in given_up for origin in ORIGINS] == [True, False, True]
