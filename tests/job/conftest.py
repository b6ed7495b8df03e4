"""A job's file that is not there yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.job import FILE_NAME

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE_NAME
