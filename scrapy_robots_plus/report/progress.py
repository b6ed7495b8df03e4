"""What the queue is waiting for: one message at every ``LOGSTATS_INTERVAL``."""

from __future__ import annotations

from collections import Counter
from heapq import nlargest
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.hosts.host import Lane, State
from scrapy_robots_plus.hosts.queue import RobotsPriorityQueue
from scrapy_robots_plus.hosts.turns import Hosts, hosts_in_use
from scrapy_robots_plus.protocol.printable import counted, duration, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from scrapy.crawler import Crawler


logger = crawl_log(__name__)

_GROUPS = {
    State.READY: "ready",
    State.FULL: "ready",
    State.POLICY: "waiting for robots.txt",
    State.LATER: "waiting for their delay",
    State.AT_DOOR: "waiting for their delay",
    State.HELD: "held back",
    State.REFUSED: "with an unreadable robots.txt",
}
_ASKED_FOR_THEIR_DELAY = 1_000
"""Lanes, those with the most requests: it takes a hundred times as long as counting them."""
_ORDER = tuple(dict.fromkeys(_GROUPS.values()))


def describe(
    lanes: Collection[Lane],
    delay_of: Callable[[Lane], float],
    due_in: Callable[[Lane], float],
) -> str:
    """The message: what the hosts wait for, with how many requests, and for how long.

    *delay_of* returns the average seconds between two requests of a lane, *due_in* those until it
    may send another one. The message is empty if nothing is queued.
    """
    if not lanes:
        return ""
    hosts: Counter[str] = Counter()
    requests: Counter[str] = Counter()
    for lane in lanes:
        group = _GROUPS.get(lane.state, "ready")
        hosts[group] += 1
        requests[group] += len(lane)
    groups = (
        f"{hosts[group]:,} {group} ({counted(requests[group], 'request')})"
        for group in _ORDER
        if hosts[group]
    )
    text = "Hosts in the queue: " + ", ".join(groups)
    waits = []
    for lane in nlargest(_ASKED_FOR_THEIR_DELAY, lanes, key=len):
        delay = delay_of(lane)
        pause = max(0.0, due_in(lane) - delay)  # beyond the delay
        waits.append((pause + len(lane) * delay, lane.address.name, len(lane), delay, pause))
    seconds, name, count, delay, pause = max(waits)
    if seconds:
        of_them = f"{name}, {counted(count, 'request')} x {delay:.3g} s"
        text += f". At least {duration(seconds)} remaining: {of_them}"
        if pause >= 1:
            text += f" after a pause of {duration(pause)}"
    return text


def log_progress(crawler: Crawler) -> None:
    """Logs :func:`describe` for the queues of a crawl."""
    hosts = hosts_in_use(crawler)
    if hosts is None:
        return
    lanes = [lane for queue in hosts.queues for lane in queue]
    parts = describe(lanes, hosts.delay_of, hosts.due_in), _asleep(hosts, lanes)
    text = "; ".join(filter(None, parts))
    if text:
        logger(crawler).info(printable(text))


def _asleep(hosts: Hosts, lanes: list[Lane]) -> str:
    """What only the file of a job holds, beside the *lanes* in memory."""
    ours = [queue for queue in hosts.queues if isinstance(queue, RobotsPriorityQueue)]
    asleep = sum(queue.lanes_asleep for queue in ours)
    if not asleep:
        return ""
    requests = sum(map(len, ours)) - sum(map(len, lanes))
    return f"{counted(asleep, 'host')} in the job's file ({counted(requests, 'request')})"
