"""How a site treats a crawl is learnt from the answers to several pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.protocol.standing import HEADERS, Site, Standing, is_challenge, standing_in

SHORT = {
    "challenge": (403, {"cf-mitigated": "challenge"}),
    "challenge200": (200, {"cf-mitigated": "Challenge "}),
    "blocked": (403, {"cf-mitigated": "block"}),
    "price": (403, {"crawler-price": "USD 0.01"}),
    "charged": (200, {"crawler-price": "USD 0.01"}),
    "licence": (401, {"www-authenticate": 'License error="invalid_request"'}),
    "basic": (401, {"www-authenticate": "Basic realm=x"}),
    "busy": (503, {"retry-after": "5"}),
}
FIVE = " ".join(f"403/{page}" for page in "abcde")


def after(answers: str) -> tuple[Site, list[Standing]]:
    """What a site is after each of *answers*: a status or a word of SHORT, a slash, the page."""
    site, stands = Site(), []
    for answer in answers.split():
        what, _, page = answer.partition("/")
        if what == "timeout":
            site.heard(page, Standing.BROKEN, what, is_clear=False)
        else:
            status, headers = SHORT.get(what) or (int(what), {})
            says, why, is_clear = standing_in(status, headers)
            site.heard(page, says, why, is_clear=is_clear)
        stands.append(site.standing)
    return site, stands


def test_the_headers_that_tell_are_named() -> None:
    assert set(HEADERS) == {name for _, headers in SHORT.values() for name in headers}


@pytest.mark.parametrize(
    ("answers", "standing"),
    [
        ("", "open"),
        # A wall
        (FIVE, "walled"),
        ("403/a 403/b 403/c 403/d", "open"),
        ("401/a 403/b 401/c 403/d 401/e", "walled"),
        ("basic/a basic/b basic/c basic/d basic/e", "walled"),
        ("403/a 403/a 403/a 403/a 403/a 403/a 403/a", "open"),
        ("403/a 403/b 403/a 403/b 403/a 403/b 403/c 403/d", "open"),
        ("403/a 403/b 403/c 200/d 403/e 403/f 403/g", "open"),
        ("403/a 403/b 403/c 404/d 403/e 403/f 403/g", "open"),
        ("403/a 403/b 403/c 301/d 403/e 403/f 403/g", "open"),
        ("challenge/a", "open"),
        ("challenge/a challenge/a challenge/a", "open"),
        ("challenge/a challenge/b", "walled"),
        ("challenge200/a challenge200/b", "walled"),
        ("challenge/a 200/b challenge/c", "open"),
        ("403/a challenge/b", "walled"),
        ("blocked/a blocked/b blocked/c blocked/d", "open"),
        ("blocked/a blocked/b blocked/c blocked/d blocked/e", "walled"),
        (f"{FIVE} 403/f 403/g", "walled"),
        (f"{FIVE} 200/f", "open"),
        (f"{FIVE} 404/f", "open"),
        (f"{FIVE} 200/f 403/g 403/h", "open"),
        (f"{FIVE} 429/f", "walled"),
        (f"{FIVE} 429/f 200/g", "open"),
        (f"{FIVE} 500/f", "walled"),
        (f"{FIVE} 402/f 402/g", "priced"),
        # A price
        ("402/a", "open"),
        ("402/a 402/b", "priced"),
        ("price/a price/b", "priced"),
        ("licence/a licence/b", "priced"),
        ("402/a licence/b", "priced"),
        ("charged/a charged/b", "open"),
        ("402/a 402/b 200/c", "open"),
        # A limit
        ("429/a 429/a", "open"),
        ("429/a 429/b", "limited"),
        ("429/a 200/x 200/y 429/b", "limited"),
        ("429/a 429/b 200/c 200/d", "limited"),
        ("busy/a busy/b", "limited"),
        ("429/a 429/b " + "200/c " * 19, "limited"),
        ("429/a 429/b " + "200/c " * 20, "open"),
        ("429/a 429/b " + "200/c " * 19 + "429/d " + "200/c " * 19, "limited"),
        ("429/a " + "200/c " * 20 + "429/b", "open"),
        (f"429/a 429/b {FIVE}", "walled"),
        # A failure
        ("500/a 502/b 503/c 504/d 520/e", "broken"),
        ("500/a 502/b 503/c 504/d", "open"),
        ("500/a 500/a 500/a 500/a 500/a 500/a", "open"),
        ("timeout/a timeout/b timeout/c timeout/d timeout/e", "broken"),
        ("500/a timeout/b 500/c timeout/d 500/e", "broken"),
        ("500/a 403/b 500/c 403/d 500/e 403/f 500/g 403/h 500/i", "open"),
        ("500/a 500/b 500/c 500/d 500/e 200/f", "open"),
        ("404/a 410/b 400/c 418/d 451/e 404/f", "open"),
    ],
)
def test_it_stands_as_several_pages_say(answers: str, standing: str) -> None:
    assert after(answers)[0].standing.value == standing


def test_it_is_told_once_when_it_changes() -> None:
    _, stands = after(f"{FIVE} 403/f 200/g 200/h")
    assert [str(each) for each in stands] == ["open"] * 4 + ["walled"] * 2 + ["open"] * 2
    site = Site()
    changes = [site.heard(page, Standing.BROKEN, "500", is_clear=False) for page in ("abcdefg")] + [
        site.heard("h", Standing.OPEN, "200", is_clear=False) for _ in range(2)
    ]
    assert changes == [False] * 4 + [True, False, False, True, False]


def test_it_remembers_why() -> None:
    assert after("402/a price/b")[0].why == "crawler-price: USD 0.01"
    assert after(f"{FIVE} 200/f")[0].why == "403"
    assert len(standing_in(402, {"crawler-price": "9" * 5_000})[1]) < 200  # of each host


@given(st.lists(st.sampled_from([200, 301, 401, 402, 403, 404, 429, 500, 503]), max_size=60))
def test_one_page_says_nothing_of_its_site(statuses: list[int]) -> None:
    site = Site()
    for status in statuses:
        says, why, is_clear = standing_in(status, {})
        assert not site.heard("/the/same", says, why, is_clear=is_clear)
    assert site.standing is Standing.OPEN


@given(st.lists(st.tuples(st.sampled_from([200, 402, 403, 429, 500]), st.integers(0, 1000))))
def test_it_is_small_whatever_comes(answers: list[tuple[int, int]]) -> None:
    site = Site()
    for status, page in answers:
        says, why, is_clear = standing_in(status, {})
        before = site.standing
        assert site.heard(str(page), says, why, is_clear=is_clear) is (before is not site.standing)
        assert len(site._urls) <= Site.SEVERAL
        if says is not Standing.OPEN and site.standing is not before:
            assert site.standing is says


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ("challenge", True),
        (" CHALLENGE", True),
        ("", False),
        ("block", False),
        ("challenged", False),
    ],
)
def test_a_challenge_is_named_so(value: str, is_one: bool) -> None:
    assert is_challenge({"cf-mitigated": value}) is is_one
    assert not is_challenge({})


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("challenge", (Standing.WALLED, "cf-mitigated: challenge", True)),
        ("basic", (Standing.WALLED, "401", False)),
        ("charged", (Standing.OPEN, "200", True)),
    ],
)
def test_what_one_answer_says(what: str, said: tuple[Standing, str, bool]) -> None:
    assert standing_in(*SHORT[what]) == said


def test_a_bad_request_does_not_speak_for_itself() -> None:
    assert standing_in(400, {}) == (Standing.OPEN, "400", False)
