"""nginx on all addresses of loopback, as it is when nothing is configured.

It ends with the process that started it, however that ends.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.redis_server import GUARDED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONFIGURATION = """\
daemon off;
master_process off;
pid {folder}/pid;
worker_rlimit_nofile 20000;
events {{ worker_connections 16000; }}
http {{
  log_format hits '$server_addr $uri $status';
  access_log {folder}/hits hits;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{
    listen {port} backlog=4096;
    location = /robots.txt {{ return 404; }}
    location / {{ return 200 "a page"; }}
  }}
}}
"""
"""It keeps connections open for its default of 75 seconds."""


class Nginx:
    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self.port = port

    @property
    def hits(self) -> Counter[tuple[str, str]]:
        """How often each path of each host was answered."""
        lines = (self._folder / "hits").read_text().splitlines()
        return Counter((host, path) for host, path, _ in map(str.split, lines))


@contextmanager
def nginx(folder: Path) -> Iterator[Nginx]:
    """One that keeps its files in *folder*. Skips the test where it is not installed."""
    program = shutil.which("nginx") or pytest.skip("needs nginx")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    configuration = folder / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, port=port))
    options = ["-p", str(folder), "-e", str(folder / "errors"), "-c", str(configuration)]
    guard = subprocess.Popen(
        ["/bin/sh", "-c", GUARDED, "guard", program, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        _wait_for(port, folder / "errors")
        yield Nginx(folder, port)
    finally:
        guard.communicate(timeout=10)


def _wait_for(port: int, errors: Path) -> None:
    give_up_at = time.monotonic() + 10
    while not _listens(port):
        assert time.monotonic() < give_up_at, errors.read_text()
        time.sleep(0.05)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
