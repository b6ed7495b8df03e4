"""A record read under another status policy than the one it was fetched under."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.origins.freshness import access_under
from scrapy_robots_plus.protocol.access import PRESETS, Access, Failure, Outcome

RULES, OPEN, CLOSED = Access.RULES, Access.UNAVAILABLE, Access.UNREACHABLE


@pytest.mark.parametrize(
    ("preset", "outcome", "failure", "is_outlived", "access"),
    [
        ("rfc9309", 200, None, False, RULES),
        ("rfc9309", 200, 503, False, RULES),  # the last good copy, in an outage
        ("rfc9309", 200, 503, True, CLOSED),
        ("fail-open", 200, Failure.TIMEOUT, True, OPEN),
        ("rfc9309", 403, None, False, OPEN),
        ("mk1996", 403, None, False, CLOSED),
        ("mk1996", 403, Failure.TIMEOUT, False, OPEN),  # a 403 is no good copy there
        ("rfc9309", 503, 503, False, CLOSED),
        ("fail-open", 503, 503, False, OPEN),
    ],
)
def test_what_an_answer_means_under_another_policy(
    preset: str, outcome: Outcome, failure: Outcome | None, is_outlived: bool, access: Access
) -> None:
    found = access_under(PRESETS[preset], outcome, failure, is_outlived=is_outlived)
    assert found is access
