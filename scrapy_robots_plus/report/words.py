"""Numbers and names in words."""

from __future__ import annotations

from unicodedata import combining, east_asian_width

from scrapy_robots_plus.protocol.printable import printable

_CUT = "..."


def in_seconds(number: float) -> str:
    """``2 s``, ``0.5 s``, ``1,200 s``; ``1e+12 s`` for what nobody writes out."""
    if not 0.001 <= number < 1e9:
        return f"{number:g} s"
    whole, _, fraction = f"{number:,.3f}".partition(".")
    return f"{whole}.{fraction}".rstrip("0").rstrip(".") + " s"


def shortened(name: object, most: int) -> str:
    """*name*, printable, in at most *most* columns: its middle gives way.

    The end of a host name says whose it is.
    """
    shown = printable(name)
    if columns(shown) <= most:
        return shown
    room = most - len(_CUT)
    return _fitting(shown, room // 2) + _CUT + _fitting(shown[::-1], room - room // 2)[::-1]


def _fitting(text: str, most: int) -> str:
    """As much of the beginning of *text* as *most* columns hold."""
    for end, character in enumerate(text):
        most -= columns(character)
        if most < 0:
            return text[:end]
    return text


def columns(text: str) -> int:
    """How wide *text* is in a terminal: Chinese characters take two columns (UAX #11)."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
