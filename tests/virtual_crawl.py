"""A crawl of one host in virtual time: nothing waits. With a Throttle, or as Scrapy's own."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import TYPE_CHECKING

from scrapy_robots_plus.hosts.throttle import Refusal, Throttle

if TYPE_CHECKING:
    from .broken_sites import Site

LONGEST_WAIT = 300.0
RETRIES = 2
BUSY = (429, 503)


@dataclass
class Page:
    number: int
    priority: int = 0
    tries: int = 0
    forgiven: int = 0
    before: int = 0
    """How many times it was refused."""


@dataclass
class Done:
    """The outcome of a crawl."""

    seconds: float = 0.0
    sent: int = 0
    refused: int = 0
    got: set[int] = field(default_factory=set)
    tries: dict[int, int] = field(default_factory=dict)
    """Requests for each page."""
    pauses: float = 0.0
    throttle: Throttle | None = None
    burst: int = 0
    """Of the refused, those that were under way when the first of them was refused."""

    @property
    def share(self) -> float:
        return self.refused / self.sent


def virtual_crawl(
    site: Site,
    pages: int,
    *,
    own: bool = False,
    seed: int = 0,
    at_once: int = 8,
    seconds: tuple[float, float] = (0.05, 0.15),
    retry_after: float = 0.0,
    urgent: int | None = None,
    longest_wait: float = LONGEST_WAIT,
    gap: float = 0.0,
) -> Done:
    """As a downloader slot does it: *at_once* requests, each of which takes so many *seconds*.

    *own*: as Scrapy's retry middleware does it, without backing off. *retry_after*: what a refusal
    asks for. *urgent*: a page with ``priority=20``. *gap*: ``DOWNLOAD_DELAY``.
    """
    dice = random.Random(seed)
    throttle = None if own else Throttle(longest_wait, dice.random)
    first_phase = throttle and throttle.phase
    start = now = 100 * dice.random()
    numbers = count()
    queue: list[tuple[int, int, Page]] = []
    for number in range(pages):
        page = Page(number, 20 if number == urgent else 0)
        heappush(queue, (-page.priority, next(numbers), page))
    done = Done(throttle=throttle)
    under_way = 0
    last, not_before = -inf, 0.0
    events: list[tuple[float, int, Page, int, float, int]] = []
    while queue or under_way:
        due = max(now, last + gap, not_before)
        if throttle is not None:
            due = max(due, last + throttle.gap, throttle.until)
        if queue and under_way < at_once and (not events or due <= events[0][0]):
            now = last = due
            _, _, page = heappop(queue)
            page.tries += 1
            under_way, done.sent = under_way + 1, done.sent + 1
            done.tries[page.number] = page.tries
            there = dice.uniform(*seconds) / 2
            phase = 0 if throttle is None else throttle.phase
            heappush(events, (now + there, next(numbers), page, phase, there, 0))
            continue
        now, _, page, sent_in, back, status = heappop(events)
        if not status:
            status = site.status(page.number, now)
            heappush(events, (now + back, next(numbers), page, sent_in, back, status))
            continue
        under_way -= 1
        if status not in BUSY:
            done.got.add(page.number)
            if throttle is not None:
                throttle.answered(sent_in, now, is_first=not page.before)
            continue
        done.refused += 1
        if retry_after and not own:
            not_before = now + retry_after
        if throttle is not None:
            done.burst += sent_in == first_phase
            told = throttle.refused(
                sent_in,
                now,
                is_first=not page.before,
                is_429=status == 429,
                asked=retry_after,
            )
            if told is Refusal.NEW:
                done.pauses += throttle.until - now
            page.forgiven += throttle.forgives(told, page.before)
            if page.before:
                page.priority = min(page.priority, 0)
            page.before += 1
        if page.tries <= RETRIES + page.forgiven:
            page.priority -= 1
            heappush(queue, (-page.priority, next(numbers), page))
    done.seconds = now - start
    return done
