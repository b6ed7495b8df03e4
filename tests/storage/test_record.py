"""Any record comes back the same; anything else is refused, whatever it is."""

from __future__ import annotations

import json
import random
import re
import struct
import tracemalloc
import zlib
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_robots_plus.protocol.access import Access, Failure
from scrapy_robots_plus.protocol.origin import ROBOTS_TXT, TDMREP, Origin
from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES
from scrapy_robots_plus.storage import Standing
from scrapy_robots_plus.storage import record as codec
from scrapy_robots_plus.storage.record import KEPT_HEADERS, RobotsRecord

from .records import START, never_read, rules

times = st.floats(allow_nan=False, allow_infinity=False)
outcomes = st.integers(100, 999) | st.sampled_from(Failure)


@st.composite
def records(draw: st.DrawFn) -> RobotsRecord:
    body = draw(st.binary(max_size=2_000))
    return RobotsRecord(
        origin=Origin(
            draw(st.sampled_from(["http", "https"])),
            draw(st.text()),
            draw(st.integers(0, 65535)),
            draw(st.sampled_from([ROBOTS_TXT, TDMREP])),
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
        retry_in=draw(times),
        body=body,
    )


EMPTY = sha256(b"").hexdigest()


@given(records())
@example(rules(1, lines=15_000))
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
    "retry_in": 0.0,
    "sha256": "",
    "url": "http://a.example/robots.txt",
}


def test_a_forged_record_that_is_well_formed_is_read() -> None:
    assert codec.decode(with_header(HEADER)).origin == Origin("http", "a.example", 80)


