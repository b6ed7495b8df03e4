"""Timelines of crawls as SVG: when each class of host was served."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from .crawl import Run
    from .crawl_scenarios import Scenario

WIDTH, ROW, LEFT, GAP = 720, 34, 130, 18
BINS = 180
TITLES = {
    "package": "scrapy-robots-plus",
    "built-in": "Scrapy's own middleware",
    "off": "robots.txt off",
}
COLOURS = ("#2a6f97", "#c8553d", "#6a994e", "#7d5ba6")


def draw(scenario: Scenario, runs: dict[str, Run], file: Path) -> None:
    """A panel for each variant, a row for each class; darker where more pages were asked for."""
    longest = max(run.result["seconds"] for run in runs.values())
    parts: list[str] = []
    top = 44
    for variant, run in runs.items():
        parts.append(_text(8, top + 12, TITLES[variant], bold=True))
        for index, (name, times) in enumerate(run.timeline().items()):
            top += ROW
            parts.append(_text(LEFT - 8, top + 4, f"{name} ({len(times):,})", anchor="end"))
            parts += _row(times, longest, top - 10, COLOURS[index % len(COLOURS)])
        top += ROW // 2 + GAP
    parts += _axis(longest, top)
    title = _text(8, 22, scenario.title, bold=True)
    height = top + 40
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 30}" height="{height}" '
        f'font-family="sans-serif" font-size="13">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{title}\n'
        + "\n".join(parts)
        + "\n</svg>\n",
        encoding="utf-8",
    )


def _row(times: list[float], longest: float, top: float, colour: str) -> list[str]:
    counts = [0] * BINS
    for at in times:
        counts[min(int(at / longest * BINS), BINS - 1)] += 1
    most = max(counts, default=0) or 1
    width = WIDTH / BINS
    boxes = [f'<rect x="{LEFT}" y="{top}" width="{WIDTH}" height="20" fill="#f1f1f1"/>']
    boxes += [
        f'<rect x="{LEFT + number * width:.1f}" y="{top}" width="{width + 0.2:.1f}" height="20" '
        f'fill="{colour}" opacity="{0.25 + 0.75 * count / most:.2f}"/>'
        for number, count in enumerate(counts)
        if count
    ]
    return boxes


def _axis(longest: float, top: float) -> list[str]:
    step = next(step for step in (1, 2, 5, 10, 20, 30, 60, 120, 300) if longest / step <= 10)
    marks = []
    for number in range(int(longest / step) + 1):
        x = LEFT + number * step / longest * WIDTH
        marks.append(_text(x, top + 16, f"{number * step} s", anchor="middle"))
    return marks


def _text(x: float, y: float, text: str, *, anchor: str = "start", bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{weight}>{text}</text>'
