"""Whatever is asked of a file takes time and memory in proportion to file and URL, no more.

Times are processor time, in loops of a million simple steps that the same process runs: some 25 ms
where this was written. Half a second is 20 loops, 50 ms are 2; the bounds leave room for noise.
They are those of a file of 500 KiB; an eighth of the file gets an eighth of them.
"""

from __future__ import annotations

import random
import tracemalloc
from itertools import count
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.protocol import (
    FIRST_MATCH,
    GOOGLE,
    GYM2008,
    MK1996,
    RFC9309,
    Dialect,
    RobotsTxt,
)
from scrapy_robots_plus.protocol.fields import Field
from scrapy_robots_plus.robotparser import RobotFileParser
from tests.protocol.hostile_files import FILES, hostile
from tests.protocol.worst_cases import (
    FILE_OCTETS,
    LETTERS,
    Plan,
    climb,
    full,
    loop,
    seconds,
    takes_less,
    untraced,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CALL_LOOPS = 30
DECISION_LOOPS = 4
PEAK_MIB = 100
EIGHTH = FILE_OCTETS // 8
SIXTEENTH = FILE_OCTETS // 16
DECISIONS = ("allowed", "verdict", "can_fetch")
AGENT = "Mozilla/5.0 (compatible; Bot/1.0; +https://bot.example)"


def questions(file: RobotsTxt, url: str, agent: str = AGENT) -> dict[str, Callable[[], object]]:
    """Everything that can be asked of a file."""
    return {
        "allowed": lambda: file.allowed(url, agent),
        "verdict": lambda: file.verdict(url, agent),
        "explain": lambda: file.explain(url, agent),
        "crawl_delay": lambda: file.crawl_delay(agent),
        "request_rate": lambda: file.request_rate(agent),
        "visit_time": lambda: file.visit_time(agent),
        "names_for": lambda: file.names_for(agent),
        "groups_for": lambda: file.groups_for(agent),
        "rules_for": lambda: RobotsTxt.rules_for(file, "another"),
        "compact": lambda: file.rules_for(agent).compact(),
        "groups": lambda: file.groups,
        "lines": lambda: list(file.lines),
        "size": lambda: file.size,
        "sitemaps": lambda: file.sitemaps,
        "host": lambda: file.host,
        "clean_params": lambda: file.clean_params,
        "licenses": lambda: file.licenses,
        "addressed_as": lambda: file.addressed_as(agent),
        "uses_for_all": lambda: file.uses_for_all,
        "file_wide": lambda: list(file.file_wide(Field.LICENSE)),
        "as_text": lambda: file.as_text(),
        "repr": lambda: repr(file),
    }


def of_the_standard_parser(body: bytes, url: str) -> dict[str, Callable[[], object]]:
    """Everything that can be asked of a ``RobotFileParser``."""
    parser = RobotFileParser()
    lines = body.decode().splitlines()
    parser.parse(lines)
    return {
        "parse": lambda: parser.parse(lines),
        "can_fetch": lambda: parser.can_fetch(AGENT, url),
        "verdict": lambda: parser.verdict(AGENT, url),
        "explain": lambda: parser.explain(AGENT, url),
        "crawl_delay": lambda: parser.crawl_delay(AGENT),
        "request_rate": lambda: parser.request_rate(AGENT),
        "site_maps": lambda: parser.site_maps(),
        "str": lambda: str(parser),
    }


def asked(
    body: bytes, url: str, dialect: Dialect = RFC9309
) -> Iterator[tuple[str, Callable[[], object]]]:
    """Each question."""
    yield "parse", lambda: RobotsTxt.parse(body, dialect)
    file = RobotsTxt.parse(body, dialect)
    file.allowed("/", AGENT)
    yield from questions(file, url).items()


def test_every_public_question_is_asked_here() -> None:
    public = {name for name in dir(RobotsTxt) if not name.startswith("_")}
    asked = set(questions(RobotsTxt.parse(""), "/"))
    # The last is asked through the delays, the others cost nothing.
    assert public - asked == {"parse", "dialect", "members"}


def most(question: str, octets: int = FILE_OCTETS) -> float:
    """Loops that a question may take of a file of this size."""
    return (DECISION_LOOPS if question in DECISIONS else CALL_LOOPS) * octets / FILE_OCTETS


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_costs_no_more_than_a_long_one(name: str) -> None:
    body, url = hostile(name, SIXTEENTH), FILES[name][1]
    for question, ask in asked(body, url):
        assert takes_less(ask, most(question, SIXTEENTH)), question


@pytest.mark.stress
@pytest.mark.parametrize(
    "dialect", [RFC9309, GOOGLE, GYM2008, MK1996, FIRST_MATCH], ids=lambda each: each.name
)
@pytest.mark.parametrize("name", FILES)
def test_nor_does_one_of_500_kib_in_any_dialect(name: str, dialect: Dialect) -> None:
    body, url = hostile(name), FILES[name][1]
    for question, ask in asked(body, url, dialect):
        assert takes_less(ask, most(question)), question


@pytest.mark.stress
@pytest.mark.parametrize("name", FILES)
def test_as_the_standard_librarys_parser(name: str) -> None:
    for question, ask in of_the_standard_parser(hostile(name), FILES[name][1]).items():
        assert takes_less(ask, most(question)), question


@pytest.mark.stress
@pytest.mark.parametrize("name", FILES)
def test_a_file_twice_as_long_costs_twice_as_much(name: str) -> None:
    too_much = set(grows_too_much(name))
    for _ in range(4):  # what grows too much does so each time; the machine's noise does not
        if not too_much:
            break
        too_much &= set(grows_too_much(name))
    assert not too_much


def grows_too_much(name: str) -> Iterator[str]:
    """The questions that cost over three times as much for a file twice as long."""
    url = FILES[name][1]
    single = dict(asked(hostile(name, FILE_OCTETS // 2), url))
    for question, ask in asked(hostile(name, FILE_OCTETS), url):
        # Four times would be quadratic. What takes next to nothing is not compared.
        if seconds(ask) >= 3.2 * seconds(single[question]) + 0.3 * loop():
            yield question


MEMORY = ["agents and rules", "letters"]


@pytest.mark.parametrize("name", MEMORY)
def test_no_question_of_an_eighth_of_a_long_file_takes_an_eighth_of_100_mib(name: str) -> None:
    body = hostile(name, EIGHTH)
    peaks(body, FILES[name][1], PEAK_MIB / 8, {"explain", "crawl_delay", "rules_for"})


@pytest.mark.stress
@pytest.mark.parametrize("name", FILES)
def test_no_question_of_any_file_takes_100_mib(name: str) -> None:
    peaks(hostile(name), FILES[name][1], PEAK_MIB)


@untraced()
def peaks(body: bytes, url: str, mib: float, names: set[str] | None = None) -> None:
    tracemalloc.start()
    try:
        file = RobotsTxt.parse(body)
        for name, ask in questions(file, url).items():
            if names is None or name in names:
                ask()
                assert tracemalloc.get_traced_memory()[1] < mib * 2**20, name
    finally:
        tracemalloc.stop()


LONG_URL = 16_000
LONG_URL_MIB = 10


def long_url(octets: int) -> str:
    """As long as a redirect's URL may be, and hardly a few octets of it stand in it twice."""
    return "/" + "".join(random.Random(1).choices(LETTERS, k=octets - 1))


def parts_of_all_lengths(url: str, octets: int) -> bytes:
    """Rules with wildcards, whose parts the URL has."""
    random_ = random.Random(2)

    def rule(number: int) -> str:
        size, at = 2 + number % 31, random_.randrange(1, len(url) - 40)
        return f"Disallow: /*{url[at : at + size]}*{number}%00"

    return full(map(rule, count()), size=octets).encode()


@pytest.mark.parametrize(
    "octets", [1_000, FILE_OCTETS // 4, pytest.param(FILE_OCTETS, marks=pytest.mark.stress)]
)
@untraced()
def test_a_long_url_costs_no_more_than_a_usual_one_of_a_hostile_file(octets: int) -> None:
    url = long_url(LONG_URL)
    file = RobotsTxt.parse(parts_of_all_lengths(url, octets))
    assert file.allowed(url, AGENT)
    for name in ("allowed", "verdict", "explain"):
        ask = questions(file, url)[name]
        assert takes_less(ask, most(name, max(octets, 10_000)))
        tracemalloc.start()
        try:
            ask()
            assert tracemalloc.get_traced_memory()[1] < LONG_URL_MIB << 20, name
        finally:
            tracemalloc.stop()


@pytest.mark.stress
@pytest.mark.parametrize("name", FILES)
def test_no_hostile_file_makes_a_url_of_64_kib_take_50_mib_or_cost_ten_times_as_much(
    name: str,
) -> None:
    url = (FILES[name][1] * 64)[: 64 << 10]
    file = RobotsTxt.parse(hostile(name))
    for question in ("allowed", "verdict"):
        ask = questions(file, url)[question]
        assert takes_less(ask, 10 * most(question)), question
        tracemalloc.start()
        try:
            ask()
            assert tracemalloc.get_traced_memory()[1] < 50 << 20, question
        finally:
            tracemalloc.stop()


@pytest.mark.stress
def test_many_crawlers_that_share_a_long_group_take_no_more_than_one() -> None:
    agents = "".join(f"User-agent: bot{letter}\n" for letter in "abcdefghijklmnop")
    rules = full((f"Disallow: /*{number}*x" for number in range(40_000)), agents, 400_000)
    own = "".join(
        f"User-agent: bot{letter}\nDisallow: /{letter}\n" for letter in "abcdefghijklmnop"
    )
    file = RobotsTxt.parse(rules + own)
    tracemalloc.start()
    try:
        for letter in "abcdefghijklmnop":
            assert not file.allowed(f"/{letter}", f"bot{letter}")
        assert tracemalloc.get_traced_memory()[1] < PEAK_MIB << 20
    finally:
        tracemalloc.stop()


def test_a_rule_of_thousands_of_wildcards_overflows_nothing() -> None:
    stars = "*a*b" * 4000
    file = RobotsTxt.parse(
        "User-agent: *\n" + "".join(f"Disallow: /{stars[:size]}\n" for size in range(1, 16_000, 97))
    )
    assert not file.allowed("/" + "ab" * 1000, "bot")
    assert not file.allowed("/a", "bot")
    assert file.explain("/" + "ab" * 100, "bot").beaten


def cost_of(question: str) -> Callable[[Plan], float]:
    """What a question costs of the file and the URL of a plan."""

    def cost(plan: Plan) -> float:
        body = full(plan.rules()).encode()
        if question == "parse":
            return seconds(lambda: RobotsTxt.parse(body), 1)
        file = RobotsTxt.parse(body)
        file.allowed("/", AGENT)
        return seconds(questions(file, plan.path())[question], 2)

    return cost


@pytest.mark.stress
@pytest.mark.parametrize("question", ["parse", *questions(RobotsTxt.parse(""), "/")])
def test_a_search_for_the_worst_case_finds_none_over_the_bound(question: str) -> None:
    cost = cost_of(question)
    worst = climb(cost, seed=9309, budget=40 if question in DECISIONS else 10)
    assert worst.tried > 3
    # Asked again, so that a hiccup of the machine is not taken for a worst case.
    assert min(worst.cost, cost(worst.plan)) < most(question) * loop(), worst
