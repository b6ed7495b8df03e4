from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .sites import Sites

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def sites() -> Iterator[Sites]:
    with Sites() as running:
        yield running
