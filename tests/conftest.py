from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .sites import Sites

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "stress: the long form of a test; run with -m stress")


@pytest.fixture
def sites() -> Iterator[Sites]:
    with Sites() as running:
        yield running
