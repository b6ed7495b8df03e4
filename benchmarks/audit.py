"""What the audit log costs: CPU time of crawls with and without it, in pairs.

usage: python -m benchmarks.audit [PAIRS] [REQUESTS]

Three kinds of crawls: every request allowed and logged, every second one denied and logged, and
every request allowed with only denials logged. Each crawl is a process of its own; sites are in
another one. The first crawl of a pair is in turn the one with the log and the one without.
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy.crawler import AsyncCrawlerProcess

from .crawl_server import listening_socket

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

HOSTS = 20
RULES = "User-agent: *\n" + "".join(f"Disallow: /private/{n}/*/x\n" for n in range(25))
ROBOTS = RULES + "Disallow: /closed/\nAllow: /\n"
KINDS: dict[str, dict[str, Any]] = {
    "all allowed, all logged": {"closed": 0, "settings": {"ROBOTS_AUDIT_LOG_ALLOWED": True}},
    "half denied, denials logged": {"closed": 2, "settings": {}},
    "all allowed, denials logged": {"closed": 0, "settings": {}},
}


class Spider(scrapy.Spider):
    name = "audit"

    def __init__(self, port: int, requests: int, closed: int) -> None:
        super().__init__()
        self.port, self.requests, self.closed = port, requests, closed

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for number in range(self.requests):
            folder = "closed" if self.closed and number % self.closed == 0 else "open"
            url = f"http://127.0.0.{number % HOSTS + 1}:{self.port}/{folder}/{number}"
            yield scrapy.Request(url, errback=self.failed)

    def parse(self, response: scrapy.http.Response) -> None:
        """Nothing: what a spider does is not measured."""

    def failed(self, failure: Any) -> None:
        """Denied."""


def crawl() -> None:
    """A process with one crawl: prints its CPU time and how many lines it has logged."""
    port, requests, kind, log = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
    settings: dict[str, Any] = {
        "ADDONS": {"scrapy_robots_plus.Addon": 300},
        "USER_AGENT": "Foobot/1.0 (+https://foobot.example/)",
        "LOG_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "CONCURRENT_REQUESTS": 64,
        "DOWNLOAD_DELAY": 0,
    }
    if log:
        settings |= {"ROBOTS_AUDIT_LOG": log, **KINDS[kind]["settings"]}
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(Spider)
    process.crawl(crawler, port=port, requests=requests, closed=KINDS[kind]["closed"])
    process.start()
    used = resource.getrusage(resource.RUSAGE_SELF)
    assert crawler.stats is not None
    lines = crawler.stats.get_value("robotstxt/audit/lines", 0)
    print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "lines": lines}))


class Site(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        body = ROBOTS.encode() if data.startswith(b"GET /robots.txt ") else b"<p>Text</p>" * 80
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
        self.transport.write(head % len(body) + body)


async def serve() -> None:
    """Prints its port; ends with its standard input."""
    listening = listening_socket()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Site, sock=listening)
    print(listening.getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


def measured(port: str, requests: int, kind: str, log: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.audit", "crawl", port, str(requests), kind, log]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    requests = int(sys.argv[2]) if len(sys.argv) > 2 else 3_000
    command = [sys.executable, "-m", "benchmarks.audit", "serve"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as server, tempfile.TemporaryDirectory() as folder:
        port = server.stdout.readline().strip()
        print(f"{requests:,} requests, {HOSTS} hosts, {pairs} pairs; CPU seconds, medians")
        for kind in KINDS:
            ratios, off, on = [], [], []
            for pair in range(pairs):
                log = str(Path(folder, f"{len(kind)}-{pair}.jsonl"))
                runs = {
                    name: measured(port, requests, kind, name)
                    for name in (("", log) if pair % 2 else (log, ""))
                }
                ratios.append(runs[log]["cpu"] / runs[""]["cpu"])
                off.append(runs[""]["cpu"])
                on.append(runs[log]["cpu"])
            lines = runs[log]["lines"]
            print(
                f"{kind}: {statistics.median(off):.2f} without, {statistics.median(on):.2f} with "
                f"({lines:,} lines), ratio {statistics.median(ratios):.3f} "
                f"({min(ratios):.3f} to {max(ratios):.3f})",
                flush=True,
            )
        server.stdin.close()


if __name__ == "__main__":
    match sys.argv[1:2]:
        case ["crawl"]:
            crawl()
        case ["serve"]:
            asyncio.run(serve())
        case _:
            main()
