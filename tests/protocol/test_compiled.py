"""Rules are compiled when somebody asks, once for all who share them, and not without end.

What happens is seen by whether the same rules come back, and by the calls that an answer takes.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.protocol import RobotsTxt

if TYPE_CHECKING:
    from collections.abc import Callable

CRAWLERS = 16
RULES = 50_000


def calls(work: Callable[[], object]) -> int:
    """How many functions *work* calls."""
    counted = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted


@pytest.mark.parametrize("rules", [10, 3_000])
@pytest.mark.parametrize("agent", ["*", "foobot"])
def test_a_file_is_compiled_when_it_is_asked_for_the_first_time(agent: str, rules: int) -> None:
    lines = b"".join(b"Disallow: /%05d\n" % number for number in range(rules))
    body = f"User-agent: {agent}\n".encode() + lines
    parsing = calls(lambda: RobotsTxt.parse(body))
    file = RobotsTxt.parse(body)
    first = calls(lambda: file.allowed("/00001", "foobot"))
    assert first > rules
    assert parsing < 4 * rules + 100
    assert calls(lambda: file.allowed("/00002", "foobot")) < 30
    assert not file.allowed("/00001", "foobot")
    assert file.allowed("/00001", "barbot") is (agent == "foobot")


def test_who_shares_rules_shares_them_compiled() -> None:
    file = RobotsTxt.parse("User-agent: a\nUser-agent: b\nDisallow: /x\nUser-agent: c\nAllow: /")
    rules = file.rules_for("a")
    for agent in ("a", "b", ["a"], ["b", "c"], b"a", "A/1.0"):
        assert file.rules_for(agent) is rules
    assert file.rules_for("c") is not rules


def many_crawlers(rules: int = 1, crawlers: int = 100) -> RobotsTxt:
    lines = "".join(f"Disallow: /{number}\n" for number in range(rules))
    return RobotsTxt.parse("".join(f"User-agent: bot{_word(n)}\n{lines}" for n in range(crawlers)))


def _word(number: int) -> str:
    return chr(ord("a") + number // 26) + chr(ord("a") + number % 26)


def test_the_rules_of_some_crawlers_are_kept_and_then_all_go() -> None:
    file = many_crawlers()
    first = file.rules_for("botaa")
    for number in range(1, CRAWLERS):
        file.rules_for(f"bot{_word(number)}")
    assert file.rules_for("botaa") is first
    last = file.rules_for(f"bot{_word(CRAWLERS)}")
    assert file.rules_for("botaa") is not first
    assert file.rules_for(f"bot{_word(CRAWLERS)}") is last


def test_so_it_is_if_all_share_the_same_rules() -> None:
    file = RobotsTxt.parse("User-agent: *\nDisallow: /x")
    rules = file.rules_for("botaa")
    for number in range(200):
        assert file.rules_for(f"bot{_word(number)}") is rules


@pytest.mark.parametrize(
    ("rules", "crawlers"), [(RULES // 2, 2), (RULES // 3 + 1, 2), (RULES // 10, 10)]
)
def test_no_more_rules_are_kept_than_a_file_may_hold(rules: int, crawlers: int) -> None:
    file = many_crawlers(rules, crawlers + 1)
    first = file.rules_for("botaa")
    for number in range(1, crawlers):
        file.rules_for(f"bot{_word(number)}")
    assert file.rules_for("botaa") is first
    file.rules_for(f"bot{_word(crawlers)}")
    assert file.rules_for("botaa") is not first
