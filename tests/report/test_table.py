"""The table that a crawl ends with."""

from __future__ import annotations

import logging
import random
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
import pytest_twisted
from scrapy import Request

from scrapy_robots_plus import RobotsMiddleware
from scrapy_robots_plus.origins.judging import Delay
from scrapy_robots_plus.origins.tally import Row, Tally
from scrapy_robots_plus.protocol.access import Access, Failure
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.report.table import headline, table
from tests.crawling import crawl, parts_of_seconds
from tests.samples import blocks
from tests.sites import Sites, answer, hang_up

if TYPE_CHECKING:
    from scrapy_robots_plus.origins.policy import Policy

LOGGER = "scrapy_robots_plus.extension"


def tally(**rows: Row) -> Tally:
    made = Tally(1_000)
    for name, row in rows.items():
        origin, request = Origin("http", f"{name}.example", 80), Request(f"http://{name}.example/")
        for _ in range(row.allowed):
            made.allow(request, origin, row.policy)
        for _ in range(row.denied):
            made.deny(request, origin, row.policy)
        if not (row.allowed or row.denied):
            made.allow(request, origin, row.policy)
            made.revoke(request, origin)
    return made


def policy(
    in_words: str,
    delay: float | None = None,
    asked: Delay | None = None,
    access: Access = Access.RULES,
    failure: Failure | None = None,
) -> Policy:
    values = {"in_words": in_words, "delay": delay, "asked_delay": asked, "access": access}
    record = SimpleNamespace(failure=failure)
    return cast("Policy", SimpleNamespace(**values, record=record))


RULES = policy("200, rules")
UNREACHABLE = Access.UNREACHABLE
DEAD = policy("timeout, all denied", access=UNREACHABLE)


def numbers(text: str) -> list[list[str]]:
    """The last two columns of each line, without commas."""
    return [line.replace(",", "").split()[-2:] for line in text.splitlines()[1:]]


def added_up(text: str) -> tuple[int, int]:
    """The sums of the columns "allowed" and "denied"."""
    allowed, denied = zip(*numbers(text), strict=True)
    return sum(map(int, allowed)), sum(map(int, denied))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ({"a": Row(1, 3)}, "1 site, 1 request allowed, 3 denied"),
        ({"a": Row(0, 1)}, "1 site, 0 requests allowed, 1 denied"),
        ({"a": Row(1200, 0), "b": Row(34, 5)}, "2 sites, 1,234 requests allowed, 5 denied"),
    ],
)
def test_one_is_not_many(rows: dict[str, Row], expected: str) -> None:
    assert headline(tally(**rows)) == expected


def test_each_column_is_as_wide_as_its_widest_cell() -> None:
    rows = {
        "dead": Row(0, 2, DEAD),
        "long": Row(2, 1, policy("200, now connection, rules")),
        "slow": Row(3, 0, policy("200, rules", 0.5, Delay(0.5, 0.5))),
        "late": Row(0, 0),
    }
    assert table(tally(**rows)).splitlines() == [
        "site                 robots.txt                  delay asked  delay kept  allowed  denied",
        "http://long.example  200, now connection, rules            -           -        2       1",
        "http://dead.example  timeout, all denied                   -           -        0       2",
        "http://slow.example  200, rules                        0.5 s       0.5 s        3       0",
        "http://late.example  not read                              -           -        0       0",
    ]


def test_a_crawl_that_keeps_no_delays_has_no_columns_for_them() -> None:
    assert table(tally(a=Row(1, 0, RULES)), delays=False).splitlines() == [
        "site              robots.txt  allowed  denied",
        "http://a.example  200, rules        1       0",
    ]


def test_those_that_are_denied_come_first_then_those_that_cannot_be_read_then_the_slow() -> None:
    slow = policy("200, rules", 2.0, Delay(2.0, 2.0))
    skipped = policy("200, rules", None, Delay(100.0, 60.0, skip=True))
    rows = {
        "open": Row(9, 0, RULES),
        "slow": Row(1, 0, slow),
        "slower": Row(1, 0, policy("200, rules", 5.0, Delay(5.0, 5.0))),
        "dead": Row(0, 9, DEAD),
        "skipped": Row(0, 5, skipped),
        "still-good": Row(3, 0, policy("200, now timeout, rules", failure=Failure.TIMEOUT)),
        "still-closed": Row(0, 2, policy("200, now timeout, rules", failure=Failure.TIMEOUT)),
        "closed": Row(0, 3, RULES),
        "partly": Row(2, 4, slow),
    }
    names = [line.split(".example")[0] for line in table(tally(**rows)).splitlines()[1:]]
    expected = "partly closed still-closed skipped dead still-good slower slow open"
    assert [name.removeprefix("http://") for name in names] == expected.split()


