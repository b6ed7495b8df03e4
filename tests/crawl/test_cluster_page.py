"""The commands of docs/cluster-operation.md that watch a crawl of several workers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.redis_server import RedisServer
from tests.samples import ROOT, blocks
from tests.sites import hang
from tests.workers import SHARED, Workers, robots

if TYPE_CHECKING:
    from tests.sites import Sites

pytest.importorskip("scrapy_redis")

COMMANDS = [
    command
    for block in blocks("console", "docs/cluster-operation.md")
    for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE)
    if "redis-cli" in command
]
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
HOST = "www.site.example"


def test_the_commands_show_what_there_is(sites: Sites) -> None:
    if shutil.which("redis-cli", path=PATH) is None:
        pytest.skip("needs a redis-cli")
    slow, silent = sites.host(robots(60)), sites.host(hang)
    shown: dict[str, str] = {}

    def after(words: str) -> str:
        (found,) = (text for command, text in shown.items() if words in command)
        return found

    settings = {**SHARED, "ROBOTS_FETCH_TIMEOUT": 60}
    with RedisServer() as server, Workers({slow: 5, silent: 1}, server, settings) as workers:
        workers.start(2)
        workers.go()

        def show() -> bool:
            for command in COMMANDS:
                shown[command] = answer(command.replace(HOST, slow.address), server)
            waiting = int(after("get '{worker:requests}:waiting'"))
            is_dealt_with = sorted(after("hlen").split()) == ["0", "1"]
            return waiting == 4 and int(after("+inf +inf")) == 1 and is_dealt_with

        workers.wait_until(lambda: slow.fetched and silent.robots_hits and show(), 30)
    # One host waits for its delay, and the robots.txt of the other is being fetched.
    assert int(after("zcard '{worker:requests}:due'")) == 2 + 1  # the mark
    assert int(after("zcard '{worker:requests}:new'")) == 1
    assert int(after("-inf")) == 0
    assert int(after("'{worker:requests}:host:")) == 4
    assert after("hget").startswith("60000 ")
    assert after("0 9 withscores").startswith(slow.address)
    assert len(after("workers' 0 -2 withscores").split()) == 2 * 2
    assert int(after(":record")) == 1
    assert after(":lease").split() == [f"{{robots:{silent.origin}}}:lease"]
    assert int(after("llen")) == 0


def answer(command: str, server: RedisServer) -> str:
    command = re.sub(r"\bredis-cli\b", f"redis-cli -u {server.url}", command)
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env={**os.environ, "PATH": PATH},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert "ERR" not in done.stdout, (command, done.stdout)
    return done.stdout


def test_a_user_with_the_rights_of_the_page_is_enough(sites: Sites) -> None:
    page = (ROOT / "docs/cluster-operation.md").read_text()
    (rights,) = re.findall(r"needs `(~[^`]*)`", page)
    hosts = {sites.host(robots(0.2)): 4, sites.host(robots()): 20}
    with (
        RedisServer(user="crawler", password="5ecret", rights=rights) as server,
        Workers(hosts, server, SHARED) as workers,
    ):
        workers.start(2)
        crawled = workers.crawl(60)
        with server.client() as client:
            refused = [each["object"] for each in client.acl_log() if each["reason"] == "key"]
    assert refused == []
    assert crawled.missing == set()
    assert crawled.stat("robotstxt/shared_queue/errors") == 0
    assert crawled.stat("robotstxt/store/errors") == 0
