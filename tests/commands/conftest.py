from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..audit import sample_log
from ..audit.logs import write_sealed
from ..forks import Forks
from .running import Robots

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session", autouse=True)
def forks() -> None:
    Forks.running()  # now, as some tests run commands from several threads


@pytest.fixture(params=["in a project", "outside"])
def robots(request: pytest.FixtureRequest, tmp_path: Path) -> Robots:
    """``scrapy robots``, run as a user would: in a project with the add-on, and outside of one."""
    if request.param == "in a project":
        return Robots.in_project(tmp_path)
    return Robots(tmp_path)


@pytest.fixture
def alone(tmp_path: Path) -> Robots:
    """``scrapy robots`` outside of a project, for what a project cannot change."""
    return Robots(tmp_path)


@pytest.fixture
def reporter(tmp_path: Path) -> Robots:
    """``scrapy robots`` in a folder with an audit log, ``audit.jsonl``."""
    write_sealed(tmp_path / "audit.jsonl", sample_log.entries())
    return Robots(tmp_path)
