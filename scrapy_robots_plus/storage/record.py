"""The record of an origin, and its format in bytes. Decoding never executes anything.

======  ====  =============================================================================
offset  size  version 2; numbers are big-endian
======  ====  =============================================================================
0       1     the version, 2
1       16    the first half of the SHA-256 of everything after it
17      1     1 if ``readable``, else 0
18      8     ``fetched_at``, IEEE 754 double
26      8     ``failed_at``, IEEE 754 double
34      4     length of the content, before compression
38            the content, as a zlib stream (RFC 1950) with :data:`_DICTIONARY` preset
======  ====  =============================================================================

The content is a JSON object in ASCII with all fields of a :class:`RobotsRecord` but the body, by
name; a line feed; the body.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import NamedTuple

from scrapy_robots_plus.protocol.access import Access, Failure, Outcome, is_definite
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

KEPT_HEADERS = (
    *("cache-control", "content-type", "date", "etag", "expires", "last-modified"),
    "vary",
)
"""The response headers that a record keeps, for freshness, validation and the charset."""


class RobotsRecord(NamedTuple):
    """What is known about an origin's robots.txt: its last readable answer, and failures since.

    Freshness follows RFC 9111, within the bounds of RFC 9309 2.4. Times are wall clock, in seconds
    since the epoch; durations are in seconds.
    """

    origin: Origin
    """The origin whose robots.txt this is."""
    access: Access
    """The access that the last readable answer gave; if there never was one, the access that the
    status policy gives to the failure."""
    outcome: Outcome
    """The HTTP status of the last readable answer; without one, that or the kind of the failure."""
    url: str
    """The URL of the answer, after redirects."""
    fetched_at: float
    """When the answer was received, or last found to be unchanged."""
    lifetime: float
    """For how many seconds after ``fetched_at`` the answer is fresh."""
    headers: Mapping[str, str] = MappingProxyType({})
    """The headers of the answer that are needed later, with names in lower case:
    ``cache-control``, ``content-type``, ``date``, ``etag``, ``expires``, ``last-modified``,
    ``vary``. In a store also ``user-agent``, that of the crawl, if the answer varies by it."""
    sha256: str = ""
    """The SHA-256 of ``body`` in hexadecimal; empty if there are no rules."""
    failure: Outcome | None = None
    """Why the last fetch failed to read the file; None if it did not fail."""
    failures: int = 0
    """How many fetches in a row have failed to read the file."""
    failed_at: float = 0.0
    """When a fetch last failed to read the file; 0 for never."""
    retry_in: float = 0.0
    """How many seconds after ``failed_at`` the file is fetched again."""
    is_cut: bool = False
    """Whether the file was cut because it is longer than ``ROBOTS_FETCH_MAX_BYTES``."""
    body: bytes = b""
    """The file. Empty in the record of a policy, which keeps the parsed rules instead."""

    def __repr__(self) -> str:
        return f"RobotsRecord{self[:-1]}"  # not the body

    @property
    def readable(self) -> bool:
        """Whether the origin ever gave a definite answer: its rules, or that it has none.

        An outage is not an answer, even if the status policy allows everything in an outage.
        """
        return self.access is not Access.UNREACHABLE and is_definite(self.outcome)


class Standing(NamedTuple):
    """The order of two records of one origin: the greater one is newer.

    A record with an answer is newer than any without one. A later failure adds to that answer, so
    the time of the answer counts before the time of the failure: a copy outlives an outage (RFC
    9309 2.3.1.4). Times are wall clock, in seconds since the epoch.
    """

    readable: bool
    """Whether the origin ever gave a definite answer."""
    fetched_at: float
    """When the answer was received, or last found to be unchanged."""
    failed_at: float
    """When a fetch last failed to read the file; 0 for never."""

    @classmethod
    def of(cls, record: RobotsRecord) -> Standing:
        """Returns the standing of *record*."""
        return cls(record.readable, record.fetched_at, record.failed_at)

    @property
    def touched_at(self) -> float:
        """When the file was last requested, in vain or not: wall clock, seconds since the epoch."""
        return max(self.fetched_at, self.failed_at)


class StoreError(Exception):
    """The failure of a store (``ROBOTS_STORE``) to do what it was asked.

    The message names the store and says why. Nothing is half done: what was stored before stays.
    The crawl can go on without the store.
    """


class CodecError(StoreError, ValueError):
    """The error for bytes that are not a record, or a record that cannot be encoded."""


VERSION = 2
"""The version of the format that :func:`encode` writes."""

MAX_HEADER = 65_536
"""The most bytes of the JSON object: ten times what the longest headers of servers lead to."""

_PREFIX = struct.Struct(">B16s?ddI")
LENGTH_OF_STANDING = _PREFIX.size
"""How many bytes of a record :func:`standing` needs. No two records begin with the same ones."""
_CHECKED = 17
"""The offset of the first byte that the checksum covers."""

# The dictionary belongs to version 2: a change of one byte makes every stored record unreadable.
_DICTIONARY = (
    b"Disallow: /search\nDisallow: /*?\nCrawl-delay: 10\n"
    b"User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n\n"
    b"Sitemap: https://www.sitemap.xml"
    b'"http", 80, "unreachable", "unavailable", "failure": "timeout", "connection", '
    b'"outcome": 404, "etag": "W/\\"", "expires": "no-cache, no-store, must-revalidate", '
    b'"last-modified": " GMT", "text/html; charset=UTF-8", '
    b'{"origin": ["https", "www..com", 443, "/robots.txt"], "access": "rules", "outcome": 200, '
    b'"url": "https://www..com/robots.txt", "fetched_at": 17, "lifetime": 86400.0, '
    b'"headers": {"cache-control": "public, max-age=86400", '
    b'"content-type": "text/plain; charset=utf-8", "date": ", ", "sha256": "", '
    b'"failure": null, "failures": 0, "failed_at": 0.0, "retry_in": 0.0, "is_cut": false}\n'
    b"User-agent: *\n"
)


def encode(record: RobotsRecord, max_body: int = MAX_BYTES) -> bytes:
    """Returns *record* as bytes.

    Raises :class:`CodecError` if :func:`decode` would not return an equal record. That includes a
    record without its body: read back, it would allow everything.
    """
    try:
        if (record.body or record.sha256) and record.sha256 != sha256(record.body).hexdigest():
            raise ValueError("its body does not match its sha256")
        values = {**record._asdict(), "headers": dict(record.headers)}
        del values["body"]
        header = json.dumps(values, allow_nan=False).encode("ascii")
        if len(header) > MAX_HEADER or len(record.body) > max_body:
            raise ValueError("it is too large")
        content = header + b"\n" + record.body
        prefix = _PREFIX.pack(VERSION, bytes(16), *Standing.of(record), len(content))
    except (TypeError, ValueError, struct.error) as error:
        raise CodecError(f"{record.origin} cannot be encoded: {error}") from error
    # Working memory is allocated each time: less than the default is three times as fast for usual
    # files, and the output is no larger.
    deflate = zlib.compressobj(memLevel=6, zdict=_DICTIONARY)
    checked = prefix[_CHECKED:] + deflate.compress(content) + deflate.flush()
    return prefix[:1] + _checksum(checked) + checked


def decode(data: bytes, max_body: int = MAX_BYTES) -> RobotsRecord:
    """Returns the record in *data*.

    Time and memory are proportional to *data* and *max_body*, whatever *data* claims to be.

    Raises :class:`CodecError` for anything but the complete, unchanged output of :func:`encode`,
    and for a body of more than *max_body* bytes.
    """
    *_, length = _unpacked(data)
    if length > _most_content(max_body):
        raise CodecError(f"the record claims {length:,} bytes, which is too many")
    if _checksum(data[_CHECKED:]) != data[1:_CHECKED]:
        raise CodecError("the record is damaged: wrong checksum")
    try:
        inflate = zlib.decompressobj(zdict=_DICTIONARY)
        content = inflate.decompress(data[_PREFIX.size :], length + 1)  # a bound for hostile data
        header, _, body = content.partition(b"\n")
        if len(body) > max_body or not inflate.eof:
            raise ValueError("the body is too large")
        values = json.loads(header)
        values["origin"] = Origin(*values["origin"])
        values["access"] = Access(values["access"])
        for name in ("outcome", "failure"):
            values[name] = Failure(values[name]) if isinstance(values[name], str) else values[name]
        return RobotsRecord(**values, body=body)
    except (KeyError, RecursionError, TypeError, ValueError, zlib.error) as error:
        raise CodecError(f"not a record: {error}") from error


def standing(data: bytes) -> Standing:
    """Returns the standing of the record in *data*, without decoding or checking the rest."""
    return Standing(*_unpacked(data)[:3])


def most_bytes(max_body: int) -> int:
    """Returns how long the output of :func:`encode` can be, for bodies up to *max_body* bytes."""
    content = _most_content(max_body)
    return _PREFIX.size + content + content // 4 + 64  # zlib's overhead for incompressible data


def _most_content(max_body: int) -> int:
    return MAX_HEADER + 1 + max_body


def _unpacked(data: bytes) -> tuple[bool, float, float, int]:
    if len(data) < _PREFIX.size or data[0] != VERSION:
        raise CodecError(f"not a record of version {VERSION}")
    _, _, readable, fetched_at, failed_at, length = _PREFIX.unpack_from(data)
    return readable, fetched_at, failed_at, length


def _checksum(data: bytes) -> bytes:
    return sha256(data).digest()[:16]
