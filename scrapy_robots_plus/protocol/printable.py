"""The display of remote text, numbers and moments in a terminal, a log or a table."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


def printable(text: object, most: int | None = None) -> str:
    """Returns *text* with what is not printable escaped as in Python: ``\\x1b``, ``\\u202e``.

    A terminal obeys control characters, some can forge log lines or change the direction of what
    follows, and lone surrogates cannot be written. Everything else stays unchanged. Text of more
    than *most* characters is cut and ends in ``...``.
    """
    shown = str(text) if most is None else cut(str(text), most)
    if shown.isprintable():
        return shown
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in shown)


def cut(text: str, most: int) -> str:
    """Returns *text*; if it is longer, its first *most* characters and ``...``."""
    return text if len(text) <= most else f"{text[:most]}..."


def picked(of: object, *names: str) -> dict[str, Any]:
    """Returns the attributes *names* of an object, by name."""
    return {name: getattr(of, name) for name in names}


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun: ``1 request``, ``1,200 requests``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def duration(seconds: float) -> str:
    """Formats *seconds* in the two largest units: ``5 h 20 min``, ``3 min 20 s``, ``12 s``."""
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    rest = max(1, round(seconds))
    parts: list[str] = []
    for name, size in units:
        count, rest = divmod(rest, size)
        if count or parts:
            parts.append(f"{count} {name}" if count else "")
    return " ".join(part for part in parts[:2] if part)


class Word(str, Enum):
    """An enum whose members are shown as their text, like ``enum.StrEnum`` of Python 3.11."""

    __str__ = str.__str__


class Explained(Word):
    """An enum whose members have, beside their text, words that explain it."""

    _value_: str
    words: str

    def __new__(cls, value: str, words: str = "") -> Self:
        member = str.__new__(cls, value)
        member._value_, member.words = value, words
        return member


# Without a zone, moments are written and read in two thirds of the time.
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc).replace(tzinfo=None)

FIRST_SECOND, LAST_SECOND = -62_135_596_800.0, 253_402_300_799.0
"""The first and last second of the years 1 to 9999, since the epoch: others cannot be written."""


def rfc3339(moment: float) -> str:
    """Formats *moment*, in seconds since the epoch, in UTC with microseconds (RFC 3339)."""
    second, microsecond = divmod(round(moment * 1_000_000), 1_000_000)
    return f"{_second(second)}.{microsecond:06}Z"


@lru_cache(maxsize=16)
def _second(moment: int) -> str:
    """Formats a whole second. Cached, because many requests leave in the same one."""
    return (_EPOCH + timedelta(seconds=moment)).isoformat()


def moment_of(text: str) -> float:
    """Parses RFC 3339 in UTC (``Z``); returns seconds since the epoch.

    Raises ValueError for other text.
    """
    if not text.endswith("Z"):
        raise ValueError(f"expected a time in UTC that ends in Z, not {text!r}")
    moment = datetime.fromisoformat(text[:-1])
    if moment.tzinfo is not None or len(text) <= len("2026-11-20Z"):
        raise ValueError(f"expected a time in UTC, not {text!r}")
    return min((moment - _EPOCH).total_seconds(), LAST_SECOND)
