"""What holds for every file and every URL."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume
from hypothesis import strategies as st

from scrapy_robots_plus.protocol import GYM2008, RFC9309, Dialect, RobotsTxt
from scrapy_robots_plus.protocol.escapes import url_form
from scrapy_robots_plus.protocol.robotstxt import is_whole_url
from tests.examples import tried
from tests.protocol.any_file import (
    agents,
    bodies,
    charsets,
    dialects,
    paths,
    rules,
    urls,
)
from tests.protocol.slow_matcher import allowed as slowly_allowed
from tests.protocol.worst_cases import Plan, untraced

if TYPE_CHECKING:
    from collections.abc import Callable


@tried(400, bodies, dialects, charsets, agents, urls)
def test_parsing_and_asking_is_total(
    body: bytes, dialect: Dialect, charset: str | None, agent: str, url: str
) -> None:
    is_path = isinstance(agent, str) and agent.startswith("/")
    assume(not (is_path or is_whole_url(agent)))  # an error: see test_arguments.py
    file = RobotsTxt.parse(body, dialect, charset, max_bytes=250)
    told = file.explain(url, agent)
    assert told.verdict == file.verdict(url, agent)
    assert told.verdict.allowed is file.allowed(url, agent)
    delay = file.crawl_delay(agent)
    assert delay is None or delay >= 0
    assert file.request_rate(agent) is None or file.request_rate(agent).delay > 0
    file.visit_time(agent)
    assert all(isinstance(each, tuple) for each in (file.groups, file.sitemaps))
    assert file.host is None or file.host
    assert len(list(file.lines)) >= len(file.sitemaps) + len(file.clean_params)


def file_of(rules_: list[tuple[bool, str]], agent: str = "bot") -> str:
    lines = [f"{'Allow' if allow else 'Disallow'}: {pattern}" for allow, pattern in rules_]
    # A blank rule, so that the agent line of a group that follows does not join this one.
    return "\n".join([f"User-agent: {agent}", *lines, "Disallow:", ""])


@tried(300, rules, paths, st.data())
def test_escaping_unreserved_characters_changes_nothing(
    rules_: Any, path: str, data: st.DataObject
) -> None:
    escaped = "".join(
        f"%{ord(each):02x}" if each in "ab.~" and data.draw(st.booleans()) else each
        for each in path
    )
    for dialect in (RFC9309, GYM2008):
        file = RobotsTxt.parse(file_of(rules_), dialect)
        if path != "/robots.txt":
            assert file.verdict(escaped, "bot") == file.verdict(path, "bot")


@tried(300, rules, rules, paths, st.booleans())
def test_an_unrelated_group_changes_nothing(
    rules_: Any, others: Any, path: str, before: bool
) -> None:
    body, other = file_of(rules_), file_of(others, "unrelated")
    both = other + body if before else body + other
    alone, among = (
        RobotsTxt.parse(body).verdict(path, "bot"),
        RobotsTxt.parse(both).verdict(path, "bot"),
    )
    assert (alone.allowed, alone.reason, alone.rule) == (among.allowed, among.reason, among.rule)


@tried(300, rules, paths, dialects)
def test_the_winner_of_an_explanation_is_the_rule_of_the_verdict(
    rules_: Any, path: str, dialect: Dialect
) -> None:
    file = RobotsTxt.parse(file_of(rules_), dialect)
    told, verdict = file.explain(path, "bot"), file.verdict(path, "bot")
    assert told.verdict == verdict
    assert verdict.line not in {each.line for each in told.beaten}
    if verdict.line is None:
        assert not told.beaten or path == "/robots.txt"


@tried(300, rules, paths)
def test_the_order_of_rules_changes_no_verdict(rules_: Any, path: str) -> None:
    there = RobotsTxt.parse(file_of(rules_)).allowed(path, "bot")
    assert RobotsTxt.parse(file_of(rules_[::-1])).allowed(path, "bot") is there


@tried(200, rules, paths)
def test_line_ends_white_space_and_comments_change_nothing(rules_: Any, path: str) -> None:
    body = file_of(rules_)
    there = RobotsTxt.parse(body).allowed(path, "bot")
    for other in (
        body.replace("\n", "\r\n"),
        body.replace("\n", "\r"),
        body.replace(": ", "\t:  ").replace("\n", " # x\n"),
        body.replace("User-agent", "uSER-aGENT").replace("llow", "LLOW"),
        "\ufeff" + body,
    ):
        assert RobotsTxt.parse(other).allowed(path, "bot") is there


ALPHABETS: list[tuple[str, str]] = [
    ("ab*", "ab"),
    ("ab*$/", "ab$/"),
    ("aaab*", "aaab"),
    ("abcdefgh/*$", "abcdefgh/"),
]


def random_pairs(
    seed: int, rules_: int, length: int
) -> tuple[list[tuple[bool, bytes]], list[bytes]]:
    random_ = random.Random(seed)
    of_rules, of_paths = ALPHABETS[seed % len(ALPHABETS)]

    def word(letters: str, most: int) -> str:
        return "/" + "".join(random_.choices(letters, k=random_.randrange(most)))

    found = [(random_.random() < 0.5, word(of_rules, length).encode()) for _ in range(rules_)]
    return found, [word(of_paths, 2 * length).encode() for _ in range(50)]


def compare(seed: int, rules_: int, length: int, dialect: Dialect = RFC9309) -> int:
    """Asks the fast and the slow matcher about the same; returns how many pairs that were."""
    found, asked = random_pairs(seed, rules_, length)
    lines = [(b"Allow: " if allow else b"Disallow: ") + pattern for allow, pattern in found]
    file = RobotsTxt.parse(b"\n".join([b"User-agent: *", *lines]), dialect)
    for path in asked:
        url = b"https://e.example" + path
        assert file.allowed(url, "bot") is slowly_allowed(found, path), (seed, path)
    return len(found) * len(asked)


SIZES: list[tuple[int, int]] = [(1, 8), (5, 8), (40, 10), (300, 9), (900, 14)]


def run(seeds: range) -> int:
    return sum(compare(seed, *SIZES[seed % len(SIZES)]) for seed in seeds)


@untraced()
def test_the_fast_matcher_agrees_with_the_slow_one() -> None:
    # 50 to 45,000 pairs of rule and path a seed.
    assert run(range(5)) > 50_000


@pytest.mark.stress
def test_the_fast_matcher_agrees_with_the_slow_one_on_millions() -> None:
    assert run(range(1000, 1600)) > 5_000_000


def compare_long_parts(paths: int) -> None:
    """Parts of 64 octets and more, which the wildcard index looks up by a few of them."""
    random_ = random.Random(7)
    word: Callable[[int], str] = lambda size: "".join(random_.choices("ab", k=size))  # noqa: E731
    parts = [word(size) for size in (1, 2, 3, 5, 8, 13, 31, 32, 33, 63, 64, 65, 90, 130) * 60]
    found = [
        (False, f"/*{part}*{random_.choice(parts)}{number}$".encode())
        for number, part in enumerate(parts)
    ]
    found += [(False, f"/*{part}*c".encode()) for part in parts]
    body = b"\n".join([b"User-agent: *", *(b"Disallow: " + pattern for _, pattern in found)])
    file = RobotsTxt.parse(body)
    for number in range(paths):
        path = "/" + "".join(random_.choices(parts, k=6)) + random_.choice(["c", "", str(number)])
        assert file.allowed(path, "bot") is slowly_allowed(found, path.encode())


@untraced()
def test_long_parts_agree_too() -> None:
    compare_long_parts(2)


@pytest.mark.stress
def test_long_parts_of_many_paths_agree_too() -> None:
    compare_long_parts(1_000)


def compare_plan(seed: int) -> None:
    """Crafted rules, whose parts stand in the path or nearly do, beside the slow matcher."""
    plan, random_ = Plan(seed=seed), random.Random(seed)
    for _ in range(10):
        plan = plan.mutated(random_)
    path = plan.path()[: random_.choice([40, 80, 120])]
    plan = replace(plan, size=min(plan.size, 70), parts=min(plan.parts, 12))
    lines = list(islice(plan.rules(path), 600))
    _, canonical = url_form(RFC9309)
    keys = {"allow": True, "disallow": False}
    pairs = [line.partition(":") for line in lines if not line.startswith("user")]
    found = [(keys[key], pattern.encode()) for key, _, pattern in pairs]
    file = RobotsTxt.parse("user-agent: *\n" + "\n".join(lines))
    for _ in range(8):
        cut = random_.randrange(len(path))
        asked = random_.choice([path, path[: cut + 1], "/" + path[cut:], path[::-1]])
        url = asked if asked.startswith("/") else "/" + asked
        path_ = b"/" + canonical(url.encode())[1:]
        want = slowly_allowed([(allow, canonical(rule)) for allow, rule in found], path_)
        assert file.allowed("https://e.example" + url, "bot") is want, (seed, plan, url)


def test_crafted_rules_agree_too() -> None:
    for seed in range(2):
        compare_plan(seed)


@pytest.mark.stress
def test_many_crafted_rules_agree_too() -> None:
    for seed in range(100, 700):
        compare_plan(seed)
