"""Changes the package at random, and counts which changes its tests notice.

usage: python -m tests.mutants [PART ...] [--sample N] [--seed N] [--jobs N] [--seconds N]

Each part is judged by its own tests (parts.py). A mutant lives in a copy of the repository. Prints
what no test noticed, as it goes; fails where a part is under its gate.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys

from .equivalent import stale
from .parts import PARTS, Part
from .trial import Options, Score, Trial


def run(part: Part, options: Options) -> Score:
    trial = Trial(part, options)
    print(f"\n{part.name}: up to {len(trial.mutants)} mutants", flush=True)
    for mutant, noticed in trial.run():
        if not noticed:
            print(mutant, flush=True)
        if trial.score.tried % 50 == 0:
            print(trial.score, flush=True)
    print(trial.score, flush=True)
    return trial.score


def arguments() -> tuple[list[Part], Options]:
    names = [part.name for part in PARTS]
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(names)}; all")
    parser.add_argument("--sample", type=int, default=200, help="mutants of each part; 200")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--jobs", type=int, default=2, help="processes; 2")
    parser.add_argument("--seconds", type=float, default=900, help="for each part; 900")
    parser.add_argument("--only", default="", metavar="TEXT", help="of the path of files to change")
    values = vars(parser.parse_args())
    wanted = values.pop("parts") or names
    if unknown := set(wanted) - set(names):
        parser.error(f"not a part: {', '.join(sorted(unknown))}")
    return [part for part in PARTS if part.name in wanted], Options(**values)


def main() -> int:
    parts, options = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(f"seed {options.seed}")
    gone = stale()
    for name in gone:
        print(f"equivalent.txt names what is not there any more: {name}")
    try:
        scores = [run(part, options) for part in parts]
    except KeyboardInterrupt:
        print("interrupted")
        return 130
    print("\n" + "\n".join(map(str, scores)))
    return 0 if not gone and all(score.is_enough for score in scores) else 1


if __name__ == "__main__":
    sys.exit(main())
