from __future__ import annotations

from collections.abc import Iterator

import pytest

from .sites import Sites


@pytest.fixture
def sites() -> Iterator[Sites]:
    with Sites() as running:
        yield running
