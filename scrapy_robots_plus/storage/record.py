"""A record, and its bytes. Nothing in the bytes is ever executed.

======  ====  =============================================================================
offset  size  version 1; numbers are big-endian
======  ====  =============================================================================
0       1     the version, 1
1       16    the first half of the SHA-256 of all other bytes, in order
17      1     1 if ``readable``, else 0
18      8     ``fetched_at``, IEEE 754 double
26      8     ``failed_at``, IEEE 754 double
34      4     length of the content, before compression
38            the content, as a zlib stream (RFC 1950) with :data:`_DICTIONARY` preset
======  ====  =============================================================================

Content: the length of the header (4 bytes), the header (a JSON object in ASCII), the body. The
header's names are those of :class:`~scrapy_robots_plus.storage.record.RobotsRecord`; ``origin`` is
``[scheme, host, port]``, with a path behind it for a ``tdmrep.json``; outcomes are a number
(status) or a string (failure).
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass, field
from hashlib import sha256
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from scrapy_robots_plus.protocol.access import Access, Failure, Outcome, is_definite
from scrapy_robots_plus.protocol.origin import ROBOTS_TXT, TDMREP, Origin
from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

KEPT_HEADERS = ("cache-control", "content-type", "date", "etag", "expires", "last-modified")
"""The response headers that a record keeps, for freshness, validation and the charset."""


@dataclass(frozen=True, slots=True)
class RobotsRecord:
    """What is known about an origin's robots.txt: its last readable answer, and failures since.

    Freshness is that of RFC 9111, within the bounds of RFC 9309 2.4. Times are wall clock, in
    seconds since the epoch; spans are seconds.
    """

    origin: Origin
    """Whose robots.txt it is."""
    access: Access
    """The access of the last readable answer; if there never was one, that of the failure
    according to the status policy."""
    outcome: Outcome
    """The HTTP status of the last readable answer; if there never was one, the failure."""
    url: str
    """Where the answer came from, after redirects."""
    fetched_at: float
    """When the answer was received or last found unchanged."""
    lifetime: float
    """How many seconds after ``fetched_at`` it is fresh."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of the answer that are needed later, names in lower case: ``cache-control``,
    ``content-type``, ``date``, ``etag``, ``expires``, ``last-modified``."""
    sha256: str = ""
    """Hash of ``body``, in hexadecimal; empty if there are no rules."""
    failure: Outcome | None = None
    """Why the last fetch could not read the file; None if it could."""
    failures: int = 0
    """How many times in a row it could not be read."""
    failed_at: float = 0.0
    """When that last happened."""
    retry_in: float = 0.0
    """How many seconds after ``failed_at`` it is fetched again."""
    is_cut: bool = False
    """Whether the file is longer than ``body`` was (``ROBOTS_FETCH_MAX_BYTES``)."""
    body: bytes = field(default=b"", repr=False)
    """The text of the rules. Empty in records in memory, which keep the parsed rules instead."""

    @property
    def readable(self) -> bool:
        """Whether the origin ever gave a definite answer: its rules, or that it has none.

        An outage is not an answer, even if the status policy allows everything in an outage.
        """
        return self.access is not Access.UNREACHABLE and is_definite(self.outcome)


class Standing(NamedTuple):
    """Which of two records of one origin is the newer: the greater one.

    An answer is newer than any failure to get one. A failure since then adds to its answer, so
    the time of the answer counts before the time of the failure: a copy outlives an outage (RFC
    9309 2.3.1.4). Times are wall clock, in seconds since the epoch.
    """

    readable: bool
    """Whether the origin ever gave a definite answer."""
    fetched_at: float
    """When the answer was received, or last found to be unchanged."""
    failed_at: float
    """When it was last tried in vain to get it; 0 for never since."""

    @classmethod
    def of(cls, record: RobotsRecord) -> Standing:
        """That of *record*."""
        return cls(record.readable, record.fetched_at, record.failed_at)

    @property
    def touched_at(self) -> float:
        """When the origin was last asked, answer or not: wall clock, seconds since the epoch."""
        return max(self.fetched_at, self.failed_at)


class StoreError(Exception):
    """A store (``ROBOTS_STORE``) cannot do what it was asked.

    The message names the store and says why. Nothing is half done: what was stored before still
    is. The crawl can go on without the store.
    """


class CodecError(StoreError, ValueError):
    """The bytes are not a record, or the record cannot be encoded."""


VERSION = 1
"""The version that :func:`encode` writes."""

MAX_HEADER = 65_536
"""Octets of a header at most: ten times the longest that servers' headers lead to."""

