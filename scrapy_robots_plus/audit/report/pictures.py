"""Pictures as inline SVG: shapes alone. Words beside them are HTML, so that they stay readable on
a phone, and each picture says in its label what it shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.summary.gaps import BINS, BINS_PER_DELAY

from .html import Html, element

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_robots_plus.audit.summary.gaps import Gaps

_HEIGHT = 100
_LEAST = 4
"""Height of the lowest bar, so that it can be seen."""
_LONGER = BINS + 1.5
"""Where the bar of all longer gaps begins."""
_LONGER_WIDTH = 2.5
GAPS_WIDTH = _LONGER + _LONGER_WIDTH
"""style.py places words below by it."""


def bars(counts: Sequence[int], kind: str, label: str) -> Html:
    """A bar for each count."""
    most = max(counts, default=0)
    shapes = (_bar(place, 0.9, count, most, kind) for place, count in enumerate(counts) if count)
    return _picture(len(counts), label, shapes)


def histogram(gaps: Gaps, label: str) -> Html:
    """A bar for each bin, and a line at the delay."""
    most = max(gaps.histogram)
    shapes = [
        _bar(place, 0.9, count, most, "short" if place < BINS_PER_DELAY else "kept")
        for place, count in enumerate(gaps.histogram[:BINS])
        if count
    ]
    if longer := gaps.histogram[BINS]:
        shapes.append(_bar(_LONGER, _LONGER_WIDTH, longer, most, "kept"))
    at = BINS_PER_DELAY
    shapes.append(element("line", class_="asked", x1=at, x2=at, y1=0, y2=_HEIGHT))
    return _picture(GAPS_WIDTH, label, shapes)


def share(parts: Sequence[tuple[str, int]], most: int) -> Html:
    """A bar of several parts, side by side; it is as long as their sum is of *most*. It repeats
    what the numbers beside it say, so nobody has it read out.
    """
    shapes, left = [], 0.0
    for kind, count in parts:
        width = count / most * 100 if most else 0
        shapes.append(element("rect", class_=kind, x=f"{left:.2f}", width=f"{width:.2f}", height=1))
        left += width
    view = {"viewBox": "0 0 100 1", "preserveAspectRatio": "none"}
    return element("svg", *shapes, class_="share", aria_hidden="true", **view)


def _bar(left: float, width: float, count: int, most: int, kind: str) -> Html:
    height = max(_LEAST, round(count / most * _HEIGHT))
    return element("rect", class_=kind, x=left, y=_HEIGHT - height, width=width, height=height)


def _picture(width: float, label: str, shapes: Iterable[Html]) -> Html:
    view = {"viewBox": f"0 0 {width:g} {_HEIGHT}", "preserveAspectRatio": "none"}
    return element("svg", *shapes, role="img", aria_label=label, **view)
