from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.redis_server import RedisServer
from tests.workers import SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("scrapy_redis")


@pytest.fixture(scope="module")
def _one_server() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


@pytest.fixture
def server(_one_server: RedisServer) -> RedisServer:
    return _one_server.emptied()


@pytest.fixture
def shared(server: RedisServer) -> dict[str, Any]:
    """The settings of a worker."""
    return {
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "SCHEDULER_PERSIST": True,
        "REDIS_URL": server.url,
        **SHARED,
    }
