"""Numbers, moments and reasons in words."""

from __future__ import annotations

from scrapy_robots_plus.protocol.counting import counted
from scrapy_robots_plus.protocol.moments import moment_of, rfc3339
from scrapy_robots_plus.protocol.verdict import Reason

from .html import Html, element

_REASONS = {reason.value: reason.words.format("the robots.txt") for reason in Reason}
_ACCESS = {
    "rules": "its rules hold",
    "unavailable": "everything is allowed",
    "unreachable": "it cannot be read",
}
_FIRST, _LAST = moment_of("0001-01-01T00:00:00Z"), moment_of("9999-12-31T23:59:59Z")
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def decided_by(reason: str) -> str:
    """``a rule of the robots.txt``; a reason that this version does not know, as it is."""
    return _REASONS.get(reason, reason)


def sentence(words: str) -> str:
    """With a capital letter."""
    return words[:1].upper() + words[1:]


def access(value: str) -> str:
    """What follows of it: ``everything is allowed``."""
    return _ACCESS.get(value, value)


def seconds(value: float) -> str:
    """``0.52 s``, ``12.3 s``, ``1,200 s``."""
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f} s"


def exactly(value: float) -> str:
    """A delay as it was asked for: ``2 s``, ``0.5 s``."""
    return f"{value:g} s"


def length(value: float) -> str:
    """Of a time, in its largest unit that divides it: ``5 minutes``."""
    size, unit = next((size, unit) for size, unit in _UNITS if value % size == 0)
    return counted(int(value // size), unit)


def moment(value: float) -> Html:
    """``2026-11-20 18:58:00``, in UTC."""
    written = _written(value)
    return element("time", written[:19].replace("T", " "), datetime=written)


def span(first: float, last: float) -> Html:
    """``2026-11-20 18:58:00 to 19:20:13 UTC``."""
    begin, end = moment(first), moment(last)
    if int(first) == int(last):
        return Html(f"{begin} UTC")
    return Html(f"{begin} to {_clock(last) if _day(first) == _day(last) else end} UTC")


def _day(value: float) -> str:
    return _written(value)[:10]


def _clock(value: float) -> Html:
    written = _written(value)
    return element("time", written[11:19], datetime=written)


def _written(value: float) -> str:
    """The end of a bucket may be later than any time that can be written, or its begin earlier."""
    return rfc3339(min(max(value, _FIRST), _LAST))
