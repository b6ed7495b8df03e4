"""The table that a crawl ends with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from scrapy_robots_plus.crawl.tally import Row, Tally, headline, table
from scrapy_robots_plus.policy.access import Access
from scrapy_robots_plus.policy.origin import Origin

if TYPE_CHECKING:
    from scrapy_robots_plus.crawl.policy import Policy


def tally(**rows: Row) -> Tally:
    made = Tally(100)
    for name, given in rows.items():
        row = made.row(Origin("http", f"{name}.example", 80))
        row.allowed, row.denied = given.allowed, given.denied
        row.policy = given.policy
    return made


def policy(access: Access, status: str, delay: float | None = None) -> Policy:
    return cast("Policy", SimpleNamespace(access=access, status=status, delay=delay))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ({"a": Row(1, 3)}, "1 origin, 1 request allowed, 3 denied"),
        ({"a": Row(0, 1)}, "1 origin, 0 requests allowed, 1 denied"),
        ({"a": Row(1200, 0), "b": Row(34, 5)}, "2 origins, 1,234 requests allowed, 5 denied"),
    ],
)
def test_one_is_not_many(rows: dict[str, Row], expected: str) -> None:
    assert headline(tally(**rows)) == expected


def test_each_column_is_as_wide_as_its_widest_cell() -> None:
    rows = {
        "a": Row(0, 2, policy(Access.UNREACHABLE, "timeout")),
        "long-name": Row(2, 1, policy(Access.RULES, "200, now connection")),
        "slow": Row(3, 0, policy(Access.RULES, "200", 0.5)),
    }
    assert table(tally(**rows)).splitlines() == [
        "origin                    robots.txt                    delay   allowed    denied",
        "http://a.example          timeout unreachable               -         0         2",
        "http://long-name.example  200, now connection rules         -         2         1",
        "http://slow.example       200 rules                     0.5 s         3         0",
    ]


def test_a_column_is_as_wide_as_its_heading_at_least() -> None:
    assert table(tally(a=Row(1, 0, policy(Access.RULES, "200")))).splitlines() == [
        "origin            robots.txt     delay   allowed    denied",
        "http://a.example  200 rules          -         1         0",
    ]