def test_thirty_dead_hosts_do_not_hide_the_rest() -> None:
    rows = {f"dead{number}": Row(0, 9, DEAD) for number in range(30)}
    rows["busy"] = Row(0, 1, policy("503, all denied", access=Access.UNREACHABLE))
    rows |= {f"open{number}": Row(1, 0, RULES) for number in range(40)}
    rows |= {f"partly{number}": Row(2, number, RULES) for number in range(1, 4)}
    text = table(tally(**rows))
    lines = text.splitlines()
    assert len(lines) == 21
    assert [line.split()[0] for line in lines[1:4]] == (
        [f"http://partly{number}.example" for number in (3, 2, 1)]
    )
    (dead,) = (line for line in lines if "more" in line and "timeout, all denied" in line)
    assert dead.split() == ["23", "more", "timeout,", "all", "denied", "-", "-", "0", "207"]
    assert [line for line in lines if "http://busy.example" in line]
    (rest,) = (line for line in lines if "more" in line and "200, rules" in line)
    assert rest.split() == ["33", "more", "200,", "rules", "-", "-", "33", "0"]
    assert added_up(text) == (40 + 6, 270 + 1 + 6)


def more_in(text: str) -> list[list[str]]:
    """The cells of the lines that are sums."""
    return [re.split(r"\s{2,}", line) for line in text.splitlines() if " more " in line]


def test_a_sum_says_how_many_of_its_sites_have_the_delay() -> None:
    slow = policy("200, rules", 1.0, Delay(1.0, 1.0))
    rows = {f"plain{number}": Row(1, 2, RULES) for number in range(80)}
    rows |= {f"slow{number}": Row(1, 1, slow) for number in range(7)}
    assert more_in(table(tally(**rows))) == [
        ["68 more", "200, rules", "1 s for 7", "1 s for 7", "68", "129"]
    ]


def test_a_sum_says_how_many_of_its_sites_are_closed() -> None:
    rows = {f"partly{number}": Row(1, 9, RULES) for number in range(326)}
    rows |= {f"closed{number}": Row(0, 1, RULES) for number in range(50)}
    assert more_in(table(tally(**rows))) == [
        ["357 more", "200, rules, 50 all denied", "-", "-", "307", "2,813"]
    ]


def test_a_sum_of_small_groups_says_how_many_cannot_be_read() -> None:
    rows = {f"open{number}": Row(9, 0, RULES) for number in range(30)}
    for status in range(500, 531):
        rows[f"dead{status}"] = Row(0, 1, policy(f"{status}, all denied", access=UNREACHABLE))
    skipped = policy("200, rules", None, Delay(100.0, 60.0, skip=True))
    rows |= {f"skipped{number}": Row(0, 1, skipped) for number in range(20)}
    text = table(tally(**rows))
    shown = sum("all denied  " in line and "more" not in line for line in text.splitlines())
    words = [(count, words) for count, words, *_ in more_in(text)]
    assert (f"{31 - shown} more", f"various, {31 - shown} unreadable") in words
    assert [words for _, words in words if words.endswith(" skipped")] == ["200, rules, 16 skipped"]


