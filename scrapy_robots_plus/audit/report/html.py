"""Pieces of HTML. Text is escaped wherever it is put in: what a log holds comes from any site."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

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
