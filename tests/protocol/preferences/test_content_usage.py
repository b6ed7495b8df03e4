"""Values of Content-Usage: accepted, odd and broken ones, each with its meaning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.protocol import RobotsTxt
from scrapy_robots_plus.protocol.preferences import Preference, Source, Statement, combine
from scrapy_robots_plus.protocol.preferences.in_file import FilePreferences
from scrapy_robots_plus.protocol.preferences.values import (
    usage,
    usage_header,
    usage_rule,
)
from tests.protocol.worst_cases import seconds

ALLOW, DISALLOW, UNKNOWN = Preference.ALLOW, Preference.DISALLOW, Preference.UNKNOWN
ALL_UNKNOWN = {"train-ai": UNKNOWN, "ai-use": UNKNOWN, "search": UNKNOWN}

ACCEPTED = {
    # The examples of draft-ietf-aipref-vocab-08.
    "train-ai=y, search=n": {"train-ai": ALLOW, "search": DISALLOW},
    'train-ai=y, train-ai, search=n, search="n"': {"train-ai": UNKNOWN, "search": UNKNOWN},
    "train-ai;allow=n, train-ai=y": {"train-ai": ALLOW},
    'train-ai;has;parameters="?"': {"train-ai": UNKNOWN},
    "train-ai=n": {"train-ai": DISALLOW},
    "train-ai=y": {"train-ai": ALLOW},
    "ai-use=n": {"ai-use": DISALLOW},
    "search=y,ai-use=n,train-ai=n": {"search": ALLOW, "ai-use": DISALLOW, "train-ai": DISALLOW},
    "train-ai=n;why=money": {"train-ai": DISALLOW},
    'train-ai=n;until=@1893456000;note="x, y"': {"train-ai": DISALLOW},
    "": {},
    # Keys that the vocabulary does not have are ignored.
    "bots=n": {},
    "train-genai=n": {},
    "bots=n, train-ai=y": {"train-ai": ALLOW},
    "train-ai=y, license=(a b), *=n": {"train-ai": ALLOW},
    "train-ai.=n": {},
    "*train-ai=n": {},
}
ODD = {
    # Tokens other than y and n.
    "train-ai=no": {"train-ai": UNKNOWN},
    "train-ai=yes": {"train-ai": UNKNOWN},
    "train-ai=N": {"train-ai": UNKNOWN},
    "train-ai=Y": {"train-ai": UNKNOWN},
    "train-ai=*": {"train-ai": UNKNOWN},
    "train-ai=maybe, search=y": {"train-ai": UNKNOWN, "search": ALLOW},
    # Values that are not tokens.
    "train-ai": {"train-ai": UNKNOWN},
    "train-ai=?0": {"train-ai": UNKNOWN},
    "train-ai=?1": {"train-ai": UNKNOWN},
    "train-ai=0": {"train-ai": UNKNOWN},
    'train-ai="n"': {"train-ai": UNKNOWN},
    'train-ai=%"n"': {"train-ai": UNKNOWN},
    "train-ai=:bg==:": {"train-ai": UNKNOWN},
    "train-ai=@0": {"train-ai": UNKNOWN},
    "train-ai=(n)": {"train-ai": UNKNOWN},
    "train-ai=(n y), search=n": {"train-ai": UNKNOWN, "search": DISALLOW},
    # The last of equal keys counts.
    "train-ai=y, train-ai=n": {"train-ai": DISALLOW},
    "train-ai=n, train-ai=y": {"train-ai": ALLOW},
    "train-ai=n, train-ai=x": {"train-ai": UNKNOWN},
    "train-ai=n, ai-use=n, train-ai=y": {"train-ai": ALLOW, "ai-use": DISALLOW},
    # Keys and tokens that look broken.
    "n": {},
    "train-ai=n.": {"train-ai": UNKNOWN},
    # White space where it may be.
    "train-ai=n \t,\t search=y": {"train-ai": DISALLOW, "search": ALLOW},
    "train-ai=n;  a;  b=c": {"train-ai": DISALLOW},
}
BROKEN = (
    *("Train-AI=n", "TRAIN-AI=N", "search=y, Train-ai=n", "train_ai =n", "train-ai = n"),
    *("train-ai=n,", ",train-ai=n", "train-ai=n,,search=y", "train-ai=n; search=y; x=(1)"),
    *(
        "train-ai=n search=y",
        "train-ai:n",
        "train-ai==n",
        "train-ai=",
        "=n",
        "N",
        "train ai=n",
    ),
    *("train-ai=é", "träin-ai=n", 'train-ai="n', "train-ai='n'", "train-ai=(n"),
    *("!train-ai=n", "-train-ai=n", "{train-ai: n}", "train-ai=n\0", "*.pdf train-ai=n"),
    *("train-ai=n, 1=y", "train-ai=;", "train-ai=1.", "train-ai=:b:", "https://x.example/"),
)


@pytest.mark.parametrize(("value", "stated"), [*ACCEPTED.items(), *ODD.items()])
def test_what_a_value_states(value: str, stated: dict[str, Preference]) -> None:
    assert dict(usage(value.encode())) == stated


@pytest.mark.parametrize("value", BROKEN)
def test_all_is_unknown_if_a_value_is_broken(value: str) -> None:
    assert dict(usage(value.encode())) == ALL_UNKNOWN


@pytest.mark.parametrize(
    ("value", "path", "rest"),
    [
        ("train-ai=n", "", "train-ai=n"),
        ("", "", ""),
        ("/ train-ai=n", "/", "train-ai=n"),
        ("/a/*.pdf$ \t train-ai=n, search=y", "/a/*.pdf$", "train-ai=n, search=y"),
        ("/a\ttrain-ai=n", "/a", "train-ai=n"),
        ("/a\tb train-ai=n", "/a", "b train-ai=n"),
        ("/train-ai=n", "/train-ai=n", ""),
        ("/a", "/a", ""),
        ("/%20a x", "/%20a", "x"),
        ("*.pdf train-ai=n", "", "*.pdf train-ai=n"),
        ("a/ train-ai=n", "", "a/ train-ai=n"),
    ],
)
def test_a_path_may_come_first(value: str, path: str, rest: str) -> None:
    assert usage_rule(value.encode()) == (path.encode(), rest.encode())


def header(*values: str) -> dict[str, Preference]:
    statements = usage_header([value.encode() for value in values])
    assert all(each.source is Source.CONTENT_USAGE_HEADER for each in statements)
    return {each.category: each.preference for each in statements}


def test_a_header_states_the_same() -> None:
    assert usage_header([b"train-ai=n"]) == (
        Statement(
            "train-ai", DISALLOW, Source.CONTENT_USAGE_HEADER, "Content-Usage: train-ai=n", None
        ),
    )
    assert header() == {}
    assert header("") == {}


def test_several_headers_are_one_value() -> None:
    assert header("train-ai=n", "search=y") == {"train-ai": DISALLOW, "search": ALLOW}
    assert header("train-ai=n", "train-ai=y") == {"train-ai": ALLOW}
    assert header("train-ai=n", "!") == ALL_UNKNOWN
    assert header("train-ai=n", "") == ALL_UNKNOWN
    (statement,) = usage_header([b"train-ai=n", b"x=\xe9".replace(b"\xe9", b"1")])
    assert statement.text == "Content-Usage: train-ai=n, x=1"


def test_a_header_has_no_path() -> None:
    assert header("/ train-ai=n") == ALL_UNKNOWN


def test_the_examples_of_the_draft() -> None:
    """draft-ietf-aipref-attach-05, "Example"."""
    file = RobotsTxt.parse(
        "User-Agent: *\nAllow: /\nDisallow: /never/\nContent-Usage: train-ai=n\n"
        "Content-Usage: /ai-ok/ train-ai=y\n\n"
        "User-Agent: ExampleBot\nAllow: /\nContent-Usage: train-ai=y\n"
    )

    def preference(path: str, agent: str) -> Preference:
        return combine(FilePreferences(file, agent).statements(path)).of("train-ai")

    assert preference("/test", "another") is DISALLOW
    assert preference("/never/test", "another") is UNKNOWN
    assert preference("/ai-ok/test", "another") is ALLOW
    for path in ("/test", "/never/test", "/ai-ok/test"):
        assert preference(path, "ExampleBot") is ALLOW


@given(st.binary(max_size=200))
def test_any_octets_have_a_meaning(value: bytes) -> None:
    assert set(dict(usage(value))) <= set(ALL_UNKNOWN)
    path, rest = usage_rule(value)
    assert value.startswith(path)
    assert value.endswith(rest)
    usage_header([value, value])
    body = b"User-agent: *\nContent-Usage: " + value
    combine(FilePreferences(RobotsTxt.parse(body), "bot").statements("/")).as_dict()


@pytest.mark.parametrize("repeated", [" ", "\t", "/", "a=y,", "a=y, ", "(", '"', ";a", "*", "/ /"])
def test_time_grows_with_the_length(repeated: str) -> None:
    def work(size: int) -> float:
        value = (repeated * size)[:size].encode()
        return seconds(lambda: (dict(usage(usage_rule(value)[1])), usage_header([value])), 5)

    assert work(20_000) < 10 * work(5_000) + 0.001
