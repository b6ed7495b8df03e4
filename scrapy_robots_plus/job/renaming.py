"""The names of lanes, which are those of the priority queue that made them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .written import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request

    from .job import Job

NAMED_BY = "lanes are named by"
AT_ONCE = 1_000
"""Requests that are moved in a transaction: it takes memory and room in the log."""


def name_lanes(job: Job, by: str, name_of: Callable[[Request], str]) -> None:
    """Moves each request into the lane *name_of* it, unless lanes are named *by* this already.

    When a job is resumed with another priority queue, this reads all its requests.
    """
    named_by = job.file.note(NAMED_BY)
    if named_by is not None and named_by != by:
        job.file.set_note(NAMED_BY, "several")  # in case the process is killed before the end
        moves = (move for lane in job.names() for move in _moves(job, lane, name_of))
        for number, _ in enumerate(moves):
            if number % AT_ONCE == 0:
                job.file.commit()
    job.file.set_note(NAMED_BY, by)
    job.file.commit()


def _moves(job: Job, lane: str, name_of: Callable[[Request], str]) -> Iterator[None]:
    """The oldest first, so that they stay in order. Yields whenever a kill would not change it."""
    for (priority, starts), number in job.contents(lane).items():
        any_stays = False
        for _ in range(number):
            taken = job.file.take(lane, priority, starts=starts, newest=False)
            if taken is None:
                break
            try:
                name = name_of(read(taken.data, job.spider))
            except Exception:  # noqa: BLE001 - it is set aside when its turn comes
                name = lane
            job.file.add(name, priority, taken.data, starts=starts, hard_ends=taken.hard_ends)
            job.file.end(taken.id)
            any_stays |= name == lane
            if not any_stays:
                yield
        yield
