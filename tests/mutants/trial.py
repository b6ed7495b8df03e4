"""Mutants of a part of the package, some picked at random, each judged by the tests that run it."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .equivalent import is_equivalent
from .judge import Copy, preload
from .mutations import Mutant, mutants_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .parts import Part


@dataclass(frozen=True)
class Options:
    sample: int
    """How many mutants of a part."""
    seed: int
    jobs: int
    seconds: float
    """After these no more mutants of a part are tried."""
    only: str
    """Part of the path of the files to change."""


@dataclass
class Score:
    part: Part
    all: int
    equivalent: int
    tried: int = 0
    survivors: list[Mutant] = field(default_factory=list)

    @property
    def noticed(self) -> int:
        return self.tried - len(self.survivors)

    @property
    def is_enough(self) -> bool:
        return self.tried > 0 and self.noticed >= self.part.gate * self.tried

    def __str__(self) -> str:
        share = self.noticed / self.tried if self.tried else 0.0
        return (
            f"{self.part.name}: {self.noticed} of {self.tried} noticed, {share:.1%} (expected: "
            f"{self.part.gate:.0%}); of {self.all} mutants, {self.equivalent} picked are equivalent"
        )


class Trial:
    """The mutants that are tried of *part*, and what its tests run."""

    def __init__(self, part: Part, options: Options) -> None:
        paths = [path for path in part.source_paths() if options.only in str(path)]
        mutants = [mutant for path in paths for mutant in mutants_of(path)]
        picked = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
        self.part = part
        self.options = options
        self.mutants = [
            mutant
            for mutant in picked
            if not is_equivalent(str(mutant.path), mutant.before, mutant.after)
        ]
        self.score = Score(part, len(mutants), len(picked) - len(self.mutants))

    def run(self) -> Iterator[tuple[Mutant, bool]]:
        """Each mutant with whether it was noticed, as they are judged."""
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            original = Copy(Path(folder, "original"))
            self.recorded = original.record(self.part)
            preload(self.recorded.modules)
            self.end = time.monotonic() + self.options.seconds
            fork = multiprocessing.get_context("fork")
            with fork.Pool(self.options.jobs, start_worker, (self, original)) as pool:
                for index, noticed in pool.imap_unordered(judged, range(len(self.mutants))):
                    if noticed is not None:
                        yield self._counted(self.mutants[index], noticed)

    def _counted(self, mutant: Mutant, noticed: bool) -> tuple[Mutant, bool]:
        self.score.tried += 1
        if not noticed:
            self.score.survivors.append(mutant)
        return mutant, noticed

    def tests_of(self, mutant: Mutant) -> dict[str, float]:
        """The tests that run its lines, quick ones first, each with its processor time; then all
        others, if the lines also run on import, as tables do and what tests prepare for many.
        """
        seconds, of_lines = self.recorded.seconds, self.recorded.tests_by_line[str(mutant.path)]
        names = {name for line in mutant.lines for name in of_lines.get(line, ())}
        on_import = "" in names or not names
        ordered = sorted(seconds, key=lambda name: (name not in names, seconds[name]))
        return {name: seconds[name] for name in ordered if on_import or name in names}


_trial: Trial
_copy: Copy


def start_worker(trial: Trial, original: Copy) -> None:
    global _trial, _copy
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that what it started ends, too
    _trial = trial
    _copy = Copy(original.folder.parent / f"worker-{os.getpid()}", of=original.folder)


def judged(index: int) -> tuple[int, bool | None]:
    """The mutant's index, and whether it was noticed; None after the end of the time."""
    if time.monotonic() > _trial.end:
        return index, None
    mutant = _trial.mutants[index]
    return index, _copy.notices(mutant.path, mutant.text, _trial.tests_of(mutant))
