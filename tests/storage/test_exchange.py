"""Records as lines of JSON: all of them come back, and nothing else is taken."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES
from scrapy_robots_plus.storage.exchange import (
    LineError,
    fields_of,
    line_of,
    most_characters,
    record_in,
)

from .records import START, never_read, rules

if TYPE_CHECKING:
    from scrapy_robots_plus.storage.record import RobotsRecord


def with_body(body: bytes, **changes: Any) -> RobotsRecord:
    return rules(1, body=body, sha256=sha256(body).hexdigest(), **changes)


def line(**changes: object) -> bytes:
    fields = {**line_of(rules(1)), **changes}
    return json.dumps({name: value for name, value in fields.items() if value is not ...}).encode()


@pytest.mark.parametrize(
    "record",
    [
        rules(1),
        rules(1, body=b"", sha256="", outcome=404, access=Access.UNAVAILABLE, headers={}),
        rules(1, failure=503, failures=3, failed_at=START + 9.25, retry_in=120.5),
        never_read(1),
        rules(1, is_cut=True),
        rules(1, origin=Origin("http", "2001:db8::1", 8080)),
        rules(1, origin=Origin("http", "2001:db8::1", 8080).tdmrep),
        rules(1, START + 0.1 + 0.2, url="http://b\u00fccher/"),
        with_body(b"\xef\xbb\xbfUser-agent: \xc3\xbc\x00\x85\r\n"),
        with_body(b"User-agent: \xfc\xff\n"),
    ],
    ids=[
        "rules",
        "unavailable",
        "failing",
        "never read",
        "cut",
        "ipv6",
        "tdmrep",
        "exact",
        "text",
        "octets",
    ],
)
def test_a_record_comes_back_as_it_was(record: RobotsRecord) -> None:
    text = json.dumps(line_of(record))
    assert text.isascii()
    assert "\n" not in text
    assert record_in(text.encode()) == record


@given(st.binary(max_size=200), st.floats(0, 4e9), st.floats(0, 1e9))
def test_any_body_and_any_times_come_back(body: bytes, fetched_at: float, failed_at: float) -> None:
    record = with_body(body, fetched_at=fetched_at, failed_at=failed_at)
    assert record_in(json.dumps(line_of(record)).encode()) == record


def test_a_line_reads_as_documented() -> None:
    body = b"User-agent: *\n"
    record = with_body(body, failure=503, failures=2, failed_at=START + 1, retry_in=60)
    assert list(line_of(record).items()) == [
        ("v", 2),
        ("origin", "https://host1.example"),
        ("access", "rules"),
        ("status", "200"),
        ("robots_url", "https://host1.example/robots.txt"),
        ("fetched_at", "2025-06-15T15:06:40Z"),
        ("lifetime", 3_600.0),
        ("headers", {"etag": '"1"', "content-type": "text/plain"}),
        ("sha256", sha256(body).hexdigest()),
        ("failure", "503"),
        ("failures", 2),
        ("failed_at", "2025-06-15T15:06:41Z"),
        ("retry_in", 60.0),
        ("cut", False),
        ("body", "User-agent: *\n"),
    ]
    assert "body" not in fields_of(record)
    assert line_of(with_body(b"\xff"))["body_base64"] == "/w=="


def test_a_time_has_as_many_digits_as_it_needs() -> None:
    assert line_of(rules(1, START + 0.25))["fetched_at"] == "2025-06-15T15:06:40.25Z"
    assert record_in(line(fetched_at="2025-06-15T15:06:40.000000Z")) == rules(1)
    assert line_of(rules(1))["failed_at"] is None
    assert line_of(rules(1, 1e300))["fetched_at"] is None


def test_whole_numbers_are_spans_too() -> None:
    assert record_in(line(lifetime=3600)) == rules(1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "not JSON: "),
        (b"{", "not JSON: "),
        (b"\xff", "not JSON: "),
        (b"[" * 100_000, "not JSON: "),
        (b"[]", "not a record"),
        (b"{}", "not a record"),
        (line(v=1), "version 1; only 2 is known: export the store anew"),
        (line(v="x" * 1000), f"version 'x{78 * 'x'}; only 2 is known"),
        *((line(**{name: ...}), f"'{name}' is missing") for name in list(line_of(rules(1)))[1:]),
        (line(origin="https://Host1.example"), "is not an origin such as"),
        (line(origin="https://host1.example/"), "is not an origin such as"),
        (line(origin="https://host1.example:99999999"), "[Pp]ort"),
        (line(origin="ftp://host1.example"), "is not an origin such as"),
        (line(origin=["https", "host1.example", 443]), "is not an origin such as"),
        (line(access="maybe"), "'maybe' is not a valid Access"),
        (line(status=200), "200 is not a status or a failure in quotes"),
        (line(status="-1"), "'-1' is not a valid Failure"),
        (line(status="9999"), "'9999' is not a valid Failure"),
        (line(failures=1.5), "1.5 is not of type int"),
        (line(fetched_at="now"), "fetched_at is not a time such as"),
        (line(fetched_at="2025-06-15T15:06:40"), "fetched_at is not a time such as"),
        (line(fetched_at="2025-13-15T15:06:40Z"), "month"),
        (line(fetched_at=1_750_000_000), "fetched_at is not a time such as"),
        (line(fetched_at=None), "fetched_at is not a time such as"),
        (line(lifetime=True), "lifetime is not a number"),
        (line(lifetime=10**400), "lifetime is too large"),
        (line(retry_in=float("nan")), "not finite"),
        (line(headers={"etag": 1}), "1 is not of type str"),
        (line(body="User-agent: *\n"), "does not match its sha256"),
        (line(body=None), "body is not a text"),
        (line(body="\ud800"), "surrogates not allowed"),
        (line(body_base64="?"), "[Bb]ase64"),
        (line(body_base64=7), "bytes-like"),
        (line(sha256=""), "does not match its sha256"),
    ],
)  # fmt: skip
def test_what_is_not_a_record_is_refused(text: bytes, why: str) -> None:
    with pytest.raises(LineError, match=why):
        record_in(text)


def test_a_body_over_the_maximum_is_refused() -> None:
    record = with_body(b"#" * (MAX_BYTES + 1))
    text = json.dumps(line_of(record)).encode()
    with pytest.raises(LineError, match="the body has 512,001 bytes"):
        record_in(text)
    assert record_in(text, MAX_BYTES + 1) == record


def test_no_line_is_longer_than_said() -> None:
    record = with_body(b"\x00" * MAX_BYTES)
    record = replace(record, headers={"date": "\x00" * 10_000}, url="\x00" * 500)
    assert len(json.dumps(line_of(record))) < most_characters(MAX_BYTES)


def test_what_is_unknown_in_a_line_is_ignored() -> None:
    assert record_in(line(comment="mine")) == rules(1)


def test_base64_takes_the_place_of_text() -> None:
    octets = base64.b64encode(rules(1).body).decode()
    assert record_in(line(body=..., body_base64=octets)) == rules(1)
