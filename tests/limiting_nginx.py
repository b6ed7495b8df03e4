"""A real nginx on loopback whose limit_req refuses requests, where nginx is installed."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from .redis_server import GUARDED
from .sites import NETWORK

if TYPE_CHECKING:
    from typing_extensions import Self

MAIN = """
worker_processes 1;
daemon off;
pid {folder}/pid;
error_log {folder}/error.log crit;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {servers}
}}
"""
SERVER = """
limit_req_zone $binary_remote_addr zone=z{number}:1m rate={rate}r/s;
server {{
    listen {address}:{port};
    location = /robots.txt {{ return 404; }}
    location / {{
        limit_req zone=z{number} burst={burst} nodelay;
        limit_req_status {status};
        {refusal}
        root {folder}/pages;
        try_files /page.html =404;
    }}
    location @refused {{ add_header Retry-After 1 always; return {status}; }}
}}
"""


def has_nginx() -> bool:
    return shutil.which("nginx") is not None


class LimitingNginx:
    """One process with any number of servers, each with a limit of its own."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="nginx"))
        self._folder.chmod(0o755)
        (self._folder / "pages").mkdir()
        (self._folder / "pages" / "page.html").write_text("<p>A page</p>")
        self._servers: list[str] = []
        self._places: list[tuple[str, int]] = []
        self._guard: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._guard is not None:
            self._guard.communicate(timeout=10)
        shutil.rmtree(self._folder, ignore_errors=True)

    def server(self, status: int, retry_after: bool, *, rate: int = 3, burst: int = 5) -> str:
        """The origin of another server, which refuses with *status* what is above *rate* a
        second, and *burst* at once. To be called before :meth:`start`.
        """
        number = len(self._places) + 1
        address = f"{NETWORK}.254.{number}"
        with socket.socket() as probe:
            probe.bind((address, 0))
            port = probe.getsockname()[1]
        self._servers.append(
            SERVER.format(
                number=number,
                address=address,
                port=port,
                rate=rate,
                burst=burst,
                status=status,
                folder=self._folder,
                refusal=f"error_page {status} = @refused;" if retry_after else "",
            )
        )
        self._places.append((address, port))
        return f"http://{address}:{port}"

    def start(self) -> None:
        """Starts it, if there is any server, and waits until it listens."""
        if not self._servers:
            return
        conf = self._folder / "nginx.conf"
        conf.write_text(MAIN.format(folder=self._folder, servers="".join(self._servers)))
        log = str(self._folder / "error.log")
        self._guard = subprocess.Popen(
            [
                "/bin/sh",
                "-c",
                GUARDED.replace("kill -9", "kill"),
                "guard",
                "nginx",
                "-e",
                log,
                "-c",
                str(conf),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for place in self._places:
            self._await(place)

    def _await(self, place: tuple[str, int]) -> None:
        deadline = time.monotonic() + 10
        with socket.socket() as probe:
            while probe.connect_ex(place):
                assert time.monotonic() < deadline, (self._folder / "error.log").read_text()
                time.sleep(0.05)
