"""kill -9 at random moments: in a transaction, while it is committed, while a job is resumed."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import pytest

from scrapy_robots_plus.frontier import FILE_NAME, JobFile

from .worker import LAST, handled, start


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
            with start(path, log) as worker:
                if done < kills:
                    _wait(worker, log, len(handled(log)) + chance.choice([0, 1]))
                    time.sleep(chance.random() * 0.1)
                    done += worker.poll() is None
                    worker.kill()
        numbers = {int(line) for line in handled(log) if line.isdigit()}
        assert numbers == set(range(1, LAST + 1))
        with JobFile(path) as file:
            assert (file.held, file.stored, file.lost) == (0, 0, 0)


def _wait(worker: subprocess.Popen[str], log: Path, lines: int) -> None:
    while len(handled(log)) < lines and worker.poll() is None:
        time.sleep(0.005)
