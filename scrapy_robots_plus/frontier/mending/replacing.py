"""Puts a new file in the place of a job's, so that a kill at any moment leaves one of the two."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING

from scrapy_robots_plus.storage.sqlite.file import log_of

if TYPE_CHECKING:
    from pathlib import Path

UNREADABLE = "unreadable"
"""The folder, beside the file, that damaged files are moved to."""


def part_of(path: Path) -> Path:
    """Where the new file is made."""
    return path.with_name(f"{path.name}.part")


def replace(path: Path) -> Path | None:
    """The new file is complete. Returns where the old one is kept; None if there was none."""
    os.replace(part_of(path), _complete(path))
    return finish_replacing(path)


def finish_replacing(path: Path) -> Path | None:
    """Goes on where a kill has stopped :func:`replace`."""
    if not _complete(path).exists():
        return None
    kept = None
    # The log first: it must never lie beside the new file.
    for old in (log_of(path), path):
        if old.exists():
            kept = unused(path.parent / UNREADABLE / old.name)
            kept.parent.mkdir(exist_ok=True)
            os.rename(old, kept)
    os.replace(_complete(path), path)
    return kept


def unused(path: Path) -> Path:
    """*path*, or the same with a number if that file exists."""
    numbered = (path.with_name(f"{path.name}-{number}") for number in count(2))
    return path if not path.exists() else next(each for each in numbered if not each.exists())


def _complete(path: Path) -> Path:
    return path.with_name(f"{path.name}.mended")
