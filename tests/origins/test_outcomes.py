"""What a status or a failure says of a file, whatever the status policy makes of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from scrapy_robots_plus.origins.freshness import FetchResult, receive
from scrapy_robots_plus.protocol.access import (
    PRESETS,
    Access,
    Failure,
    Outcome,
    access_of,
    is_definite,
    says_unavailable,
    status_table,
)
from scrapy_robots_plus.protocol.http_caching import Limits
from scrapy_robots_plus.protocol.origin import Origin

REFUSALS = [400, 401, 403, 404, 410, 428, 430, 451, 499]
OUTAGES = [
    *(100, 199, 300, 301, 304, 399, 407, 429, 500, 503, 599, 999),
    *(each for each in Failure if each is not Failure.REDIRECTS),
]
LIMITS = Limits(300, 86_400, 30 * 86_400, 60, 3_600)
ORIGIN = Origin("https", "x.example", 443)


@pytest.mark.parametrize("outcome", REFUSALS)
def test_a_4xx_is_an_answer(outcome: int) -> None:
    assert says_unavailable(outcome)
    assert is_definite(outcome)


@pytest.mark.parametrize("outcome", [200, 204, 299, Failure.REDIRECTS])
def test_so_are_a_2xx_and_too_many_redirects(outcome: Outcome) -> None:
    assert is_definite(outcome)
    assert not says_unavailable(outcome)


@pytest.mark.parametrize("outcome", OUTAGES, ids=str)
def test_all_else_is_an_outage(outcome: Outcome) -> None:
    assert not is_definite(outcome)
    assert not says_unavailable(outcome)


@pytest.mark.parametrize("word", ["allow", "disallow"])
@pytest.mark.parametrize("status", [407, 429])
def test_some_4xx_are_asked_again_soon_whatever_they_allow(status: int, word: str) -> None:
    settings: Any = SimpleNamespace(limits=LIMITS, status_policy=status_table({status: word}))
    record = receive(ORIGIN, FetchResult(status, ORIGIN.robots_url), None, 1_000.0, settings, 0.0)
    assert record.access is (Access.UNAVAILABLE if word == "allow" else Access.UNREACHABLE)
    assert (record.failure, record.retry_in) == (status, 60)
    assert not record.readable


@pytest.mark.parametrize("preset", PRESETS)
def test_no_preset_takes_429_for_rules(preset: str) -> None:
    assert access_of(429, PRESETS[preset]) is not Access.RULES
