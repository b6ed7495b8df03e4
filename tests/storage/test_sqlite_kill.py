"""kill -9 at random moments while two processes write to one file.

Reported stored means that ``put`` has returned. Such a record, or one that is newer, must be there
and whole; any other is whole or absent.
"""

from __future__ import annotations

import random
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from .records import START, origin
from .writer import ORIGINS, expected, opened, reported, start

if TYPE_CHECKING:
    from pathlib import Path

    from tests.programs import Program


@pytest.mark.parametrize(
    "kills", [10, pytest.param(200, marks=pytest.mark.stress)], ids="{} kills".format
)
def test_no_kill_loses_or_changes_what_was_reported_stored(tmp_path: Path, kills: int) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    trial = _Trial(tmp_path, random.Random(seed))
    while trial.kills < kills:
        trial.round()
    assert trial.stored > 0


class _Trial:
    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder = folder
        self.chance = chance
        self.kills = 0
        self.rounds = 0
        self.stored = 0
        self.new_file()

    def new_file(self) -> None:
        self.path = self.folder / f"robots-{self.rounds}.db"
        self.latest: dict[int, float] = {}

    def round(self) -> None:
        self.rounds += 1
        if self.chance.random() < 0.2:  # killed while the file is made
            self.new_file()
        first = not self.path.exists()
        reports = [self.folder / f"{self.rounds}-{which}.txt" for which in (0, 1)]
        writers = [
            start(self.path, report, self.rounds * 1_000_000 + which)
            for which, report in enumerate(reports)
        ]
        try:
            if not first:
                _wait_for(reports, writers)
            time.sleep(self.chance.uniform(0, 0.15))
            self.kill(writers.pop(self.chance.randrange(2)))
            if self.chance.random() < 0.5:
                self.check(reports)  # while the other one writes on
            self.kill(writers.pop())
        finally:
            for writer in writers:
                writer.kill()
                writer.wait()
                writer.close()
        self.check(reports)
        self.check_file()

    def kill(self, writer: Program) -> None:
        assert writer.poll() is None, "a writer has ended by itself"
        writer.kill()
        writer.wait()
        writer.close()
        self.kills += 1

    def check(self, reports: list[Path]) -> None:
        for report in reports:
            for number, fetched_at in reported(report).items():
                self.latest[number] = max(fetched_at, self.latest.get(number, 0))
        with opened(str(self.path)) as store:
            for number in range(ORIGINS):
                record = store.get(origin(number))
                if record is None:
                    assert number not in self.latest
                else:
                    assert record == expected(number, record.fetched_at)
                    assert record.fetched_at >= self.latest.get(number, START)
                    self.stored += 1

    def check_file(self) -> None:
        with closing(sqlite3.connect(self.path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert not list(self.folder.glob("*.damaged-*"))


def _wait_for(reports: list[Path], writers: list[Program]) -> None:
    for _ in range(3_000):
        if all(report.exists() and report.stat().st_size for report in reports):
            return
        assert all(writer.poll() is None for writer in writers), "a writer has ended by itself"
        time.sleep(0.01)
    raise AssertionError("the writers do not write")