@pytest.mark.parametrize("seed", range(20))
def test_the_columns_add_up_to_the_headline_whatever_a_crawl_met(seed: int) -> None:
    dice = random.Random(seed)
    made = Tally(dice.choice([5, 50, 500]))
    kinds = [
        policy(
            f"{dice.choice([200, *range(500, 530)])}, rules",
            delay := dice.choice([None, None, dice.random() * 100]),
            None if delay is None else Delay(delay, delay, skip=dice.random() < 0.2),
            dice.choice(list(Access)),
        )
        for _ in range(dice.randrange(1, 40))
    ]
    request = Request("http://a.example/")
    for _ in range(dice.randrange(1, 2_000)):
        origin = Origin("http", f"{dice.randrange(1, 600)}.example", 80)
        happens = dice.choice([made.allow, made.deny])
        happens(request, origin, dice.choice([None, *kinds]))
    text = table(made)
    assert added_up(text) == (made.allowed, made.denied)
    shown = len([line for line in text.splitlines()[1:] if " more " not in line])
    more = re.findall(r"^([\d,]+) more ", text, re.MULTILINE)
    assert shown + sum(int(number.replace(",", "")) for number in more) == len(made)
    assert len(text.splitlines()) <= 21
    assert "1 more" not in [line[:6] for line in text.splitlines() if "forgotten" not in line]


def test_many_groups_of_a_few_are_shown_as_one() -> None:
    rows = {f"a{status}": Row(1, 0, policy(f"{status}, rules")) for status in range(200, 260)}
    rows |= {f"b{number}": Row(0, 1, DEAD) for number in range(10)}
    lines = table(tally(**rows)).splitlines()
    assert len(lines) <= 21
    assert lines[-1].split() == ["48", "more", "various", "-", "-", "48", "0"]
    assert len([line for line in lines if "timeout" in line]) == 7


def test_the_sum_of_slow_hosts_says_how_slow_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_robots_plus.report.table.MOST_LINES", 3)
    delays = [0.5, 1, 2, 3, 100]
    rows = {
        f"slow{delay}": Row(
            1, 0, policy("200, rules", min(delay, 60), Delay(delay, min(delay, 60)))
        )
        for delay in delays
    }
    *_, last = table(tally(**rows)).splitlines()
    assert re.split("  +", last) == ["3 more", "200, rules", "0.5 to 2 s", "0.5 to 2 s", "3", "0"]


