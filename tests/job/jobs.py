"""Jobs for tests: filled, damaged, and drained as a crawl drains them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from scrapy_robots_plus.job import JobFile


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
        file.add(lane, chance.choice([0, 0, 0, -5, 7]), body, starts=chance.random() < 0.2)
        data[body] += 1
        if chance.random() < 0.4:
            lane = chance.choice(lanes)
            for priority, starts in file.contents(lane):
                taken = file.take(lane, priority, starts=starts, newest=True)
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
    while True:
        rows = file.wake(7)
        for row in rows:
            while contents := file.contents(row.name):
                before = found.total()
                for priority, starts in contents:
                    taken = file.take(row.name, priority, starts=starts, newest=True)
                    if taken is not None:
                        found[taken.data] += 1
                        file.end(taken.id)
                if found.total() == before:
                    break
        if not rows and file.held and not searched:
            searched = True
            file.search()
        elif not rows:
            break
    while (taken := file.take_last()) is not None:
        found[taken.data] += 1
        file.end(taken.id)
    return found


def kill_copy(path: Path, to: Path) -> Path:
    """The files as a kill would leave them now."""
    to.mkdir()
    for each in path.parent.glob(f"{path.name}*"):
        if each.is_file():
            (to / each.name).write_bytes(each.read_bytes())
    return to / path.name
