"""What answers say is left of a limit is read, and believed while it comes true."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import Response

from scrapy_robots_plus.hosts.answers import said_in
from scrapy_robots_plus.hosts.quota import Left, Quota, left_in
from tests.protocol.worst_cases import seconds

NOW = 1_800_000_000.0
LATER = "2027-01-15T08:00:30Z"
"""30 s after NOW."""
R, P = "ratelimit", "ratelimit-policy"
LONG = "9" * 16


def x(remaining: str, reset: str, prefix: str = "x-ratelimit-") -> dict[str, str]:
    return {f"{prefix}remaining": remaining, f"{prefix}reset": reset}


@pytest.mark.parametrize(
    ("headers", "left"),
    [
        ({}, None),
        # Draft 11
        ({R: '"default";r=50;t=30'}, (50, 30)),
        ({R: '"default";r=0;t=30', P: '"default";q=100;w=60'}, (0, 30)),
        ({R: '"default";r=0', P: '"default";q=100;w=60'}, (0, 60)),
        ({R: '"default";r=0', P: '"other";q=100;w=60'}, None),
        ({R: '"default";r=0'}, None),
        ({R: '"default";t=30'}, None),
        ({P: '"default";q=100;w=60'}, None),
        ({R: '"burst";r=5;t=1, "daily";r=900;t=40000'}, (5, 1)),
        ({R: '"burst";r=5;t=1, "daily";r=2;t=40000'}, (2, 40_000)),
        ({R: '"burst";r=0;t=1, "daily";r=0;t=40000'}, (0, 40_000)),
        ({R: '"a";r=5;t=1;pk=:sdfjLJUOUH==:'}, (5, 1)),
        ({R: '"a";r=5;t=1;new="x";other'}, (5, 1)),
        ({R: '  "a" ; r=5'}, None),
        ({R: '"a";r=5;t=-1'}, None),
        ({R: '"a";r=-5;t=1'}, None),
        ({R: '"a";r=5.5;t=1'}, None),
        ({R: '"a";r=?1;t=1'}, None),
        ({R: f'"a";r={LONG};t=1'}, None),
        ({R: '"a";r=5;t=1,'}, None),
        ({R: '"a";r=5;t=1 "b"'}, None),
        ({R: "default;r=5;t=1"}, (5, 1)),
        ({R: "("}, None),
        ({R: "(a b);r=5;t=1"}, (5, 1)),
        ({R: "\xff"}, None),
        ({R: ""}, None),
        ({R: '"a";r=5;t=1', P: "\xff"}, None),
        ({R: '"a";r=5;t=1', P: '"a";q=1000;w=1;qu="content-bytes"'}, None),
        ({R: '"a";r=5;t=1', P: '"a";q=10;qu="concurrent-requests"'}, None),
        ({R: '"a";r=5;t=1', P: '"a";q=10;qu="requests"'}, (5, 1)),
        ({R: '"a";r=5;t=1, "b";r=1;t=1', P: '"b";q=9;qu="content-bytes"'}, (5, 1)),
        # Draft 07: a Dictionary; not read
        ({R: "limit=100, remaining=50, reset=30"}, None),
        # Up to draft 06, and what most sites have
        (x("50", "30", "ratelimit-"), (50, 30)),
        (x("50", "30"), (50, 30)),
        (x("0", "0"), (0, 0)),
        (x(" 50 ", " 30 "), (50, 30)),
        (x("50", "1.5"), (50, 1.5)),
        (x("50", f"{NOW + 30:.0f}"), (50, 30)),
        (x("50", f"{NOW + 30:.3f}"), (50, 30)),
        (x("50", f"{(NOW + 30) * 1000:.0f}"), (50, 30)),
        (x("50", f"{NOW - 30:.0f}"), (50, -30)),
        (x("50", LATER), (50, 30)),
        (x("50", LATER.replace("Z", ".000Z")), (50, 30)),
        (x("50", "4102444800"), (50, 4_102_444_800 - NOW)),  # the year 2100
        (x("-1", "30"), None),
        (x("50", "-30"), None),
        (x("", "30"), None),
        (x("50", ""), None),
        (x("many", "30"), None),
        (x("50", "soon"), None),
        (x("50", "soonZ"), None),
        (x("50", "Z"), None),
        (x("50", "2027-01-15Z"), None),
        (x("50", "2027-W03Z"), None),
        (x("40, 1000", "30, 60"), None),
        (x("1e3", "30"), None),
        (x("nan", "inf"), None),
        (x("0\x1f", "30"), None),
        (x("٥", "30"), None),
        (x(LONG, "30"), None),
        ({"x-ratelimit-remaining": "5"}, None),
        ({"x-ratelimit-limit": "5", "x-ratelimit-reset": "5"}, None),
        # Several
        ({**x("9", "30"), **x("3", "60", "ratelimit-")}, (3, 60)),
        ({**x("9", "30"), R: '"a";r=5;t=1'}, (5, 1)),
        ({**x("9", "30"), R: "broken("}, (9, 30)),
    ],
)
def test_what_an_answer_says(headers: dict[str, str], left: tuple[float, float] | None) -> None:
    found = left_in(headers, NOW)
    assert found == (None if left is None else pytest.approx(left))


def test_headers_that_come_in_several_lines_are_one_list() -> None:
    """RFC 9651 4.2; of the older ones, which are numbers, the last counts."""
    lines = {
        "RateLimit": ['"a";r=0;t=30', '"b";r=5'],
        "RateLimit-Policy": ['"a";q=9;w=60', '"b";q=9;w=60'],
        "X-RateLimit-Remaining": ["3", "2"],
        "X-RateLimit-Reset": ["9", "8"],
    }
    assert said_in(Response("http://a.example/", headers=lines), NOW).left == (0, 30)
    older = {name: each for name, each in lines.items() if name.startswith("X")}
    assert said_in(Response("http://a.example/", headers=older), NOW).left == (2, 8)


def test_many_limits_are_read_in_linear_time() -> None:
    def read(times: int) -> float:
        limits, policies = (
            ", ".join(f'"{number}";{rest}' for number in range(times))
            for rest in ("r=9;t=9", "q=9;w=9")
        )
        return seconds(lambda: left_in({R: limits, P: policies}, NOW))

    assert read(4_000) < 40 * max(read(400), 0.0005)


@given(st.dictionaries(st.sampled_from([R, P, *x("", ""), *x("", "", "ratelimit-")]), st.text()))
def test_any_text_is_read(headers: dict[str, str]) -> None:
    latin = {name: text.encode("utf-8").decode("latin-1") for name, text in headers.items()}
    left_in(latin, NOW)


def hear(quota: Quota, *answers: str, now: float = 0.0, under_way: int = 0) -> list[bool]:
    """Each of *answers* is ``LEFT/SECONDS``, after a ``!`` if it is a refusal; ``-``: it does not
    say.
    """
    used_up = []
    for answer in answers:
        requests, _, seconds = answer.removeprefix("!").partition("/")
        left = None if requests == "-" else Left(float(requests), float(seconds))
        is_refused = answer.startswith("!")
        used_up.append(quota.heard(left, now, under_way, is_refused=is_refused))
    return used_up


@pytest.mark.parametrize(
    ("answers", "wait"),
    [
        ("5/60", 0),
        ("0/60", 0),  # it has not counted
        ("0/60 0/60 0/60 0/60", 0),
        ("1/60 1/60 1/60 1/60", 0),
        ("2/5 1/5", 0),
        ("2/5 1/5 0/5", 5),
        ("1/5 0/5", 5),
        ("1/60 0/60", 8),  # nothing was refused so far
        ("1/60 0/60 !0/59", 59),
        ("!0/60 1/60 0/60", 60),
        ("!0/60", 0),
        ("1/60 !0/60", 0),
        ("1/5 0/5 0/5", 0),  # answered although nothing was left
        ("1/5 0/5 0/5 1/5 0/5", 0),  # and never believed again
        ("1/5 0/5 3/5", 0),
        ("1/5 0/5 3/60 2/60 0/60", 60),
        ("1/5 0/5 -", 0),  # not of the whole host
        ("1/5 0/5 - 0/5", 0),
        ("1/5 0/5 !-", 5),
        ("1/0 0/0", 0),
        ("1/-1 0/-1", 0),
        ("1/-30 0/-30", 0),
        ("1/301 0/301", 0),
        ("1/300 !0/300 0/300", 300),
        ("1/2300000000 0/2300000000", 0),
    ],
)
def test_how_long_a_host_is_left_alone(answers: str, wait: float) -> None:
    quota = Quota(300.0)
    hear(quota, *answers.split())
    assert max(quota.due_at, 0.0) == wait


def test_what_is_under_way_may_not_be_counted_yet() -> None:
    quota = Quota(300.0)
    assert hear(quota, "9/5", "8/5", under_way=7) == [False, False]
    assert quota.due_at < 0
    quota.handed_over(1.0)
    assert quota.due_at == 5.0
    hear(quota, "7/5", under_way=5, now=1.0)
    assert quota.due_at < 1.0


def test_answers_may_overtake_each_other() -> None:
    quota = Quota(300.0)
    hear(quota, "9/5", "8/5")
    hear(quota, "4/5", under_way=3)
    hear(quota, "5/5", under_way=2)
    assert quota.due_at < 0
    for _ in range(2):
        quota.handed_over(0.0)
    assert quota.due_at == 5.0


def test_an_answer_that_many_have_overtaken_raises_no_hope() -> None:
    """The slow answer to one of the first requests says what was left then."""
    quota = Quota(300.0)
    hear(quota, "9/5", "8/5", under_way=3)
    for said in "7/5", "6/5", "4/5", "3/5", "2/5", "1/5":
        hear(quota, said, under_way=3)
    assert quota.due_at == 5.0
    quota.heard(Left(5, 5.0), 0.0, 0, is_refused=False, since=6)
    quota.handed_over(0.0)
    assert quota.due_at == 5.0
    quota.heard(Left(9, 5.0), 5.0, 0, is_refused=False, since=0)
    assert quota.due_at < 5.0


def test_after_a_pause_one_request_goes_first() -> None:
    quota = Quota(300.0)
    assert hear(quota, "2/5", "1/5", "0/5") == [False, False, True]
    assert quota.due_at == 5.0
    assert quota.is_on(5.0)
    quota.handed_over(5.0)
    assert quota.due_at == 10.0
    hear(quota, "2/5", now=5.1)
    assert quota.due_at < 5.1
    for _ in range(2):
        quota.handed_over(5.2)
    assert quota.due_at == pytest.approx(10.1)


def test_a_limit_that_is_far_holds_up_nothing() -> None:
    """At the end of a window of which much is left, no request waits for the next."""
    quota = Quota(300.0)
    hear(quota, "100/1", "99/1")
    for _ in range(20):
        quota.handed_over(2.0)
    assert quota.due_at < 2.0
    assert not quota.is_on(4.0)


def test_a_pause_that_changes_nothing_is_the_last() -> None:
    quota = Quota(300.0)
    hear(quota, "2/60", "1/60", "0/60")
    quota.handed_over(8.0)
    assert hear(quota, "0/60", now=8.1) == [False]
    assert quota.due_at < 8.1
    assert not quota.is_on(8.1)
    hear(quota, "9/60", "8/60", "0/60", now=9.0)
    assert quota.due_at < 9.0
    for _ in range(9):
        quota.handed_over(100.0)
    assert quota.due_at < 100.0


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5), st.floats(-5, 400), st.floats(0, 10), st.booleans(), st.booleans()
        )
    )
)
def test_no_pause_is_longer_than_the_longest(
    answers: list[tuple[int, float, float, bool, bool]],
) -> None:
    quota, now = Quota(300.0), 0.0
    for requests, after, passed, is_refused, is_sent in answers:
        now += passed
        if is_sent and now >= quota.due_at:
            quota.handed_over(now)
        quota.heard(Left(requests, after), now, requests // 2, is_refused=is_refused)
        assert quota.due_at <= now + 300.0
