"""Which answers are refusals, how often their requests are retried, which hosts are given up."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import Response

from scrapy_robots_plus.crawl.pacing.given_up import GivenUp
from scrapy_robots_plus.crawl.pacing.refusals import FORGIVEN, Refusals, forgive
from scrapy_robots_plus.policy.origin import Origin

URL = "http://a.example/"
ORIGINS = [Origin("http", f"{name}.example", 80) for name in "abc"]


def refusals_in(*statuses: int, refusals: Refusals | None = None, key: str = "a") -> list[bool]:
    refusals = refusals or Refusals(10)
    return [refusals.refuses(Response(URL, status=each), key) for each in statuses]


@pytest.mark.parametrize(
    ("statuses", "refused"),
    [
        ((200, 404, 500, 502, 504, 301), []),
        ((429, 200, 429), [0, 2]),
        ((503, 503, 200, 503, 503), []),
        ((503, 503, 503, 503), [2, 3]),
        ((503, 503, 429, 503, 503, 503), [2, 5]),
        ((503, 503, 500, 503), []),
    ],
)
def test_what_is_a_refusal(statuses: tuple[int, ...], refused: list[int]) -> None:
    found = refusals_in(*statuses)
    assert [number for number, is_one in enumerate(found) if is_one] == refused


def test_errors_in_a_row_are_those_of_one_slot() -> None:
    refusals = Refusals(10)
    found = [refusals_in(503, refusals=refusals, key=key) for key in "ababab"]
    assert found == [[False]] * 4 + [[True]] * 2


def test_slots_with_errors_are_forgotten_if_there_are_too_many() -> None:
    refusals = Refusals(2)
    for key in "aabbcc":
        refusals_in(503, refusals=refusals, key=key)
    assert refusals_in(503, refusals=refusals, key="a") == [False]
    assert refusals_in(503, refusals=refusals, key="c") == [True]


def test_so_many_refusals_do_not_count_as_retries() -> None:
    request = Request(URL)
    for number in range(2 * FORGIVEN):
        forgive(request, Spider("x"), 2)
        assert request.meta["max_retry_times"] == 2 + min(number + 1, FORGIVEN)


def test_a_limit_of_the_request_itself_is_what_it_is_added_to() -> None:
    request = Request(URL, meta={"max_retry_times": 7})
    forgive(request, None, 2)
    assert request.meta["max_retry_times"] == 8


@pytest.mark.parametrize(
    ("meta", "of_spider", "is_handled"),
    [
        ({}, None, False),
        ({}, [404], False),
        ({}, [429], True),
        ({"handle_httpstatus_list": [404]}, [429], False),
        ({"handle_httpstatus_list": [429]}, None, True),
        ({"handle_httpstatus_all": True}, None, True),
        ({"handle_httpstatus_all": False}, None, False),
    ],
)
def test_who_handles_429_gets_it_no_later(
    meta: dict[str, Any], of_spider: list[int] | None, is_handled: bool
) -> None:
    spider = Spider("x")
    if of_spider is not None:
        spider.handle_httpstatus_list = of_spider  # type: ignore[attr-defined]
    request = Request(URL, meta=meta)
    forgive(request, spider, 2)
    assert ("max_retry_times" not in request.meta) is is_handled


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
