"""What each status and each failure means by each preset, and how a project says otherwise."""

from __future__ import annotations

import re

import pytest

from scrapy_robots_plus.origins.freshness import FetchResult
from scrapy_robots_plus.protocol.access import (
    PRESETS,
    Access,
    Failure,
    Outcome,
    access_of,
    status_table,
)
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage.record import RobotsRecord

R, A, D = Access.RULES, Access.UNAVAILABLE, Access.UNREACHABLE
NAMES = ("rfc9309", "mk1996", "fail-open", "fail-closed")
MEANINGS: list[tuple[Outcome, tuple[Access, ...]]] = [
    (100, (D, A, A, D)),
    (200, (R, R, R, R)),
    (206, (R, R, R, R)),
    (299, (R, R, R, R)),
    (300, (D, A, A, D)),
    (304, (D, A, A, D)),
    (400, (A, A, A, D)),
    (401, (A, D, A, D)),
    (403, (A, D, A, D)),
    (404, (A, A, A, A)),
    (407, (D, A, A, D)),
    (410, (A, A, A, A)),
    (429, (D, A, A, D)),
    (499, (A, A, A, D)),
    (500, (D, A, A, D)),
    (503, (D, A, A, D)),
    (599, (D, A, A, D)),
    (600, (D, A, A, D)),
    (999, (D, A, A, D)),
    *(
        (failure, (A if failure is Failure.REDIRECTS else D, A, A, D))
        for failure in Failure
    ),
]  # fmt: skip


@pytest.mark.parametrize(("outcome", "meanings"), MEANINGS, ids=str)
def test_by_preset(outcome: Outcome, meanings: tuple[Access, ...]) -> None:
    assert tuple(PRESETS) == NAMES
    assert tuple(access_of(outcome, PRESETS[name]) for name in NAMES) == meanings


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_is_named_in_any_case(name: str) -> None:
    assert status_table(name) == status_table(name.upper()) == PRESETS[name]
    assert status_table({"preset": name}) == status_table({"PRESET": name.upper()}) == PRESETS[name]


def test_a_dict_is_laid_over_rfc9309_unless_it_names_a_preset() -> None:
    assert status_table({}) == PRESETS["rfc9309"]
    assert status_table({"403": "disallow"}) == {**PRESETS["rfc9309"], "403": D}
    assert status_table({"preset": "mk1996", "403": "allow"}) == {**PRESETS["mk1996"], "403": A}


@pytest.mark.parametrize(
    "key",
    [
        *("100", "404", "999", "1xx", "2xx", "3xx", "4xx", "5xx", "other", "timeout", "dns"),
        *("connection", "cut", "undecodable", "challenge", "redirects"),
        *("bad_redirect", "error"),
    ],
)
@pytest.mark.parametrize(("word", "access"), [("allow", A), ("disallow", D)])
def test_what_each_key_may_be_set_to(key: str, word: str, access: Access) -> None:
    assert status_table({key: word})[key] is access
    assert status_table({key.upper(): word.upper()})[key] is access


def test_a_number_is_as_good_as_its_text() -> None:
    assert status_table({404: "disallow"}) == status_table({"404": "disallow"})


def test_a_status_goes_before_its_class() -> None:
    table = status_table({"5xx": "allow", "503": "disallow", "other": "allow"})
    assert [access_of(status, table) for status in (500, 503, 99, 777)] == [A, D, A, A]


def test_a_change_leaves_the_presets_as_they_are() -> None:
    before = dict(PRESETS["rfc9309"])
    with pytest.raises(TypeError):
        status_table({"404": "disallow"})["404"] = A  # type: ignore[index]
    with pytest.raises(TypeError):
        status_table("rfc9309")["404"] = D  # type: ignore[index]
    assert PRESETS["rfc9309"] == before


EITHER = "expected a dict or a preset: rfc9309, mk1996, fail-open, fail-closed"
PRESET_NAMES = "choose one of rfc9309, mk1996, fail-open, fail-closed"
KEYS = (
    "is not a status (404), a class (1xx, 2xx, 3xx, 4xx, 5xx, other) or a failure "
    "(timeout, dns, connection, cut, undecodable, challenge, redirects, bad_redirect, error)"
)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("rfc", f"'rfc' is not a preset; {PRESET_NAMES}"),
        ({"preset": "x"}, f"'x' is not a preset; {PRESET_NAMES}"),
        ({"preset": None}, f"None is not a preset; {PRESET_NAMES}"),
        (404, EITHER),
        (["404"], EITHER),
        ({"99": "allow"}, f"'99' {KEYS}"),
        ({"1000": "allow"}, f"'1000' {KEYS}"),
        ({"٤٠٤": "allow"}, f"'٤٠٤' {KEYS}"),
        ({"6xx": "allow"}, f"'6xx' {KEYS}"),
        ({"teapot": "allow"}, f"'teapot' {KEYS}"),
        ({"404": "maybe"}, "'404' is 'maybe'; expected 'allow' or 'disallow'"),
        ({"404": True}, "'404' is True; expected 'allow' or 'disallow'"),
    ],
)
def test_what_it_cannot_be_is_told(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        status_table(value)


def test_as_text_they_are_what_is_stored_and_shown() -> None:
    assert list(map(str, Access)) == ["rules", "unavailable", "unreachable"]
    assert [f"{failure}" for failure in Failure] == [failure.value for failure in Failure]


@pytest.mark.parametrize(
    ("access", "outcome", "readable"),
    [
        (Access.RULES, 200, True),
        (Access.UNAVAILABLE, 404, True),
        (Access.UNREACHABLE, 403, False),
        (Access.UNAVAILABLE, 503, False),
        (Access.UNREACHABLE, Failure.DNS, False),
    ],
)
def test_a_record_is_readable_if_the_site_ever_gave_an_answer(
    access: Access, outcome: Outcome, readable: bool
) -> None:
    origin = Origin("http", "x.example", 80)
    record = RobotsRecord(origin, access, outcome, origin.robots_url, 0.0, 0.0)
    assert record.readable is readable


def test_what_nobody_says_of_an_answer_is_nothing() -> None:
    origin = Origin("http", "x.example", 80)
    result = FetchResult(200, origin.robots_url)
    assert (result.body, result.headers, result.detail) == (b"", {}, "")
    assert (result.not_modified, result.interrupted, result.replayed) == (False, False, False)
    record = RobotsRecord(origin, Access.RULES, 200, origin.robots_url, 0.0, 0.0)
    assert (record.headers, record.sha256, record.body) == ({}, "", b"")
    failure = (record.failure, record.failures, record.failed_at, record.retry_in)
    assert failure == (None, 0, 0.0, 0.0)


def test_each_failure_is_explained_in_words() -> None:
    for failure in Failure:
        assert failure.words[0].islower()
        assert failure.words != str(failure)
    shown = {str(each): each.words for each in (Failure.DNS, Failure.UNDECODABLE)}
    assert shown == {
        "dns": "the host name has no address",
        "undecodable": "the body is not what its Content-Encoding says",
    }
