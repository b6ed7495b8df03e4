"""Any record comes back the same; anything else is refused, whatever it is."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_robots_plus.policy.access import Access, Failure
from scrapy_robots_plus.policy.origin import Origin
from scrapy_robots_plus.policy.record import KEPT_HEADERS, RobotsRecord
from scrapy_robots_plus.storage import Standing, codec

from .records import START, never_read, rules

times = st.floats(allow_nan=False, allow_infinity=False)
outcomes = st.integers(100, 999) | st.sampled_from(Failure)


@st.composite
def records(draw: st.DrawFn) -> RobotsRecord:
    body = draw(st.binary(max_size=2_000))
    return RobotsRecord(
        origin=Origin(
            draw(st.sampled_from(["http", "https"])), draw(st.text()), draw(st.integers(0, 65535))
        ),
        access=draw(st.sampled_from(Access)),
        outcome=draw(outcomes),
        url=draw(st.text()),
        fetched_at=draw(times),
        lifetime=draw(times),
        headers=draw(st.dictionaries(st.sampled_from(KEPT_HEADERS), st.text())),
        sha256=sha256(body).hexdigest() if body else draw(st.sampled_from(["", EMPTY])),
        failure=draw(st.none() | outcomes),
        failures=draw(st.integers(0, 10**9)),
        failed_at=draw(times),
        retry_after=draw(times),
        body=body,
    )


EMPTY = sha256(b"").hexdigest()


@given(records())
@example(rules(1, lines=20_000))
@example(rules(1, origin=Origin("http", "\ud800", 80)))
def test_every_record_comes_back_the_same(record: RobotsRecord) -> None:
    data = codec.encode(record)
    back = codec.decode(data)
    assert back == record
    assert [type(back.outcome), type(back.access)] == [type(record.outcome), type(record.access)]
    assert codec.standing(data) == Standing.of(record)


@given(records(), st.data())
def test_changed_bytes_are_never_another_record(record: RobotsRecord, data: st.DataObject) -> None:
    whole = codec.encode(record)
    start = data.draw(st.integers(0, len(whole)), label="start")
    end = data.draw(st.integers(start, min(len(whole), start + 40)), label="end")
    changed = whole[:start] + data.draw(st.binary(max_size=40), label="put in") + whole[end:]
    if changed == whole:
        return
    with pytest.raises(codec.CodecError):
        codec.decode(changed)


def test_no_single_bit_may_change() -> None:
    whole = codec.encode(rules(1))
    for position in range(len(whole) * 8):
        changed = bytearray(whole)
        changed[position // 8] ^= 1 << position % 8
        with pytest.raises(codec.CodecError):
            codec.decode(bytes(changed))


def test_no_end_may_be_cut_off() -> None:
    whole = codec.encode(rules(1))
    for length in range(len(whole)):
        with pytest.raises(codec.CodecError):
            codec.decode(whole[:length])


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda tail: b"\x01" + tail))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(codec.CodecError):
        codec.decode(data)


@pytest.mark.parametrize("value", [None, "text", 7, bytearray(codec.encode(rules(1)))])
def test_what_is_not_bytes_is_refused(value: object) -> None:
    with pytest.raises(codec.CodecError):
        codec.decode(value)  # type: ignore[arg-type]


def forged(content: bytes, length: int | None = None, tail: bytes = b"") -> bytes:
    """*content* with all checksums right."""
    deflate = zlib.compressobj(zdict=codec._DICTIONARY)
    stream = deflate.compress(content) + deflate.flush() + tail
    promised = len(content) if length is None else length
    rest = struct.pack(">?ddI", True, START, 0.0, promised) + stream
    return b"\x01" + sha256(b"\x01" + rest).digest()[:16] + rest


def with_header(header: object, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return forged(struct.pack(">I", len(text)) + text + body)


HEADER: dict[str, object] = {
    "access": "rules",
    "failure": None,
    "failures": 0,
    "headers": {},
    "lifetime": 1.0,
    "origin": ["http", "a.example", 80],
    "outcome": 200,
    "retry_after": 0.0,
    "sha256": "",
    "url": "http://a.example/robots.txt",
}


def test_a_forged_record_that_is_well_formed_is_read() -> None:
    assert codec.decode(with_header(HEADER)).origin == Origin("http", "a.example", 80)


@pytest.mark.parametrize(
    "change",
    [
        {"access": "open"},
        {"access": "unreachable"},  # but readable, says the prefix
        {"access": None},
        {"failure": "bored"},
        {"failure": True},
        {"failures": 1.5},
        {"failures": True},
        {"headers": []},
        {"headers": {"etag": 1}},
        {"lifetime": 1},
        {"lifetime": float("nan")},
        {"lifetime": float("inf")},
        {"origin": ["http", "a.example"]},
        {"origin": ["http", "a.example", "80"]},
        {"origin": "htt"},
        {"outcome": None},
        {"outcome": [200]},
        {"retry_after": None},
        {"sha256": "0" * 64},
        {"sha256": None},
        {"url": 1},
    ],
    ids=repr,
)
def test_a_forged_header_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(codec.CodecError):
        codec.decode(with_header({**HEADER, **change}))


@pytest.mark.parametrize("name", HEADER)
def test_a_header_that_lacks_a_field_is_refused(name: str) -> None:
    with pytest.raises(codec.CodecError):
        codec.decode(with_header({key: value for key, value in HEADER.items() if key != name}))


@pytest.mark.parametrize(
    "data",
    [
        with_header([]),
        with_header(b"{"),
        with_header(b"\xff"),
        with_header(b"[" * 200_000),
        with_header(b"9" * 10_000),
        with_header(HEADER, body=b"Disallow: /"),  # not the body of the sha256
        forged(b""),
        forged(b"\0\0"),
        forged(b"\xff\xff\xff\xff{}"),
        forged(b"\0\0\0\x02{}", tail=b"more"),
        forged(b"\0\0\0\x02{}", length=5),
        forged(b"\0\0\0\x02{}", length=7),
        forged(bytes(50_000_000), length=100),
    ],
    ids=range(13),
)
def test_forged_content_is_refused(data: bytes) -> None:
    with pytest.raises(codec.CodecError):
        codec.decode(data)


@given(st.recursive(st.none() | st.booleans() | st.integers() | times | st.text(), st.lists))
def test_any_header_is_refused(header: object) -> None:
    with pytest.raises(codec.CodecError):
        codec.decode(with_header(header))


def test_a_newer_version_is_named() -> None:
    newer = bytes([codec.VERSION + 1]) + codec.encode(rules(1))[1:]
    with pytest.raises(codec.NewerVersionError, match=r"version 2; .* reads up to 1"):
        codec.decode(newer)


def test_version_1_stays_readable() -> None:
    """These bytes were written by version 1. Whoever breaks this breaks every store there is."""
    record = replace(rules(7, START + 0.5), failure=503, failures=2, failed_at=START + 9)
    assert codec.decode(bytes.fromhex(VERSION_1)) == record


def test_a_small_record_is_small() -> None:
    assert len(codec.encode(never_read(1))) < 150
    assert len(codec.encode(rules(1))) < 250


@pytest.mark.parametrize(
    "change",
    [{"body": b""}, {"body": b"Disallow:"}, {"sha256": ""}, {"fetched_at": float("nan")}],
)
def test_a_record_that_would_not_come_back_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(codec.CodecError):
        codec.encode(replace(rules(1), **change))  # type: ignore[arg-type]


def test_a_record_of_other_types_is_refused() -> None:
    with pytest.raises(codec.CodecError):
        codec.encode(replace(rules(1), headers={"etag": b"bytes"}))  # type: ignore[dict-item]


VERSION_1 = (
    "0167e36e68af721ea69e933fdc46e79f890141da13b86020000041da13b862400000000001aa78bb3851debd"
    "9dd33b0ec2300c06e0b2728c1e803a7ec4e91538038b9314b120906060e1ee5454480435ad8437db8bf5e977"
    "d36cf62b8a025422e20fe227088756a724d4adda6749427e41e474b9dd75373cec7c7da7f42f16540ee2390a"
    "61440b3a369efb3e9b38ca643e80a2651762260d3c206749e9680c9e938cb319d6e2ae05dbaff7d6cea9c054"
    "1d5437aebac1ed0b374679a5"
)
