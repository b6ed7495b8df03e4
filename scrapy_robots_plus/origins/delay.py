"""From the requested Crawl-delay to the delay that is kept."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from scrapy_robots_plus.settings.options import TooLong


@dataclass(frozen=True, slots=True)
class Delay:
    """A Crawl-delay, as asked and as kept, in seconds."""

    asked: float
    kept: float
    skip: bool = False
    """Whether the host is not crawled because of it."""
    own: bool = False
    """Whether the user's settings ask for it, not the file."""

    @property
    def clamped(self) -> bool:
        return self.kept < self.asked


def delay_of(value: object, maximum: float, too_long: TooLong) -> Delay | None:
    """The delay to keep for a Crawl-delay of *value*; None if that is not a delay. A *maximum* of 0
    is none.

    Crawl-delay is not in RFC 9309, and parsers let invalid values through: negative, zero, ``nan``,
    infinite.
    """
    if not isinstance(value, (int, float)) or not isfinite(value) or value <= 0:
        return None
    asked = float(value)
    if not maximum or asked <= maximum:
        return Delay(asked, asked)
    return Delay(asked, maximum, skip=too_long is TooLong.SKIP)


def longer_delay(one: Delay | None, other: Delay | None) -> Delay | None:
    """The one of two delays that asks for more; the first if both ask for the same."""
    if one is None or other is None:
        return other if one is None else one
    return other if other.asked > one.asked else one
