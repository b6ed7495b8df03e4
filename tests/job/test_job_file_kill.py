"""kill -9 at random moments: in a transaction, while it is committed, while a job is resumed."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.job import FILE_NAME, JobFile
from scrapy_robots_plus.job.recent_steps import recent_of
from scrapy_robots_plus.job.schema import journal_of

from .worker import LAST, handled, start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.programs import Program


@pytest.mark.parametrize("kills", [8, pytest.param(200, marks=pytest.mark.stress)])
def test_no_kill_loses_a_request(tmp_path: Path, kills: int) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    done, job = 0, 0
    while done < kills:
        job += 1
        path, log = tmp_path / f"{job}" / FILE_NAME, tmp_path / f"{job}.log"
        while "done" not in handled(log):
            with start(path, log, "", chance.choice(["", "300"])) as worker:
                if done < kills:
                    _wait(worker, log, len(handled(log)) + chance.choice([0, 1]))
                    time.sleep(chance.random() * 0.1)
                    done += worker.poll() is None
                    worker.kill()
        numbers = {int(line) for line in handled(log) if line.isdigit()}
        assert numbers == set(range(1, LAST + 1))
        with JobFile(path) as file:
            assert (file.held, file.stored, file.lost) == (0, 0, 0)


def _wait(worker: Program, log: Path, lines: int) -> None:
    while len(handled(log)) < lines and worker.poll() is None:
        time.sleep(0.005)


def copied(path: Path, to: Path, names: Sequence[str]) -> Path:
    """As ``cp`` does it: one file after the other, in small parts."""
    to.mkdir()
    for name in names:
        with (
            suppress(FileNotFoundError),
            (path.parent / name).open("rb") as old,
            (to / name).open("wb") as new,
        ):
            while part := old.read(8_192):
                new.write(part)
    return to / path.name


@pytest.mark.parametrize("order", ["recent first", "recent last"])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.stress) for seed in range(1, 60))]
)
def test_a_copy_of_a_running_job_lacks_nothing_or_says_so(
    tmp_path: Path, path: Path, seed: int, order: str
) -> None:
    """Its process is killed after the copy was made; all goes to the file every few moments."""
    log, chance = tmp_path / "log", random.Random(seed)
    names = [recent_of(path).name, journal_of(path).name, path.name]
    if order == "recent last":
        names.reverse()
    with start(path, log, "", "2000") as worker:
        while len(handled(log)) < chance.randrange(50, LAST - 500):
            time.sleep(0.005)
        copy = copied(path, tmp_path / "copy", names)
        worker.kill()
        worker.wait()
    with JobFile(copy) as file:
        told = "".join(file.troubles)
    with start(copy, log) as worker:
        worker.wait()
    assert worker.returncode == 0
    numbers = {int(line) for line in handled(log) if line.isdigit()}
    assert numbers == set(range(1, LAST + 1)) or "are lost" in told, told
