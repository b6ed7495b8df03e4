from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.redis_server import RedisServer

from .workers import Crew

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with RedisServer() as running:
        yield running.client()


@pytest.fixture
def crew(client: Any) -> Crew:
    return Crew(client)


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running