_T = TypeVar("_T")

_PREFIX = struct.Struct(">B16s?ddI")
LENGTH_OF_STANDING = _PREFIX.size
"""Octets of a record that :func:`standing` needs. No two records begin with the same."""

_DIGEST = slice(1, 17)
_HEADER_LENGTH = struct.Struct(">I")

# Part of version 1: changing one byte of it makes every stored record unreadable.
_DICTIONARY = (
    b"Disallow: /search\nDisallow: /*?\nCrawl-delay: 10\n"
    b"User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n\n"
    b"Sitemap: https://www.sitemap.xml"
    b'{"access": "unreachable", "access": "unavailable", "failure": "timeout", "connection", '
    b'"outcome": 404, "etag": "W/\\"", "expires": "no-cache, no-store, must-revalidate", '
    b'"last-modified": " GMT", "text/html; charset=UTF-8", "http", 80], '
    b'{"access": "rules", "failure": null, "failures": 0, "headers": {"cache-control": '
    b'"public, max-age=86400", "content-type": "text/plain; charset=utf-8", "date": ", '
    b'"lifetime": 86400.0, "origin": ["https", "www..com", 443], "outcome": 200, '
    b'"retry_in": 0.0, "sha256": "", "url": "https://www..com/robots.txt"}User-agent: *\n'
)


def encode(record: RobotsRecord, max_body: int = MAX_BYTES) -> bytes:
    """*record* as bytes.

    Raises :class:`CodecError` if :func:`decode` would not return the same record. That includes a
    record without its body: read back, it would allow everything.
    """
    _check(record)
    fields = {
        "access": record.access,
        "failure": record.failure,
        "failures": record.failures,
        "headers": dict(record.headers),
        "lifetime": float(record.lifetime),
        "origin": record.origin[: 4 if record.origin.path != ROBOTS_TXT else 3],
        "outcome": record.outcome,
        "retry_in": float(record.retry_in),
        "sha256": record.sha256,
        "url": record.url,
        **({"cut": True} if record.is_cut else {}),
    }
    try:
        header = json.dumps(fields, allow_nan=False).encode("ascii")
        _check_sizes(len(header), len(record.body), max_body)
        content = _HEADER_LENGTH.pack(len(header)) + header + record.body
        standing = Standing.of(record)
        prefix = _PREFIX.pack(VERSION, bytes(16), *standing, len(content))
    except (TypeError, ValueError, struct.error) as error:
        raise CodecError(f"{record.origin} cannot be encoded: {error}") from error
    packed = bytearray(prefix + _deflate(content))
    packed[_DIGEST] = _digest(packed)
    return bytes(packed)


def decode(data: bytes, max_body: int = MAX_BYTES) -> RobotsRecord:
    """The record in *data*. Takes time and memory in proportion to *data* and *max_body*, whatever
    *data* claims to be.

    Raises :class:`CodecError` for anything but the complete, unchanged output of :func:`encode`,
    and for a body of more than *max_body* octets.
    """
    _, fetched_at, failed_at, length = _unpack_prefix(data)
    if length > _most_content(max_body):
        raise CodecError(f"the record claims {length:,} bytes, which is too many")
    if _digest(data) != data[_DIGEST]:
        raise CodecError("the record is damaged: wrong checksum")
    try:
        content = _inflate(memoryview(data)[_PREFIX.size :], length)
        (header_length,) = _HEADER_LENGTH.unpack_from(content)
        body_at = _HEADER_LENGTH.size + header_length
        _check_sizes(header_length, len(content) - body_at, max_body)
        fields = json.loads(content[_HEADER_LENGTH.size : body_at].decode("ascii"))
        record = record_of(fields, fetched_at, failed_at, content[body_at:])
    except (KeyError, RecursionError, TypeError, ValueError, struct.error, zlib.error) as error:
        raise CodecError(f"not a record: {error!r}") from error
    _check(record)
    return record


def standing(data: bytes) -> Standing:
    """The standing of the record in *data*, read without decoding or checking the rest."""
    return Standing(*_unpack_prefix(data)[:3])


