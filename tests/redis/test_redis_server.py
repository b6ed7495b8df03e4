"""What no other test would notice of the servers that tests start."""

from __future__ import annotations

import os
from contextlib import suppress

from tests.programs import CODE, Program
from tests.redis_server import program, wait_until

PAUSED = """
import time
from tests.redis_server import RedisServer
server = RedisServer()
server.start()
server.pause()
print(server.pid, flush=True)
time.sleep(60)
"""


def test_a_server_ends_with_the_process_that_started_it_even_if_paused() -> None:
    program()
    with Program(CODE, PAUSED) as process:
        server = int(process.stdout.readline())
        process.kill()
    wait_until(lambda: not is_there(server))


def is_there(process: int) -> bool:
    with suppress(OSError):
        os.kill(process, 0)
        return True
    return False
