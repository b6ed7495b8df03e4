"""Whatever happens, in whatever order, the file holds what it must."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from scrapy_robots_plus.job import rank_of

from .model import Trial

LANES = st.sampled_from(["a.example", "b.example", "c.example", "ünicode"])
RANKS = st.builds(rank_of, st.sampled_from([0, 0, -1, 3]), st.booleans())


class Job(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.trial = Trial(Path(self.folder.name))

    def teardown(self) -> None:
        self.trial.file.close()
        self.folder.cleanup()

    @rule(lane=LANES, rank=RANKS)
    def add(self, lane: str, rank: int) -> None:
        self.trial.add(lane, rank)

    @rule(lane=LANES, rank=RANKS, newest=st.booleans())
    def take(self, lane: str, rank: int, newest: bool) -> None:
        self.trial.take(lane, rank, newest=newest)

    @rule()
    def recall(self) -> None:
        self.trial.recall()

    @rule(which=st.integers(0, 5))
    def end(self, which: int) -> None:
        self.trial.end(which)

    @rule(number=st.integers(1, 9))
    def see(self, number: int) -> None:
        self.trial.see(b"%d" % number)

    @rule(most=st.integers(1, 3))
    def wake(self, most: int) -> None:
        self.trial.wake(most)

    @rule(lane=LANES, awake=st.booleans())
    def wake_or_sleep(self, lane: str, awake: bool) -> None:
        (self.trial.wake_one if awake else self.trial.sleep)(lane)

    @rule()
    def commit(self) -> None:
        self.trial.commit()

    @rule()
    def kill(self) -> None:
        self.trial.kill()

    @rule()
    def stop(self) -> None:
        self.trial.stop()

    @invariant()
    def agree(self) -> None:
        self.trial.check()


TestJob = Job.TestCase
TestJob.settings = settings(max_examples=8, stateful_step_count=40, deadline=None)


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.stress) for seed in range(3, 300))]
)
def test_long_jobs_with_many_kills(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    trial = Trial(tmp_path)
    lanes = [f"host-{number}.example" for number in range(chance.choice([2, 10, 40]))]
    for _ in range(600):
        lane = chance.choice(lanes)
        rank = rank_of(chance.choice([0, 0, -1, 3]), chance.random() < 0.2)
        match chance.choices(range(9), [40, 30, 20, 5, 5, 5, 8, 1, 1])[0]:
            case 0:
                trial.add(lane, rank)
            case 1:
                trial.take(lane, rank, newest=chance.random() < 0.5)
            case 2:
                trial.end(chance.randrange(99))
            case 3:
                trial.wake(chance.randrange(1, 9))
            case 4:
                trial.sleep(lane)
            case 5:
                trial.recall()
            case 6:
                trial.commit()
            case 7:
                trial.kill()
            case 8:
                trial.stop()
    trial.check()
    trial.file.close()
