from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running
