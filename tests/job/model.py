"""A job in plain lists, beside its file: after each operation the two must agree."""

from __future__ import annotations

import copy
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.job import FILE_NAME, JobFile

from .jobs import kill_copy, last, under_way

if TYPE_CHECKING:
    from pathlib import Path


class Entry(NamedTuple):
    number: int
    lane: str
    rank: int
    data: bytes


class Model:
    def __init__(self) -> None:
        self.waiting = list[Entry]()
        self.under_way = dict[int, Entry]()
        """By the id that the file gave."""
        self.last = list[Entry]()
        self.aside = list[Entry]()
        self.hard_ends = Counter[int]()
        self.seen = set[bytes]()
        self.count = 0

    def lane(self, name: str) -> list[Entry]:
        return sorted(entry for entry in self.waiting if entry.lane == name)

    def resume(self, *, killed: bool) -> list[Entry]:
        """Returns what is set aside now."""
        aside = list[Entry]()
        self.last += [each for each in self.waiting if self.hard_ends[each.number] >= 2]
        self.waiting = [each for each in self.waiting if self.hard_ends[each.number] < 2]
        for entry in self.under_way.values():
            before = self.hard_ends[entry.number]
            self.hard_ends[entry.number] = before + 1 if killed else 0
            if killed and before >= 2 and len(self.under_way) == 1:
                aside.append(entry)
            elif self.hard_ends[entry.number] >= 2:
                self.last.append(entry)
            else:
                self.waiting.append(entry)
        self.under_way.clear()
        self.last.sort()
        self.aside += aside
        return aside


class Trial:
    """A file and its model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = 0
        self.model = Model()
        self.committed = Model()
        self.awake = set[str]()
        self.file = JobFile(folder / FILE_NAME)

    def add(self, lane: str, rank: int) -> None:
        self.model.count += 1
        data = b"%d" % self.model.count * (2_000 if self.model.count % 7 == 0 else 1)
        self.see(data[:20])
        self.file.add(lane, rank, data)
        entry = Entry(self.model.count, lane, rank, data)
        self.model.waiting.append(entry)

    def see(self, fingerprint: bytes) -> None:
        assert self.file.see(fingerprint) == (fingerprint not in self.model.seen)
        self.model.seen.add(fingerprint)

    def take(self, lane: str, rank: int, *, newest: bool) -> None:
        part = [each for each in self.model.lane(lane) if each.rank == rank]
        expected = (part[-1] if newest else part[0]) if part else None
        taken = self.file.take(lane, rank, newest=newest)
        if part or self.model.lane(lane):
            self.awake.add(lane)
        if expected is None:
            assert taken is None
            return
        assert taken is not None
        assert taken.data == expected.data
        assert taken.hard_ends == self.model.hard_ends[expected.number]
        self.model.waiting.remove(expected)
        self.model.under_way[taken.id] = expected

    def recall(self) -> None:
        model = self.model
        if model.waiting or model.under_way:
            return
        assert self.file.recall() == bool(model.last)
        kills = max((model.hard_ends[each.number] for each in model.last), default=0)
        worst = [each for each in model.last if model.hard_ends[each.number] == kills]
        model.waiting = worst[: {2: 16, 3: 4}.get(kills, 1)]
        model.last = [each for each in model.last if each not in model.waiting]
        self.awake -= {each.lane for each in model.waiting}

    def end(self, which: int) -> None:
        if self.model.under_way:
            id_ = sorted(self.model.under_way)[which % len(self.model.under_way)]
            self.file.end(id_)
            self.file.end(id_)  # once more changes nothing
            del self.model.under_way[id_]

    def wake(self, most: int) -> None:
        asleep = {each.lane for each in self.model.waiting} - self.awake
        woken = self.file.wake(most)
        assert woken.keys() <= asleep
        assert len(woken) == min(most, len(asleep))
        urgent = [min(each.rank for each in self.model.lane(name)) >> 1 for name in woken]
        assert urgent == sorted(urgent)
        for name, contents in woken.items():
            assert contents == Counter(each.rank for each in self.model.lane(name))
        for name in asleep - woken.keys():
            first = min(each.rank for each in self.model.lane(name))
            assert first >> 1 >= max(urgent, default=-99)
        self.awake |= woken.keys()

    def sleep(self, lane: str) -> None:
        self.file.sleep(lane)
        self.awake.discard(lane)

    def wake_one(self, lane: str) -> None:
        self.file.wake_one(lane)
        if self.model.lane(lane):
            self.awake.add(lane)

    def commit(self) -> None:
        self.file.commit()
        self.committed = copy.deepcopy(self.model)

    def kill(self) -> None:
        """The next run begins with what the disk has now."""
        self.runs += 1
        path = kill_copy(self.file.path, self.folder / f"run-{self.runs}")
        self.file.close()
        self.model = self.committed
        self._open(path, killed=True)

    def stop(self) -> None:
        self.file.close()
        self._open(self.file.path, killed=False)

    def check(self) -> None:
        model = self.model
        assert self.file.held == len(model.waiting)
        asleep = {each.lane for each in model.waiting} - self.awake
        assert self.file.asleep == len(asleep)
        assert last(self.file) == len(model.last)
        assert under_way(self.file) == len(model.under_way)
        assert self.file.stored == sum(
            len(each) for each in (model.waiting, model.last, model.under_way, model.aside)
        )
        for lane in asleep | self.awake:
            assert self.file.contents(lane) == Counter(each.rank for each in model.lane(lane))

    def _open(self, path: Path, *, killed: bool) -> None:
        self.file = JobFile(path)
        self.awake.clear()
        assert self.file.was_killed == killed
        aside = self.model.resume(killed=killed)
        assert [each.data for each in self.file.newly_aside] == [each.data for each in aside]
        self.committed = copy.deepcopy(self.model)
        self.check()
