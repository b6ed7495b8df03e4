"""Values of Content-Signal: accepted, odd and broken ones, each with its meaning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.protocol import RobotsTxt
from scrapy_robots_plus.protocol.preferences import Preference, Source, Statement
from scrapy_robots_plus.protocol.preferences.in_file import FilePreferences
from scrapy_robots_plus.protocol.preferences.values import signal_header, signals
from tests.protocol.worst_cases import seconds

ALLOW, DISALLOW, UNKNOWN = Preference.ALLOW, Preference.DISALLOW, Preference.UNKNOWN

LEVELS = ("immediate", "reference", "full")


def up_to(level: str) -> list[tuple[str, Preference]]:
    """What ``use=`` *level* states: that much is allowed, and no more."""
    most = LEVELS.index(level)
    return [(f"use={each}", ALLOW if LEVELS.index(each) <= most else DISALLOW) for each in LEVELS]


ACCEPTED = {
    "search=yes": [("search", ALLOW)],
    "search=no": [("search", DISALLOW)],
    "ai-train=no": [("train-ai", DISALLOW)],
    "ai-train=yes": [("train-ai", ALLOW)],
    "ai-input=no": [("ai-use", DISALLOW)],
    "ai-input=yes": [("ai-use", ALLOW)],
    "search=yes, ai-input=no, ai-train=no": [
        ("search", ALLOW),
        ("ai-use", DISALLOW),
        ("train-ai", DISALLOW),
    ],
    # What Cloudflare's managed robots.txt says.
    "search=yes,ai-train=no,use=reference": [
        ("search", ALLOW),
        ("train-ai", DISALLOW),
        *up_to("reference"),
    ],
    "use=immediate": up_to("immediate"),
    "use=reference": up_to("reference"),
    "use=full": up_to("full"),
    "USE = Reference": up_to("reference"),
    "use=full, use=immediate": up_to("full") + up_to("immediate"),
    "": [],
}
ODD = {
    "Search=Yes, AI-Train=NO": [("search", ALLOW), ("train-ai", DISALLOW)],
    " search = yes ,\tai-train\t=\tno ": [("search", ALLOW), ("train-ai", DISALLOW)],
    "search=yes,": [("search", ALLOW)],
    ",,ai-train=no,,": [("train-ai", DISALLOW)],
    "ai-train=no, ai-train=no": [("train-ai", DISALLOW)] * 2,
    "ai-train=yes, ai-train=no": [("train-ai", ALLOW), ("train-ai", DISALLOW)],
    # Values other than yes and no.
    "search": [("search", UNKNOWN)],
    "search=": [("search", UNKNOWN)],
    "ai-train=n": [("train-ai", UNKNOWN)],
    "ai-train=y": [("train-ai", UNKNOWN)],
    "ai-train=false": [("train-ai", UNKNOWN)],
    "ai-train=0": [("train-ai", UNKNOWN)],
    "ai-train=maybe, search=yes": [("train-ai", UNKNOWN), ("search", ALLOW)],
    'ai-train="no"': [("train-ai", UNKNOWN)],
    "ai-train=no=no": [("train-ai", UNKNOWN)],
    "ai-train=no;search=yes": [("train-ai", UNKNOWN)],
    "ai-train=no search=yes": [("train-ai", UNKNOWN)],
    "ai-train=n\xf6": [("train-ai", UNKNOWN)],
    "use=everything": [("use", UNKNOWN)],
    "use": [("use", UNKNOWN)],
    "use=": [("use", UNKNOWN)],
    "use=yes": [("use", UNKNOWN)],
    "use=no": [("use", UNKNOWN)],
    "use=reference full": [("use", UNKNOWN)],
    'use="reference"': [("use", UNKNOWN)],
    "use=reference;q=1": [("use", UNKNOWN)],
    "use=full, use=everything": [*up_to("full"), ("use", UNKNOWN)],
}
BROKEN = (
    *("yes", "no", "=", "=no", "none", "ai_train=no", "ai-training=no", "train-ai=no", "ai=no"),
    *("ai-train:no", "ai train=no", "/blog/ ai-train=no", '{"ai-train": "no"}', "noai", "*=no"),
    *(
        "ai-tr\xe4in=no",
        "\0ai-train=no",
        "\u200bai-train=no",
        "-ai-train=no",
        "ai-train =no".replace(" ", "\0"),
    ),
)
"""Nobody has defined their keys: they say nothing."""


@pytest.mark.parametrize(("value", "stated"), [*ACCEPTED.items(), *ODD.items()])
def test_what_a_value_states(value: str, stated: list[tuple[str, Preference]]) -> None:
    assert list(signals(value.encode())) == stated


@pytest.mark.parametrize("value", BROKEN)
def test_keys_that_nobody_has_defined_say_nothing(value: str) -> None:
    assert list(signals(value.encode())) == []


def test_octets_that_are_not_utf_8_are_not_a_yes() -> None:
    assert list(signals(b"ai-train=no\xff, search=yes")) == [
        ("train-ai", UNKNOWN),
        ("search", ALLOW),
    ]


def test_a_header_states_the_same() -> None:
    served = "Content-Signal: search=yes, ai-train=no, search=yes"
    assert signal_header([b"search=yes, ai-train=no", b"search=yes"]) == (
        Statement("search", ALLOW, Source.CONTENT_SIGNAL_HEADER, served),
        Statement("train-ai", DISALLOW, Source.CONTENT_SIGNAL_HEADER, served),
    )
    assert signal_header([]) == ()


def test_an_absent_key_says_nothing() -> None:
    file = RobotsTxt.parse("User-agent: *\nContent-Signal: search=yes\n")
    (statement,) = FilePreferences(file, "bot").statements("/")
    assert statement == Statement(
        "search", ALLOW, Source.CONTENT_SIGNAL, "Content-Signal: search=yes", 2
    )


@given(st.binary(max_size=200))
def test_any_octets_have_a_meaning(value: bytes) -> None:
    uses = {"train-ai", "ai-use", "search", "use", *(f"use={level}" for level in LEVELS)}
    assert {category for category, _ in signals(value)} <= uses
    signal_header([value, value])
    body = b"User-agent: *\nContent-Signal: " + value
    FilePreferences(RobotsTxt.parse(body), "bot").statements("/")


@pytest.mark.parametrize("repeated", [" ", ",", "=", "search=yes,", "a", "\xff", "search=, "])
def test_time_grows_with_the_length(repeated: str) -> None:
    def work(size: int) -> float:
        value = (repeated * size)[:size].encode("latin-1")
        return seconds(lambda: (list(signals(value)), signal_header([value])), 3)

    assert work(20_000) < 10 * work(5_000) + 0.001
