"""The parts of the page: tables, text, and the HTML elements that both are made of.

All text is escaped: what a log holds may come from any site.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from scrapy_robots_plus.protocol.printable import counted, printable, rfc3339


class Html(str):
    """HTML, which is used as it is; any other text is escaped."""

    __slots__ = ()


def text(content: object) -> Html:
    """Returns *content* as HTML. Anything but :class:`Html` is escaped.

    Control characters, including those that change the direction of text, are shown as in Python:
    ``\\u202e``.
    """
    return content if isinstance(content, Html) else Html(html.escape(printable(content)))


def join(parts: Iterable[object], between: object = "") -> Html:
    """Joins *parts*, with *between* in between. Text is escaped."""
    return Html(text(between).join(text(part) for part in parts))


def element(name: str, /, *content: object, **attributes: str) -> Html:
    """Returns an element that has an end tag.

    ``class_`` stands for ``class``, and ``data_head`` for ``data-head``.
    """
    start = name
    for key, value in attributes.items():
        start += f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
    return Html(f"<{start}>{join(content)}</{name}>")


def code(content: object) -> Html:
    """Returns a URL or a rule as code: cut after 300 characters, left to right in any script."""
    return element("code", printable(content, 300), dir="ltr")


def small(*content: object) -> Html:
    """Returns details, in small print below the main text of a cell."""
    return element("div", *content, class_="small")


def note(*content: object) -> Html:
    """Returns a note that the reader needs to understand the rest."""
    return element("div", *content, class_="note")


def fold(head: object, *content: object) -> Html:
    """Returns *content*, folded until the reader opens *head*."""
    return element("details", element("summary", head), *content)


FIRST = 25
"""How many rows of a table are shown at once; further ones are folded."""


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    last: Sequence[object] = (),
    noun: str = "",
    empty: str = "",
) -> Html:
    """Returns a table. The first cell of a row is its head; *last* is a row for the totals.

    With *noun*, the word for a row, rows after the first ``FIRST`` are folded. *empty* is shown in
    place of a table without rows.
    """
    rows = list(rows)
    if not rows:
        return element("p", empty) if empty else Html()
    if noun and rows[FIRST:]:
        more = fold(counted(len(rows) - FIRST, f"more {noun}"), table(heads, rows[FIRST:]))
        return join([table(heads, rows[:FIRST], last), more])

    def row_of(cells: Sequence[object]) -> Html:
        first, *others = (f"{cell:,}" if isinstance(cell, int) else cell for cell in cells)
        columns = zip(heads[1:], others, strict=True)
        data = (element("td", cell, data_head=head) for head, cell in columns)
        return element("tr", element("th", first, scope="row"), *data)

    shown = (element("th", head, scope="col", data_head=head) for head in heads)
    parts = [element("thead", element("tr", *shown)), element("tbody", *map(row_of, rows))]
    if last:
        parts.append(element("tfoot", row_of(last)))
    return element("div", element("table", *parts), class_="wide")


def moment(value: float) -> Html:
    """Returns a time, in seconds since the epoch, as ``2026-11-20 18:58:00`` in UTC."""
    written = rfc3339(value)
    return element("time", written[:19].replace("T", " "), datetime=written)


def span(first: float, last: float) -> Html:
    """Returns a period as ``2026-11-20 18:58:00 to 2026-11-20 19:20:13 UTC``."""
    return join([moment(first), " to ", moment(last), " UTC"])