def most_octets(max_body: int) -> int:
    """The longest output of :func:`encode` for bodies of up to *max_body* octets."""
    content = _most_content(max_body)
    return _PREFIX.size + content + content // 4 + 64  # zlib's overhead for incompressible data


def record_of(fields: object, fetched_at: float, failed_at: float, body: bytes) -> RobotsRecord:
    """The record whose header has these *fields*. Does not check that the parts agree.

    Raises KeyError, TypeError or ValueError for what is not a header.
    """
    if not isinstance(fields, dict):
        raise TypeError("the header is not an object")
    headers = _typed(fields["headers"], dict)
    failure = fields["failure"]
    return RobotsRecord(
        origin=_origin(fields["origin"]),
        access=Access(_typed(fields["access"], str)),
        outcome=_outcome(fields["outcome"]),
        url=_typed(fields["url"], str),
        fetched_at=fetched_at,
        lifetime=_typed(fields["lifetime"], float),
        headers={name: _typed(value, str) for name, value in headers.items()},
        sha256=_typed(fields["sha256"], str),
        failure=None if failure is None else _outcome(failure),
        failures=_whole(fields["failures"], 2**31),
        failed_at=failed_at,
        retry_in=_typed(fields["retry_in"], float),
        is_cut=_typed(fields.get("cut", False), bool),
        body=body,
    )


def _most_content(max_body: int) -> int:
    return _HEADER_LENGTH.size + MAX_HEADER + max_body


def _unpack_prefix(data: bytes) -> tuple[bool, float, float, int]:
    if not isinstance(data, bytes) or len(data) < _PREFIX.size or data[0] != VERSION:
        raise CodecError(f"not a record of version {VERSION}")
    _, _, readable, fetched_at, failed_at, length = _PREFIX.unpack_from(data)
    return readable, fetched_at, failed_at, length


def _digest(data: bytes | bytearray) -> bytes:
    return sha256(data[: _DIGEST.start] + data[_DIGEST.stop :]).digest()[:16]


def _deflate(content: bytes) -> bytes:
    # Less working memory than the default, which is allocated each time: three times as fast for
    # usual files, and the output is no larger.
    deflate = zlib.compressobj(memLevel=6, zdict=_DICTIONARY)
    return deflate.compress(content) + deflate.flush()


def _inflate(stream: memoryview, length: int) -> bytes:
    inflate = zlib.decompressobj(zdict=_DICTIONARY)
    # One byte more than promised, so that neither longer content nor a "bomb" gets through.
    content = inflate.decompress(stream, length + 1)
    if len(content) != length or not inflate.eof or inflate.unused_data:
        raise ValueError("the content does not have the promised length")
    return content


def _check_sizes(header: int, body: int, max_body: int) -> None:
    if header > MAX_HEADER:
        raise ValueError(f"the header has {header:,} bytes, which is too many")
    if body > max_body:
        raise ValueError(f"the body has {body:,} bytes, which is too many")


def _check(record: RobotsRecord) -> None:
    times = (record.fetched_at, record.failed_at, record.lifetime, record.retry_in)
    if not all(isfinite(time) for time in times):
        raise CodecError(f"{record.origin} has a time that is not finite: {times}")
    if (record.body or record.sha256) and record.sha256 != sha256(record.body).hexdigest():
        raise CodecError(f"{record.origin} has a body that does not match its sha256")


def _origin(value: object) -> Origin:
    scheme, host, port, *other = _typed(value, list)
    if scheme not in ("http", "https"):
        raise ValueError("the origin is not http or https")
    if other not in ([], [ROBOTS_TXT], [TDMREP]):
        raise ValueError("the origin has a path of no file that is kept")
    return Origin(scheme, _typed(host, str), _whole(port, 2**16), *other)


def _outcome(value: object) -> Outcome:
    return Failure(value) if isinstance(value, str) else _whole(value, 2**31)


def _whole(value: object, end: int) -> int:
    number = _typed(value, int)
    if not 0 <= number < end:
        raise ValueError(f"expected a whole number from 0, below {end}")
    return number


def _typed(value: object, wanted: type[_T]) -> _T:
    # Not isinstance: a bool is an int.
    if type(value) is not wanted:
        raise TypeError(f"{value!r:.80} is not of type {wanted.__name__}")
    return value
