"""Any record comes back the same; anything else is refused, whatever it is."""

from __future__ import annotations

import json
import random
import struct
import tracemalloc
import zlib
from hashlib import sha256
from types import MappingProxyType

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


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda tail: b"\x02" + tail))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(codec.CodecError):
        codec.decode(data)


def forged(content: bytes, length: int | None = None) -> bytes:
    """*content* with the checksum right."""
    deflate = zlib.compressobj(zdict=codec._DICTIONARY)
    stream = deflate.compress(content) + deflate.flush()
    promised = len(content) if length is None else length
    rest = struct.pack(">?ddI", True, START, 0.0, promised) + stream
    return b"\x02" + sha256(rest).digest()[:16] + rest


def with_header(header: object, body: bytes = b"") -> bytes:
    return forged(json.dumps(header).encode() + b"\n" + body)


HEADER: dict[str, object] = {
    "origin": ["http", "a.example", 80, "/robots.txt"],
    "access": "rules",
    "outcome": 200,
    "url": "http://a.example/robots.txt",
    "fetched_at": START,
    "lifetime": 1.0,
    "headers": {},
    "sha256": "",
    "failure": None,
    "failures": 0,
    "failed_at": 0.0,
    "retry_in": 0.0,
    "is_cut": False,
}


def test_the_header_is_the_fields_by_their_names() -> None:
    record = codec.decode(with_header(HEADER))
    assert record.origin == Origin("http", "a.example", 80)
    assert codec.decode(codec.encode(record)) == record


@pytest.mark.parametrize("name", ["origin", "access", "outcome", "url", "fetched_at", "lifetime"])
def test_a_header_that_lacks_a_field_is_refused(name: str) -> None:
    with pytest.raises(codec.CodecError):
        codec.decode(with_header({key: value for key, value in HEADER.items() if key != name}))


WELL_FORMED = codec.encode(rules(1))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not a record of version 2"),
        (b"\1" + WELL_FORMED[1:], "not a record of version 2"),
        (WELL_FORMED[:37], "not a record of version 2"),
        (WELL_FORMED[:38], "the record is damaged: wrong checksum"),
        (WELL_FORMED[:-1], "the record is damaged: wrong checksum"),
        (forged(b"", length=577_538), "the record claims 577,538 bytes, which is too many"),
        (
            forged(b"", length=2**32 - 1),
            "the record claims 4,294,967,295 bytes, which is too many",
        ),
        (forged(b"", length=577_537), "not a record: Expecting value: "),
        (forged(b"{"), "not a record: Expecting property name "),
        (forged(b"[" * 200_000), "not a record: maximum recursion depth"),
        (with_header([]), "not a record: list indices must be integers"),
        (with_header({**HEADER, "access": "open"}), "not a record: 'open' is not a valid Access"),
        (with_header({**HEADER, "more": 1}), "not a record: .* unexpected keyword argument 'more'"),
    ],
    ids=range(13),
)
def test_why_it_is_refused_is_told(data: bytes, why: str) -> None:
    with pytest.raises(codec.CodecError, match=f"^{why}"):
        codec.decode(data)


MIB = 2**20


def bomb(claims: int | None = None) -> bytes:
    """A well-formed record with a body of 12 MiB, in some 12 kB; or so it claims."""
    body = bytes(12 * MIB)
    header = json.dumps({**HEADER, "sha256": sha256(body).hexdigest()}).encode()
    return forged(header + b"\n" + body, length=claims)


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
    with pytest.raises(codec.CodecError, match="the body is too large"):
        codec.decode(data, 999)
    with pytest.raises(codec.CodecError, match="it is too large"):
        codec.encode(record, 999)


def test_a_header_that_could_not_be_read_back_is_not_written() -> None:
    record = rules(1)._replace(headers={"etag": "e" * 60_000})
    assert codec.decode(codec.encode(record)) == record
    with pytest.raises(codec.CodecError, match="it is too large"):
        codec.encode(record._replace(headers={"etag": "e" * codec.MAX_HEADER}))


@pytest.mark.parametrize("size", [0, 1, 100, 4_096, 100_000, MAX_BYTES])
def test_the_longest_record_is_not_longer_than_said(size: int) -> None:
    body = random.Random(size).randbytes(size)
    record = rules(1, body=body, sha256=sha256(body).hexdigest())
    record = record._replace(headers={"etag": random.Random(1).randbytes(30_000).hex()})
    assert len(codec.encode(record)) <= codec.most_bytes(size)


@given(st.recursive(st.none() | st.booleans() | st.integers() | times | st.text(), st.lists))
def test_any_header_is_refused(header: object) -> None:
    with pytest.raises(codec.CodecError):
        codec.decode(with_header(header))


def test_version_2_stays_readable() -> None:
    """These bytes were written by version 2. Whoever breaks this breaks every store there is."""
    record = rules(7, START + 0.5)._replace(failure=503, failures=2, failed_at=START + 9)
    assert codec.decode(bytes.fromhex(VERSION_2)) == record


def test_headers_may_be_any_mapping() -> None:
    record = never_read(1)._replace(headers={"date": "today"})
    shared = record._replace(headers=MappingProxyType(record.headers))
    assert codec.decode(codec.encode(shared)) == record


def test_a_small_record_is_small() -> None:
    assert len(codec.encode(never_read(1))) < 150
    assert len(codec.encode(rules(1))) < 250


OTHER_BODY = "its body does not match its sha256"
NO_TIME = "Out of range float values are not JSON compliant"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"body": b""}, OTHER_BODY),
        ({"body": b"Disallow:"}, OTHER_BODY),
        ({"sha256": ""}, OTHER_BODY),
        ({"fetched_at": float("nan")}, NO_TIME),
        ({"failed_at": float("inf")}, NO_TIME),
        ({"lifetime": float("inf")}, NO_TIME),
        ({"retry_in": -float("inf")}, NO_TIME),
        ({"headers": {"etag": b"1"}}, "Object of type bytes is not JSON"),
    ],
)
def test_a_record_that_would_not_come_back_is_refused(change: dict[str, object], why: str) -> None:
    with pytest.raises(codec.CodecError, match=f"https://host1.example cannot be encoded: {why}"):
        codec.encode(rules(1)._replace(**change))  # type: ignore[arg-type]


VERSION_2 = (
    "029a5b6450f710f550b1f241cbe2f799ec0141da13b86020000041da13b862400000000001fb78bb9a61ebce"
    "add43b0ec2300c06e09d63f4006de247ecdc85c5498a58104830b07077aa563c821a0644b6d85224fbfb9575"
    "86fdf17c917ebcdae134e7ea5f16d5bbdf41d82da7e79a06c38acc23c2db4e960cb701ba5bb56410520e9418"
    "2181a94c97403116638f052da813b0e2351514a511a870ce3b231728f354ab91d8616d041f46cfb9e22f586f"
    "df8b0caf150daed9f1cd0e6ceee8e490a3"
)


def test_a_record_has_never_failed_unless_it_says_so() -> None:
    site = Origin("http", "a.example", 80)
    record = RobotsRecord(site, Access.RULES, 200, site.robots_url, START, 60.0)
    assert (record.failure, record.failures, record.failed_at, record.retry_in) == (None, 0, 0, 0)