@pytest.mark.parametrize(
    "change",
    [
        {"access": "open"},
        {"access": None},
        {"failure": "bored"},
        {"failure": True},
        {"failures": 1.5},
        {"failures": True},
        {"failures": -1},
        {"failures": 10**4_000},
        {"failures": -(10**4_000)},
        {"headers": []},
        {"headers": {"etag": 1}},
        {"lifetime": 1},
        {"lifetime": float("nan")},
        {"lifetime": float("inf")},
        {"origin": ["http", "a.example"]},
        {"origin": ["http", "a.example", "80"]},
        {"origin": "htt"},
        {"origin": ["ftp", "a.example", 21]},
        {"origin": [["http"], "a.example", 80]},
        {"origin": ["http", "a.example", 65_536]},
        {"origin": ["http", "a.example", -1]},
        {"origin": ["http", "a.example", 80, "/"]},
        {"origin": ["http", "a.example", 80, "/robots.txt", 1]},
        {"origin": ["http", "a.example", 10**4_000]},
        {"outcome": None},
        {"outcome": [200]},
        {"outcome": -1},
        {"outcome": 10**4_000},
        {"failure": 10**4_000},
        {"retry_in": None},
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


BODY = b"User-agent: *"
LENGTH_BELOW_ZERO = b"".join(
    (
        struct.pack(">i", -4 - len(BODY)),  # counted from the end, it would be that of the header
        json.dumps({**HEADER, "sha256": sha256(BODY).hexdigest()}).encode(),
        BODY,
    )
)


@pytest.mark.parametrize(
    "data",
    [
        with_header([]),
        with_header(b"{"),
        with_header(b"\xff"),
        with_header(b"[" * 200_000),
        with_header(b"9" * 10_000),
        with_header(b'{"a": ' * 9_000),
        with_header(b"[" + b"1e9," * 15_000 + b"1]"),
        with_header({**HEADER, "url": "u" * codec.MAX_HEADER}),
        with_header({**HEADER, "headers": {"etag": "e" * 10**7}}),
        with_header(HEADER, body=zlib.compress(bytes(10**6))),  # not unpacked a second time
        with_header(HEADER, body=b"Disallow: /"),  # not the body of the sha256
        forged(b""),
        forged(b"\0\0"),
        forged(b"\xff\xff\xff\xff{}"),
        forged(b"\0\0\0\x02{}", tail=b"more"),
        forged(b"\0\0\0\x02{}", length=5),
        forged(b"\0\0\0\x02{}", length=7),
        forged(bytes(50_000_000), length=100),
        forged(LENGTH_BELOW_ZERO),
    ],
    ids=range(19),
)
def test_forged_content_is_refused(data: bytes) -> None:
    with pytest.raises(codec.CodecError):
        codec.decode(data)


WELL_FORMED = codec.encode(rules(1))
NOT_SO_LONG = "not a record: ValueError('the content does not have the promised length')"
TOO_MUCH = "not a record: ValueError('expected a whole number from 0, below 2147483648')"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not a record of version 1"),
        (None, "not a record of version 1"),
        (b"\0" + WELL_FORMED[1:], "not a record of version 1"),
        (b"\2" + WELL_FORMED[1:], "not a record of version 1"),
        (WELL_FORMED[:37], "not a record of version 1"),
        (WELL_FORMED[:38], "the record is damaged: wrong checksum"),
        (WELL_FORMED[:-1], "the record is damaged: wrong checksum"),
        (forged(b"", length=577_541), "the record claims 577,541 bytes, which is too many"),
        (
            forged(b"", length=2**32 - 1),
            "the record claims 4,294,967,295 bytes, which is too many",
        ),
        (forged(b"", length=577_540), NOT_SO_LONG),
        (forged(b"\0\0\0\x02{}", length=5), NOT_SO_LONG),
        (forged(b"\0\0\0\x02{}", length=7), NOT_SO_LONG),
        (forged(b"\0\0\0\x02{}", tail=b"more"), NOT_SO_LONG),
        (forged(b"\0\0\0\x02{}"), "not a record: KeyError('headers')"),
        (with_header([]), "not a record: TypeError('the header is not an object')"),
        (
            with_header({**HEADER, "origin": ["ftp", "a", 21]}),
            "not a record: ValueError('the origin is not http or https')",
        ),
        (
            with_header({**HEADER, "origin": ["http", "a", 2**16]}),
            "not a record: ValueError('expected a whole number from 0, below 65536')",
        ),
        (with_header({**HEADER, "failures": 2**31}), TOO_MUCH),
        (with_header({**HEADER, "outcome": 2**31}), TOO_MUCH),
        (with_header({**HEADER, "url": 1}), "not a record: TypeError('1 is not of type str')"),
        (
            with_header({**HEADER, "failures": "x" * 100}),
            f'not a record: TypeError("\'{"x" * 79} is not of type int")',
        ),
        (
            with_header({**HEADER, "lifetime": float("inf")}),
            f"http://a.example has a time that is not finite: ({START}, 0.0, inf, 0.0)",
        ),
        (
            with_header(HEADER, b"x"),
            "http://a.example has a body that does not match its sha256",
        ),
    ],
    ids=range(23),
)
def test_why_it_is_refused_is_told(data: bytes, why: str) -> None:
    with pytest.raises(codec.CodecError, match=f"^{re.escape(why)}$"):
        codec.decode(data)


@pytest.mark.parametrize(
    "change",
    [
        {"failures": 2**31 - 1},
        {"failure": 2**31 - 1},
        {"failure": 0},
        {"origin": ["https", "", 2**16 - 1]},
        {"origin": ["http", "a", 0]},
    ],
    ids=repr,
)
def test_a_forged_header_is_read_up_to_its_bounds(change: dict[str, object]) -> None:
    record = codec.decode(with_header({**HEADER, **change}))
    for name, value in change.items():
        assert getattr(record, name) == (Origin(*value) if isinstance(value, list) else value)


MIB = 2**20


def bomb(claims: int | None = None) -> bytes:
    """A well-formed record with a body of 100 MiB, in some 100 kB; or so it claims."""
    body = bytes(100 * MIB)
    header = json.dumps({**HEADER, "sha256": sha256(body).hexdigest()}).encode()
    return forged(struct.pack(">I", len(header)) + header + body, length=claims)


@pytest.mark.parametrize("claims", [None, 1_000, MAX_BYTES])
def test_a_record_that_inflates_to_more_than_is_read_costs_no_more(claims: int | None) -> None:
    data = bomb(claims)
    tracemalloc.start()
    try:
        with pytest.raises(codec.CodecError):
            codec.decode(data)
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()


