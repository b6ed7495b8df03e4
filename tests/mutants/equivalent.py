"""Reads equivalent.txt: mutants that no test can tell from the original, and why."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from .parts import ROOT

NAMED = Path(__file__).with_name("equivalent.txt")
_MUTANT = re.compile(r"^(\S+\.py)(?::\d+)?\n((?:  [-+] .*\n)+)", re.MULTILINE)
_ANYTHING = "..."


@cache
def named() -> frozenset[tuple[str, str, str]]:
    """Path, lines before and lines after of each."""
    return frozenset(
        (path, _marked("-", lines), _marked("+", lines))
        for path, lines in _MUTANT.findall(NAMED.read_text())
    )


def is_equivalent(path: str, before: str, after: str) -> bool:
    return not named().isdisjoint({(path, before, after), (path, before, _ANYTHING)})


def stale() -> list[str]:
    """Those whose lines are not in their file any more."""
    return [
        f"{path}: {line}"
        for path, before, _ in sorted(named())
        for line in before.splitlines()
        if line not in _lines(path)
    ]


def _marked(mark: str, lines: str) -> str:
    return "\n".join(line[4:] for line in lines.splitlines() if line[2] == mark)


@cache
def _lines(path: str) -> frozenset[str]:
    file = ROOT / path
    text = file.read_text() if file.exists() else ""
    return frozenset(line.strip() for line in text.splitlines())
