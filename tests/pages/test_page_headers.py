"""What the headers of a response say, whatever octets they are made of."""

from __future__ import annotations

import json
import time
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.http import Response

from scrapy_robots_plus.pages.stamp import NOT_CHECKED, add_preferences
from scrapy_robots_plus.pages.x_robots_tag_and_meta_tags import said_in_headers
from scrapy_robots_plus.protocol.preferences import combine

URL = "http://a.example/x"
NAMES = ("Content-Usage", "Content-Signal", "X-Robots-Tag")
PARTS = (b"noai,", b"foobot:", b"a=1, ", b"train-ai=n;a=1;", b"(", b'"', b"\xff")


def response(**headers: Any) -> Response:
    return Response(URL, headers={name.replace("_", "-"): said for name, said in headers.items()})


def said(**headers: Any) -> dict[str, str]:
    preferences = combine(said_in_headers(response(**headers), "Foobot/1.0"))
    return {use: str(each) for use, each in preferences.by_category().items() if each != "unknown"}


DISALLOWED = {"train-ai": "disallow"}


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, {}),
        ({"Server": "x"}, {}),
        ({"Content_Usage": "train-ai=n"}, DISALLOWED),
        ({"content_usage": ["search=y", "train-ai=n"]}, {"search": "allow", **DISALLOWED}),
        ({"Content_Usage": ["train-ai=n", "train-ai=y"]}, {"train-ai": "allow"}),
        ({"Content_Usage": ["train-ai=n", "("]}, {}),
        ({"Content_Usage": ""}, {}),
        ({"Content_Signal": ["ai-train=yes", "ai-train=no"]}, DISALLOWED),
        ({"X_Robots_Tag": "noai"}, DISALLOWED),
        ({"X_Robots_Tag": ["noarchive", "Foobot: NOAI"]}, DISALLOWED),
        ({"X_Robots_Tag": "otherbot: noai"}, {}),
        ({"X_Robots_Tag": "noimageai"}, {}),
        ({"X_Robots_Tag": "noimageai", "Content_Type": " Image/PNG"}, DISALLOWED),
        ({"X_Robots_Tag": "noai", "Content_Usage": "train-ai=y"}, DISALLOWED),
    ],
)
def test_all_headers_count_together(headers: dict[str, Any], expected: dict[str, str]) -> None:
    assert said(**headers) == expected


@given(
    st.dictionaries(
        st.sampled_from([*NAMES, "Content-Type"]), st.lists(st.binary(max_size=80), max_size=3)
    )
)
def test_any_octets_make_a_stamp_that_json_takes(headers: dict[str, list[bytes]]) -> None:
    preferences = combine(said_in_headers(Response(URL, headers=headers), "Foobot/1.0"))
    request = Request(URL, meta={"robots": deepcopy(NOT_CHECKED)})
    add_preferences(request, preferences)
    stamp = request.meta["robots"]
    assert json.loads(json.dumps(stamp).encode()) == stamp


@pytest.mark.parametrize(
    ("name", "part"),
    [
        # By turns in `make test`.
        pytest.param(name, part, marks=[pytest.mark.stress] * ((place - turn) % len(NAMES) > 0))
        for turn, name in enumerate(NAMES)
        for place, part in enumerate(PARTS)
    ],
)
def test_time_grows_with_their_length_and_no_faster(name: str, part: bytes) -> None:
    """Ten times the octets may take thirty times as long, not a hundred."""

    def seconds(count: int) -> float:
        sent = Response(URL, headers={name: part * count})
        taken = []
        for _ in range(3):
            began = time.process_time()
            said_in_headers(sent, "Foobot/1.0")
            taken.append(time.process_time() - began)
        return min(taken)

    assert seconds(20_000) < 30 * max(seconds(2_000), 0.002)


@pytest.mark.parametrize("theirs", ["theirs", {"theirs": 1}])
def test_a_stamp_that_a_middleware_has_taken_stays_away(theirs: Any) -> None:
    request = Request(URL, meta={"robots": deepcopy(theirs)})
    add_preferences(request, combine(()))
    assert request.meta["robots"] == theirs