def test_a_body_is_read_up_to_the_maximum_and_not_an_octet_more() -> None:
    body = b"#" * 1_000
    record = rules(1, body=body, sha256=sha256(body).hexdigest())
    data = codec.encode(record, 1_000)
    assert codec.decode(data, 1_000) == record
    with pytest.raises(codec.CodecError, match="body has 1,000"):
        codec.decode(data, 999)
    with pytest.raises(codec.CodecError, match="body has 1,000"):
        codec.encode(record, 999)


def test_a_header_that_could_not_be_read_back_is_not_written() -> None:
    empty = json.dumps({**HEADER, "headers": {"etag": ""}})
    origin, url = Origin("http", "a.example", 80), "http://a.example/robots.txt"
    room = codec.MAX_HEADER - len(empty)
    record = RobotsRecord(origin, Access.RULES, 200, url, START, 1.0, {"etag": "e" * room})
    assert codec.decode(codec.encode(record)) == record
    with pytest.raises(codec.CodecError, match="header has 65,537 bytes"):
        codec.encode(replace(record, headers={"etag": "e" * (room + 1)}))


@pytest.mark.parametrize("size", [0, 1, 100, 4_096, 100_000, MAX_BYTES])
def test_the_longest_record_is_not_longer_than_said(size: int) -> None:
    body = random.Random(size).randbytes(size)
    record = rules(1, body=body, sha256=sha256(body).hexdigest())
    record = replace(record, headers={"etag": random.Random(1).randbytes(30_000).hex()})
    assert len(codec.encode(record)) <= codec.most_octets(size)


@given(st.recursive(st.none() | st.booleans() | st.integers() | times | st.text(), st.lists))
def test_any_header_is_refused(header: object) -> None:
    with pytest.raises(codec.CodecError):
        codec.decode(with_header(header))


def test_version_1_stays_readable() -> None:
    """These bytes were written by version 1. Whoever breaks this breaks every store there is."""
    record = replace(rules(7, START + 0.5), failure=503, failures=2, failed_at=START + 9)
    assert codec.decode(bytes.fromhex(VERSION_1)) == record


def test_a_small_record_is_small() -> None:
    assert len(codec.encode(never_read(1))) < 150
    assert len(codec.encode(rules(1))) < 250


OTHER_BODY = "has a body that does not match its sha256"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"body": b""}, OTHER_BODY),
        ({"body": b"Disallow:"}, OTHER_BODY),
        ({"sha256": ""}, OTHER_BODY),
        ({"fetched_at": float("nan")}, "has a time that is not finite: (nan, 0.0, 3600.0, 0.0)"),
        (
            {"failed_at": float("inf")},
            f"has a time that is not finite: ({START}, inf, 3600.0, 0.0)",
        ),
        ({"lifetime": float("inf")}, f"has a time that is not finite: ({START}, 0.0, inf, 0.0)"),
        (
            {"retry_in": -float("inf")},
            f"has a time that is not finite: ({START}, 0.0, 3600.0, -inf)",
        ),
        ({"headers": {"etag": b"1"}}, "cannot be encoded: Object of type bytes is not JSON"),
    ],
)
def test_a_record_that_would_not_come_back_is_refused(change: dict[str, object], why: str) -> None:
    with pytest.raises(codec.CodecError, match=re.escape(f"https://host1.example {why}")):
        codec.encode(replace(rules(1), **change))  # type: ignore[arg-type]


VERSION_1 = (
    "0154364127f00869aa087ab753b9f010e30141da13b86020000041da13b862400000000001a778bb8446dd82"
    "95d33b0ec2300c06e0b2728c1e803a7ec4e909b8048b9314b120906060e1ee5454480435adf0667bb13efd6e"
    "9acd7e8550804a41fc11fca4e0d0ea14833a54fb2c3dc82f709c2eb7bbee86879dafef88fe6f82ca413c4721"
    "8c6841c7c673df67134799cc0750b4ec42cca48107e42c291d8dc173927136635a1cb500fbf5d8da391598aa"
    "83eac65537b87d016b7c7867"
)
