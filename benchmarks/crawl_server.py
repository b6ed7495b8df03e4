"""All the hosts of a scenario on 127.0.0.0/8, in a process of its own.

usage: python -m benchmarks.crawl_server SCENARIO [DEAD]

Prints its port. Ends when its standard input does, and prints what it was asked as JSON: a list of
seconds, address and path. Ends by itself after fifteen minutes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
import time

from .crawl_scenarios import Hosts, scenario_named

PAGE = b"<!DOCTYPE html><html><head><title>A page</title></head><body>" + b"<p>Text</p>" * 80
LONGEST = 1_700.0


def response(body: bytes, kind: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n"
    return head % (kind, len(body)) + body


class Site(asyncio.Protocol):
    """One connection."""

    hosts: dict[int, Hosts]
    hits: list[tuple[float, str, str]]
    page = response(PAGE, b"text/html")
    idle = 0.0
    timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.address: str = transport.get_extra_info("sockname")[0]
        self.waiting = b""
        if not self.address.startswith("127."):
            transport.abort()

    def data_received(self, data: bytes) -> None:
        if self.idle:
            self.close_later()
        self.waiting += data
        while b"\r\n\r\n" in self.waiting:
            head, _, self.waiting = self.waiting.partition(b"\r\n\r\n")
            self.answer(head.split(b" ", 2)[1].decode())

    def close_later(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.timer = asyncio.get_running_loop().call_later(self.idle, self.transport.close)

    def answer(self, path: str) -> None:
        self.hits.append((time.monotonic(), self.address, path))
        hosts = self.hosts[int(self.address.split(".")[1])]
        if path != "/robots.txt":
            loop = asyncio.get_running_loop()
            loop.call_later(hosts.latency, self.transport.write, self.page)
        elif not hosts.dead:
            self.transport.write(response(hosts.robots.encode(), b"text/plain"))


def listening_socket() -> socket.socket:
    """For all addresses of the loopback device: one socket instead of one per host."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with contextlib.suppress(OSError, AttributeError):
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
    listening.bind(("0.0.0.0", 0))
    listening.listen(8192)
    return listening


async def main() -> None:
    scenario = scenario_named(sys.argv[1])
    Site.hosts = {hosts.net: hosts for hosts in scenario.hosts}
    Site.hits = []
    Site.idle = scenario.idle
    loop = asyncio.get_running_loop()
    listening = listening_socket()
    server = await loop.create_server(Site, sock=listening, backlog=8192)
    print(listening.getsockname()[1], flush=True)
    with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
        await asyncio.wait_for(loop.run_in_executor(None, sys.stdin.read), LONGEST)
    server.close()
    json.dump(Site.hits, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
