"""Pieces of the page: tables, words, and the HTML that both are made of.

Text is escaped wherever it is put in: what a log holds comes from any site.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.printable import counted, moment_of, printable, rfc3339
from scrapy_robots_plus.protocol.verdict import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_EMPTY = {"br", "link", "meta"}
_SHOWN = 300
"""Characters of a URL or a rule."""

Attribute = str | int | float | bool | None


class Html(str):
    """HTML that is put in as it is; any other text is escaped."""

    __slots__ = ()


def text(content: object) -> Html:
    """*content* as HTML. Control characters, also those that turn the direction of text, are shown
    as in Python: ``\\u202e``.
    """
    return content if isinstance(content, Html) else Html(html.escape(printable(content)))


def join(parts: Iterable[object], between: object = "") -> Html:
    """All *parts*, one after another."""
    return Html(text(between).join(text(part) for part in parts))


def element(name: str, /, *content: object, **attributes: Attribute) -> Html:
    """An element. Of attributes, None and False are left out; ``class_`` stands for ``class``, and
    ``aria_label`` for ``aria-label``.
    """
    start = f"<{name}{''.join(_attribute(*each) for each in attributes.items())}>"
    return Html(start if name in _EMPTY else f"{start}{join(content)}</{name}>")


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(value)}"'


def code(content: object) -> Html:
    """A URL or a rule: cut if it is long, and written from left to right, whatever its letters."""
    return element("code", printable(content, _SHOWN), dir="ltr")


def number(value: int, *, is_exact: bool = True) -> Html:
    """``12,345``, or ``at least 12,345``."""
    return text(f"{value:,}" if is_exact else f"at least {value:,}")


FIRST = 25
"""Rows of a table that are shown at once; further ones are folded."""


class Column(NamedTuple):
    """Of a table."""

    head: str
    is_number: bool = False


def table(
    columns: Sequence[Column], rows: Sequence[Sequence[object]], last: Sequence[object] = ()
) -> Html:
    """The first cell of a row is its head. *last*: a row for the rest, or the sum."""
    heads = (element("th", column.head, scope="col", class_=_class(column)) for column in columns)
    parts = [
        element("thead", element("tr", *heads)),
        element("tbody", *(_row(columns, row) for row in rows)),
    ]
    if last:
        parts.append(element("tfoot", _row(columns, last)))
    return element("div", element("table", *parts), class_="wide")


def folded(
    columns: Sequence[Column],
    rows: Sequence[Sequence[object]],
    noun: str,
    last: Sequence[object] = (),
) -> Html:
    """The first rows, and the others in a part that opens."""
    first, others = rows[:FIRST], rows[FIRST:]
    if not others:
        return table(columns, first, last)
    more = fold(counted(len(others), f"more {noun}"), table(columns, others, last))
    return join([table(columns, first), more])


def fold(head: object, *content: object) -> Html:
    """A part that opens."""
    return element("details", element("summary", head), *content)


def _row(columns: Sequence[Column], cells: Sequence[object]) -> Html:
    head, *others = zip(columns, cells, strict=True)
    data = (
        element("td", cell, class_=_class(column), data_head=column.head) for column, cell in others
    )
    return element("tr", element("th", head[1], scope="row"), *data)


def _class(column: Column) -> str | None:
    return "number" if column.is_number else None


def section(anchor: str, heading: str, *content: object) -> Html:
    """With an anchor that the contents lead to."""
    return element("section", element("h2", heading), *content, id=anchor)


def paragraph(*content: object) -> Html:
    """Of text."""
    return element("p", join(content))


def small(*content: object) -> Html:
    """Details below what a cell says first."""
    return element("div", join(content), class_="small")


def note(*content: object) -> Html:
    """What a reader has to know to read the rest right."""
    return element("p", join(content), class_="note")


_REASONS = {reason.value: reason.words.format("the robots.txt") for reason in Reason}
_ACCESS = {
    "rules": "its rules hold",
    "unavailable": "everything is allowed",
    "unreachable": "it cannot be read",
}
_EARLIEST, _LATEST = moment_of("0001-01-01T00:00:00Z"), moment_of("9999-12-31T23:59:59Z")
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def decided_by(reason: str) -> str:
    """``a rule of the robots.txt``; a reason that this version does not know, as it is."""
    return _REASONS.get(reason, reason)


def capitalized(words: str) -> str:
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
    return rfc3339(min(max(value, _EARLIEST), _LATEST))
