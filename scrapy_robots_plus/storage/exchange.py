"""Records as lines of JSON, to be exported, looked at and imported.

docs/cache-command.md describes the fields. Times are seconds since the epoch and exact, so that a
record comes back as it was.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.policy.origin import Origin
from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from . import codec

if TYPE_CHECKING:
    from scrapy_robots_plus.policy.record import RobotsRecord

VERSION = 1
"""The version of a line."""

_TIMES = ("fetched_at", "lifetime", "failed_at", "retry_in")


class LineError(ValueError):
    """A line is not a record, or not one that a store would take."""


def most_characters(max_body: int) -> int:
    """The longest line of a record with a body of up to *max_body* octets.

    JSON takes six characters for some octets.
    """
    return 6 * (max_body + codec.MAX_HEADER)


def fields_of(record: RobotsRecord) -> dict[str, Any]:
    """All of *record* but its body."""
    return {
        "v": VERSION,
        "origin": str(record.origin),
        "access": record.access.value,
        "outcome": record.outcome,
        "url": record.url,
        "fetched_at": float(record.fetched_at),
        "lifetime": float(record.lifetime),
        "headers": dict(record.headers),
        "sha256": record.sha256,
        "failure": record.failure,
        "failures": record.failures,
        "failed_at": float(record.failed_at),
        "retry_in": float(record.retry_in),
    }


def line_of(record: RobotsRecord) -> dict[str, Any]:
    """All of *record*: its body as ``body`` if that is UTF-8, else as ``body_base64``."""
    try:
        body = {"body": record.body.decode("utf-8")}
    except UnicodeDecodeError:
        body = {"body_base64": base64.b64encode(record.body).decode("ascii")}
    return {**fields_of(record), **body}


def record_in(line: bytes, max_body: int = MAX_BYTES) -> RobotsRecord:
    """The record in a *line*, complete and checked: its types, its hash, the size of its body.

    Raises :class:`LineError` saying what is wrong.
    """
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LineError(f"not JSON: {error}") from error
    if not isinstance(fields, dict) or "v" not in fields:
        raise LineError("not a record")
    if fields["v"] != VERSION:
        raise LineError(f"version {fields['v']!r:.80}; only {VERSION} is known")
    try:
        fields = {**fields, "origin": _origin_in(fields["origin"])}
        fields.update({name: _number(name, fields[name]) for name in _TIMES})
        body = _body_in(fields)
        record = codec.record_of(fields, fields["fetched_at"], fields["failed_at"], body)
        codec.encode(record, max_body)
    except KeyError as error:
        raise LineError(f"{error} is missing") from error
    except (TypeError, ValueError) as error:
        raise LineError(str(error)) from error
    return record


def _origin_in(value: object) -> list[Any]:
    origin = Origin.of(value) if isinstance(value, str) else None
    if origin is None or str(origin) != value:
        raise ValueError(f"{value!r:.80} is not an origin such as https://site.example")
    return list(origin)


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is not a number")
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError(f"{name} is too large") from error


def _body_in(fields: dict[str, Any]) -> bytes:
    if "body_base64" in fields:
        return base64.b64decode(fields["body_base64"], validate=True)
    if not isinstance(fields["body"], str):
        raise TypeError("body is not a text")
    return fields["body"].encode("utf-8")