def test_the_docs_show_a_table_as_it_is() -> None:
    def slow(seconds: float) -> Policy:
        return policy("200, rules", min(seconds, 60), Delay(seconds, min(seconds, 60)))

    day = policy("200, rules", None, Delay(86_400, 60, skip=True))
    busy = policy("503, all denied", access=Access.UNREACHABLE)
    rows = {"partly": Row(310, 120, RULES), "closed": Row(0, 48, RULES), "patient": Row(0, 5, day)}
    rows |= {f"dead{number}": Row(0, 1 + 6 // number, DEAD) for number in range(1, 31)}
    rows |= {"broken": Row(0, 1, busy), "slow": Row(9, 0, slow(100)), "calm": Row(80, 0, slow(10))}
    rows |= {f"calm{number}": Row(90, 0, slow(number / 2)) for number in range(1, 10)}
    rows |= {f"open{number}": Row(1_000 // number, 0, RULES) for number in range(1, 391)}
    made = tally(**rows)
    (shown,) = (block for block in blocks("text", "docs/end-of-crawl.md") if "more" in block)
    text = f"INFO: robots.txt (my_spider): {headline(made)}\n{table(made)}\n"
    assert shown == text


def test_origins_that_are_no_longer_known_are_a_line_too() -> None:
    made = Tally(1)
    for number in range(3):
        made.deny(Request("http://a.example/"), Origin("http", f"h{number}.example", 80), RULES)
    _, line, last = table(made).splitlines()
    assert line.startswith("http://h2.example ")
    assert re.split("  +", last) == ["2 more", "forgotten", "-", "-", "0", "2"]


@pytest.mark.parametrize(
    ("kept", "asked", "shown"),
    [
        (None, None, ["-", "-"]),
        (2.0, Delay(2.0, 2.0), ["2 s", "2 s"]),
        (60.0, Delay(100.0, 60.0), ["100 s", "60 s"]),
        (None, Delay(100.0, 60.0, skip=True), ["100 s", "skipped"]),
        (60.0, Delay(86_400.0, 60.0), ["86,400 s", "60 s"]),
        (60.0, Delay(1e300, 60.0), ["1e+300 s", "60 s"]),
        (0.0001, Delay(0.0001, 0.0001), ["0.0001 s", "0.0001 s"]),
    ],
)
def test_the_delay_that_was_asked_for_is_shown_beside_the_one_that_was_kept(
    kept: float | None, asked: Delay | None, shown: list[str]
) -> None:
    _, line = table(tally(a=Row(1, 1, policy("200, rules", kept, asked)))).splitlines()
    assert re.split("  +", line)[2:4] == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a" * 300 + ".shop.example", "http://" + "a" * 21 + "..." + "a" * 16 + ".shop.example"),
        ("\x1b[31mred\r\n.example", "http://\\x1b[31mred\\r\\n.example"),
    ],
    ids=["long", "hostile"],
)
def test_no_name_breaks_the_columns(name: str, shown: str) -> None:
    made = tally(a=Row(1, 0, RULES))
    made.allow(Request("http://a.example/"), Origin("http", name, 80), RULES)
    head, *lines = table(made).splitlines()
    assert [line for line in lines if line.startswith(shown + "  ")]
    assert {len(line) for line in lines} == {len(head)}
    assert len(head) <= 60 + 2 + 53


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_what_a_crawl_found_is_told_in_words_that_cannot_be_mistaken(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    answers = {
        "200, rules": answer("User-agent: *\nDisallow: /private/\n"),
        "404, all allowed": answer("", 404),
        "503, all denied": answer("", 503),
        "connection, all denied": hang_up,
        "skipped": answer("User-agent: *\nDisallow: /private/\nCrawl-delay: 100\n"),
    }
    hosts = {words: sites.host(reply) for words, reply in answers.items()}
    with caplog.at_level(logging.INFO, LOGGER):
        await crawl(
            *(host.url() for host in hosts.values()),
            ROBOTS_FETCH_RETRIES=0,
            ROBOTS_CRAWL_DELAY_TOO_LONG="skip",
        )
    (text,) = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    assert text.startswith("robots.txt (probe): 5 sites, 2 requests allowed, 3 denied\n")
    for words, host in hosts.items():
        (line,) = [line for line in text.splitlines() if line.startswith(f"{host.origin} ")]
        assert f" {words}  " in line


@pytest_twisted.ensureDeferred
async def test_a_policy_shows_what_it_is(sites: Sites) -> None:
    host = sites.host(answer("", 404))
    crawler = await crawl(host.url())
    (found,) = crawler.get_downloader_middleware(RobotsMiddleware).policies
    assert repr(found) == f"<Policy {host.origin}: 404, all allowed>"


def logged(caplog: pytest.LogCaptureFixture) -> str:
    (text,) = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    return text


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_a_crawl_of_many_hosts_is_told_in_groups(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    dead = [sites.host(hang_up) for _ in range(15)]
    live = [sites.host(answer("User-agent: *\nDisallow: /private/\n")) for _ in range(15)]
    slow = sites.host("User-agent: *\nDisallow: /private/\nCrawl-delay: 0.2\n")
    with caplog.at_level(logging.INFO, LOGGER):
        await crawl(
            *(host.url() for host in [*dead, *live, slow]),
            *(live[0].url(f"/private/{number}") for number in range(3)),
            ROBOTS_FETCH_RETRIES=0,
        )
    first, head, *lines = logged(caplog).splitlines()
    assert first == "robots.txt (probe): 31 sites, 16 requests allowed, 18 denied"
    assert len(lines) <= 20
    assert added_up("\n".join([head, *lines])) == (16, 18)
    assert lines[0].split()[-5:] == ["rules", "-", "-", "1", "3"]
    assert len([line for line in lines if "more  " in line]) == 2
    assert [line for line in lines if slow.origin in line and line.count("0.2 s") == 2]


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_delays_are_shown_where_they_alone_are_kept_and_nowhere_else(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host("User-agent: *\nDisallow: /\nCrawl-delay: 0.2\n")
    with caplog.at_level(logging.INFO, LOGGER):
        await crawl(host.url(), ROBOTSTXT_OBEY=False, ROBOTS_CRAWL_DELAY_OBEY=True)
        _, head, line = logged(caplog).splitlines()
        assert "delay kept" in head
        assert re.split("  +", line)[2:] == ["0.2 s", "0.2 s", "1", "0"]
        caplog.clear()
        await crawl(host.url(), ROBOTS_CRAWL_DELAY_OBEY=False)
        assert "delay" not in logged(caplog)
