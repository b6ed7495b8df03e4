from __future__ import annotations

import gc
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from .forks import Forks
from .sites import Sites

if TYPE_CHECKING:
    from collections.abc import Iterator


# A machine with much else to do is slow; that is no failure. `make mutants` has its own profile.
busy = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("few", busy, max_examples=25)
settings.register_profile("many", busy, max_examples=500)
if settings.get_current_profile_name() == "default":
    settings.load_profile("few")


gc.disable()  # what is imported and collected now stays


def pytest_collection_finish() -> None:
    """No collection of garbage looks again at what was imported."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000)  # with 700, as usual, collections take a tenth of the time of a crawl


@pytest.fixture(scope="session", autouse=True)
def ended_forks() -> Iterator[None]:
    yield
    Forks.end()


@pytest.fixture(autouse=True)
def paces_begin_anew() -> None:
    """The hosts of each test have addresses that hosts of other tests had."""
    if shared_pace := sys.modules.get("scrapy_robots_plus.hosts.shared_pace"):
        shared_pace._books.clear()


@pytest.fixture(autouse=True)
def clients_of_scrapy_redis_are_closed() -> Iterator[None]:
    """It closes none. A socket warns if it is collected before the client that would close it."""
    connection: Any = sys.modules.get("scrapy_redis.connection")
    if connection is None:
        yield
        return
    get_redis = connection.get_redis
    with ExitStack() as clients, pytest.MonkeyPatch.context() as patched:

        def noted(**options: Any) -> Any:
            client = get_redis(**options)
            clients.callback(client.close)
            return client

        patched.setattr(connection, "get_redis", noted)
        yield


@pytest.fixture
def sites() -> Iterator[Sites]:
    with Sites() as running:
        yield running


@pytest.fixture
def garbage_collected() -> Iterator[None]:
    """So that what is wrong with the rubbish of a test is told there, and not in another one."""
    yield
    gc.collect()


@pytest.fixture
def path_of_nobody() -> Iterator[Path]:
    """A path to use as a user who is not root: to root, nothing is read-only."""
    if not hasattr(os, "geteuid"):
        pytest.skip("no user ids")
    user = os.geteuid()
    with TemporaryDirectory() as made:
        if not user:
            os.chown(made, 65_534, -1)
            os.seteuid(65_534)
        try:
            if not os.path.isdir(f"{made}/."):
                pytest.skip("temporary folders are root's alone")
            yield Path(made) / "robots.db"
        finally:
            if not user:
                os.seteuid(user)
