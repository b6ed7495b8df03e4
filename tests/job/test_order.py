"""The order within a lane is that of Scrapy's own queues."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.squeues import FifoMemoryQueue, LifoMemoryQueue
from scrapy.utils.test import get_crawler

from scrapy_robots_plus.job import JobFile, rank_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("queue", "newest"), [(LifoMemoryQueue, True), (FifoMemoryQueue, False)], ids=["lifo", "fifo"]
)
@pytest.mark.parametrize(
    ("starts", "newest_start"),
    [(LifoMemoryQueue, True), (FifoMemoryQueue, False)],
    ids=["lifo starts", "fifo starts"],
)
def test_a_lane_hands_out_what_scrapys_priority_queue_would(
    path: Path, queue: Any, newest: bool, starts: Any, newest_start: bool
) -> None:
    chance = random.Random(3)
    scrapys = ScrapyPriorityQueue.from_crawler(get_crawler(), queue, "", start_queue_cls=starts)
    with JobFile(path) as file:
        for number in range(500):
            if chance.random() < 0.6:
                start, priority = chance.random() < 0.3, chance.randrange(-2, 3)
                url = f"data:,{number}"
                meta = {"is_start_request": start}
                scrapys.push(Request(url, priority=priority, meta=meta))
                file.add("lane", rank_of(-priority, start), url.encode())
            else:
                expected = scrapys.pop()
                assert pop(file, newest, newest_start) == (expected and expected.url)


def pop(file: JobFile, newest: bool, newest_start: bool) -> str | None:
    parts = file.contents("lane")
    if not parts:
        return None
    rank = min(parts)
    taken = file.take("lane", rank, newest=newest_start if rank & 1 else newest)
    assert taken is not None
    file.end(taken.id)
    return taken.data.decode()
