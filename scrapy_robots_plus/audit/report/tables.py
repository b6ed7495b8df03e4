"""Tables and other parts that several sections have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.counting import counted

from .html import Html, element, join

if TYPE_CHECKING:
    from collections.abc import Sequence

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
