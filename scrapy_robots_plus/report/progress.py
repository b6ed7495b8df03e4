"""What the queue is waiting for: one message every ``LOGSTATS_INTERVAL`` seconds."""

from __future__ import annotations

from heapq import nlargest

from scrapy.crawler import Crawler

from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.hosts.host import Lane, State
from scrapy_robots_plus.hosts.turns import Hosts, hosts_in_use
from scrapy_robots_plus.protocol.printable import counted, duration, printable

logger = crawl_log(__name__)

_READY = "ready"
_GROUPS = {
    State.POLICY: "waiting for robots.txt",
    State.LATER: "waiting for their delay",
    State.AT_DOOR: "waiting for their delay",
    State.HELD: "held back",
    State.REFUSED: "whose requests fail",
}
"""The words for the states of a lane. In any other state it is ready."""
_ASKED_FOR_THEIR_DELAY = 1_000
"""How many lanes, those with the most requests, are asked: it takes a hundred times as long."""


def log_progress(crawler: Crawler) -> None:
    """Logs what the queues of a crawl wait for, if anything is in them."""
    hosts = hosts_in_use(crawler)
    text = "" if hosts is None else describe(hosts)
    if text:
        logger(crawler).info(printable(text))


def describe(hosts: Hosts) -> str:
    """Returns what *hosts* wait for, with how many requests, and for how long.

    Adds how many hosts only the job's file holds. Empty if nothing waits.
    """
    lanes = [lane for queue in hosts.queues for lane in queue]
    parts = [_in_groups(lanes, hosts)] if lanes else []
    if asleep := sum(queue.lanes_asleep for queue in hosts.queues):
        requests = counted(sum(map(len, hosts.queues)) - sum(map(len, lanes)), "request")
        parts.append(f"{counted(asleep, 'host')} in the job's file ({requests})")
    return "; ".join(parts)


def _in_groups(lanes: list[Lane], hosts: Hosts) -> str:
    groups: dict[str, list[Lane]] = {group: [] for group in (_READY, *_GROUPS.values())}
    for lane in lanes:
        groups[_GROUPS.get(lane.state, _READY)].append(lane)
    text = "Hosts in the queue: " + ", ".join(
        f"{len(members):,} {group} ({counted(sum(map(len, members)), 'request')})"
        for group, members in groups.items()
        if members
    )
    waits = []
    for lane in nlargest(_ASKED_FOR_THEIR_DELAY, lanes, key=len):
        delay = hosts.known.delay_of(lane)
        pause = max(0.0, hosts.known.due_in(lane) - delay)  # beyond the delay
        waits.append((pause + len(lane) * delay, lane.address.name, len(lane), delay, pause))
    seconds, name, count, delay, pause = max(waits)
    if seconds:
        of_them = f"{name}, {counted(count, 'request')} x {delay:.3g} s"
        text += f". At least {duration(seconds)} remaining: {of_them}"
        if pause >= 1:
            text += f" after a pause of {duration(pause)}"
    return text
