"""Pieces of the page: tables, words, and the HTML that both are made of.

Text is escaped wherever it is put in: what a log holds comes from any site.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.printable import counted, printable, rfc3339

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SHOWN = 300
"""Characters of a URL or a rule."""


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


def element(name: str, /, *content: object, **attributes: str | None) -> Html:
    """An element that has an end. Of attributes, None is left out; ``class_`` stands for ``class``,
    and ``data_head`` for ``data-head``.
    """
    given = (
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{''.join(given)}>{join(content)}</{name}>")


def code(content: object) -> Html:
    """A URL or a rule: cut if it is long, and written from left to right, whatever its letters."""
    return element("code", printable(content, _SHOWN), dir="ltr")


def small(*content: object) -> Html:
    """Details below what a cell says first."""
    return element("div", *content, class_="small")


def note(*content: object) -> Html:
    """What a reader has to know to read the rest right."""
    return element("p", *content, class_="note")


def fold(head: object, *content: object) -> Html:
    """A part that opens."""
    return element("details", element("summary", head), *content)


FIRST = 25
"""Rows of a table that are shown at once; further ones are folded."""

_WORDS = frozenset({"robots.txt", "Meaning", "When (UTC)"})
"""Columns of words, besides the first one."""


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    last: Sequence[object] = (),
    noun: str = "",
    empty: str = "",
) -> Html:
    """The first cell of a row is its head. *last*: a row for the sum.

    With a *noun* for what the rows are, further ones than the first unfold. *empty* is said in
    place of a table without rows.
    """
    rows = list(rows)
    if not rows:
        return element("p", empty) if empty else Html()
    if noun and rows[FIRST:]:
        more = fold(counted(len(rows) - FIRST, f"more {noun}"), table(heads, rows[FIRST:]))
        return join([table(heads, rows[:FIRST], last), more])
    classes = [None, *(None if head in _WORDS else "number" for head in heads[1:])]

    def row_of(cells: Sequence[object]) -> Html:
        first, *others = (f"{cell:,}" if isinstance(cell, int) else cell for cell in cells)
        data = (
            element("td", cell, class_=class_, data_head=head)
            for head, class_, cell in zip(heads[1:], classes[1:], others, strict=True)
        )
        return element("tr", element("th", first, scope="row"), *data)

    columns = zip(heads, classes, strict=True)
    shown = (element("th", head, scope="col", class_=class_) for head, class_ in columns)
    parts = [element("thead", element("tr", *shown)), element("tbody", *map(row_of, rows))]
    if last:
        parts.append(element("tfoot", row_of(last)))
    return element("div", element("table", *parts), class_="wide")


def moment(value: float) -> Html:
    """``2026-11-20 18:58:00``, in UTC."""
    written = rfc3339(value)
    return element("time", written[:19].replace("T", " "), datetime=written)


def span(first: float, last: float) -> Html:
    """``2026-11-20 18:58:00 to 2026-11-20 19:20:13 UTC``."""
    return join([moment(first), " to ", moment(last), " UTC"])
