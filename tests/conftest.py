from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from .forks import Forks
from .sites import Sites

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session", autouse=True)
def ended_forks() -> Iterator[None]:
    yield
    Forks.end()


@pytest.fixture
def sites() -> Iterator[Sites]:
    with Sites() as running:
        yield running


@pytest.fixture
def garbage_collected() -> Iterator[None]:
    """So that what is wrong with the rubbish of a test is told there, and not in another one."""
    yield
    gc.collect()
