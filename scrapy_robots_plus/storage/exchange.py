"""Records as lines of JSON, to be exported, looked at and imported.

docs/cache-command.md describes the fields. Times are RFC 3339 with as many digits as it takes, so
that a record comes back as it was.
"""

from __future__ import annotations

import base64
import json
import re
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from math import floor
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from .record import MAX_HEADER, encode, record_of

if TYPE_CHECKING:
    from .record import RobotsRecord

VERSION = 2
"""The version of a line; 1 was that of code before the first release."""

_SPANS = ("lifetime", "retry_in")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,400})?Z", re.ASCII)


class LineError(ValueError):
    """A line is not a record, or not one that a store would take."""


def most_characters(max_body: int) -> int:
    """The longest line of a record with a body of up to *max_body* octets.

    JSON takes six characters for some octets.
    """
    return 6 * (max_body + MAX_HEADER)


def fields_of(record: RobotsRecord) -> dict[str, Any]:
    """All of *record* but its body."""
    return {
        "origin": str(record.origin),
        "access": record.access.value,
        "status": str(record.outcome),
        "robots_url": record.url,
        "fetched_at": _written(record.fetched_at),
        "lifetime": float(record.lifetime),
        "headers": dict(record.headers),
        "sha256": record.sha256,
        "failure": None if record.failure is None else str(record.failure),
        "failures": record.failures,
        "failed_at": _written(record.failed_at) if record.failed_at else None,
        "retry_in": float(record.retry_in),
        "cut": record.is_cut,
    }


def line_of(record: RobotsRecord) -> dict[str, Any]:
    """All of *record*: its body as ``body`` if that is UTF-8, else as ``body_base64``."""
    try:
        body = {"body": record.body.decode("utf-8")}
    except UnicodeDecodeError:
        body = {"body_base64": base64.b64encode(record.body).decode("ascii")}
    return {"v": VERSION, **fields_of(record), **body}


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
        what = f"version {fields['v']!r:.80}; only {VERSION} is known"
        raise LineError(f"{what}: export the store anew, with this version of scrapy-robots-plus")
    try:
        own = {
            **fields,
            **{name: _number(name, fields[name]) for name in _SPANS},
            "origin": _origin_in(fields["origin"]),
            "outcome": _outcome_in(fields["status"]),
            "failure": None if fields["failure"] is None else _outcome_in(fields["failure"]),
            "url": fields["robots_url"],
            "cut": fields["cut"],
        }
        never = fields["failed_at"] is None
        failed_at = 0.0 if never else _moment("failed_at", fields["failed_at"])
        fetched_at = _moment("fetched_at", fields["fetched_at"])
        record = record_of(own, fetched_at, failed_at, _body_in(fields))
        encode(record, max_body)
    except KeyError as error:
        raise LineError(f"{error} is missing") from error
    except (TypeError, ValueError) as error:
        raise LineError(str(error)) from error
    return record


def _origin_in(value: object) -> list[Any]:
    origin = Origin.named(value) if isinstance(value, str) else None
    if origin is None or str(origin) != value:
        raise ValueError(f"{value!r:.80} is not an origin such as https://site.example")
    return list(origin)


def _outcome_in(value: object) -> object:
    """A status or a failure; what is neither is found later."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is not a status or a failure in quotes")
    return int(value) if re.fullmatch("[0-9]{1,3}", value) else value


def _written(moment: float) -> str | None:
    """RFC 3339 in UTC, exact; None for what is not a date, as in a store that others write to."""
    try:
        whole = floor(moment)
        date = _EPOCH + timedelta(seconds=whole)
    except (OverflowError, ValueError):
        return None
    digits = format(Decimal(repr(float(moment))) - whole, "f").partition(".")[2].rstrip("0")
    return f"{date.isoformat()[:-6]}{'.' if digits else ''}{digits}Z"


def _moment(name: str, value: object) -> float:
    """Seconds since the epoch. Raises TypeError or ValueError for what is not such a time."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is not a time such as 2026-11-20T18:58:00Z")
    found = _TIME.fullmatch(value)
    if found is None:
        raise ValueError(f"{name} is not a time such as 2026-11-20T18:58:00Z")
    whole = (datetime.fromisoformat(f"{found[1]}+00:00") - _EPOCH) // timedelta(seconds=1)
    return float(Decimal(whole) + Decimal(found[2] or 0))


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
