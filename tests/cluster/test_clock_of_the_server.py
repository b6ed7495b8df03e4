"""The clock of a server is set back, or a replica whose clock is behind takes over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.cluster.pace.on_server import PaceOnServer

if TYPE_CHECKING:
    from tests.redis_server import RedisServer

HOST, DELAY, PATIENCE, TEN_MINUTES = "a.example", 1.0, 2.0, 600.0


class Pace(PaceOnServer):
    now = 1000.0

    def _now(self) -> float:
        return self.now


def test_nobody_waits_for_a_moment_that_was_to_come_by_the_other_clock(server: RedisServer) -> None:
    one, other = Pace(server.url, "crawlers"), Pace(server.url, "crawlers")
    assert one.ask(HOST, "one/0", DELAY, PATIENCE) == 0
    one.left(HOST, "one/0", 0.0, DELAY)
    other.now -= TEN_MINUTES
    assert 0 < other.ask(HOST, "other/0", DELAY, PATIENCE) <= DELAY
    other.now += DELAY
    assert other.ask(HOST, "other/0", DELAY, PATIENCE) == 0
    other.leave_alone(HOST, 30.0)
    one.now = other.now - TEN_MINUTES
    assert 29 < one.ask(HOST, "one/0", DELAY, PATIENCE) <= 30
    one.close()
    other.close()
