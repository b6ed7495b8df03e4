"""Jobs for tests: filled, damaged, and drained as a crawl drains them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import pytest

from scrapy_robots_plus.job import JobFile, JobFileError, rank_of
from scrapy_robots_plus.job.schema import RequestState

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from scrapy_robots_plus.job.schema import Run


def under_way(file: JobFile) -> int:
    return len(file.requests(RequestState.UNDER_WAY))


def last(file: JobFile) -> int:
    """How many requests wait until nothing else is left."""
    return len(file.requests(RequestState.LAST))


class Held(NamedTuple):
    """What a job must still hand out, by the data of each request."""

    data: Counter[bytes]
    ever: set[bytes]
    """With those that were dealt with."""
    commits: list[Counter[bytes]]
    """What it had to hand out at each commit."""


def fill(file: JobFile, chance: random.Random, requests: int = 400) -> Held:
    """Adds to many lanes, takes and ends some, leaves some under way, commits now and then."""
    data, under_way, commits = Counter[bytes](), dict[int, bytes](), [Counter[bytes]()]
    lanes = [f"host-{number}.example" for number in range(40)]
    for number in range(requests):
        body = chance.randbytes(chance.choice([10, 50, 300, 300, 300, 5_000, 20_000]))
        body += b"%d" % number
        file.see(body[-20:])
        lane = chance.choice(lanes)
        file.add(lane, rank_of(chance.choice([0, 0, 0, -5, 7]), chance.random() < 0.2), body)
        data[body] += 1
        if chance.random() < 0.4:
            lane = chance.choice(lanes)
            for rank in file.contents(lane):
                taken = file.take(lane, rank, newest=True)
                assert taken is not None
                under_way[taken.id] = taken.data
                break
        if under_way and chance.random() < 0.3:
            id_ = chance.choice(list(under_way))
            file.end(id_)
            data[under_way.pop(id_)] -= 1
        if chance.random() < 0.05:
            file.commit()
            commits.append(+data)
    file.commit()
    return Held(+data, set(data), [*commits, +data])


def drain(file: JobFile, found: Counter[bytes] | None = None) -> Counter[bytes]:
    """Takes all that the file hands out, as a crawl would, and ends it. Adds it to *found*."""
    found = Counter[bytes]() if found is None else found
    searched = False
    for lane in list(file.awake):
        file.sleep(lane)
    while True:
        lanes = file.wake(7)
        for lane in lanes:
            while contents := file.contents(lane):
                before = found.total()
                for rank in contents:
                    taken = file.take(lane, rank, newest=True)
                    if taken is not None:
                        found[taken.data] += 1
                        file.end(taken.id)
                if found.total() == before:
                    break
        if not lanes and file.held and not searched:
            searched = True
            file.fail_as_damaged()
        elif not lanes and not file.recall():
            return found


def drained(path: Path) -> tuple[Counter[bytes], int, str]:
    """Resumes the job until all is handed out: a run that finds damage ends, and the next mends it.

    Returns that, how many requests are said to be lost, and all that is said.
    """
    found, lost, told = Counter[bytes](), 0, ""
    for _ in range(3):
        try:
            with JobFile(path) as file:
                lost += file.lost
                told += "".join(file.troubles)
                drain(file, found)
        except JobFileError as error:  # noqa: PERF203 - what the loop is for
            if "is damaged (" not in str(error):
                raise
        else:
            return found, lost, told
    raise AssertionError("damaged again and again")


def failed(file: JobFile) -> JobFile:
    """Finds *file* damaged in mid-crawl; returns it as the next run opens it."""
    with pytest.raises(JobFileError, match=r"is damaged \(requests are missing\)\. The next run"):
        file.fail_as_damaged()
    return JobFile(file.path)


def lose_in_index(run: Run, which: str) -> None:
    """The index that leads from lanes to requests has no entries of *which*, as after damage."""
    made = "CREATE INDEX in_lanes ON requests (lane, rank)"
    run("DROP INDEX in_lanes")
    run(f"{made} WHERE NOT ({which})")
    run("PRAGMA writable_schema = ON")
    run("UPDATE sqlite_master SET sql = ? WHERE name = 'in_lanes'", (made,))
    run("PRAGMA writable_schema = RESET")


def kill_copy(path: Path, to: Path) -> Path:
    """The files as a kill would leave them now."""
    to.mkdir()
    for each in path.parent.glob(f"{path.name}*"):
        if each.is_file():
            (to / each.name).write_bytes(each.read_bytes())
    return to / path.name
