"""Files and URLs that are made to take long, and a search that climbs towards worse ones.

A :class:`Plan` is a few numbers from which a file and a URL follow. The search changes one of them
at a time, keeps what made the question slower, and starts again where nothing does.
"""

from __future__ import annotations

import gc
import random
import string
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FILE_OCTETS = 512_000
URL_OCTETS = 2083
LETTERS = string.ascii_letters + string.digits + "-_.~!@()+,;=:&?/"


def seconds(work: Callable[[], object], tries: int = 3) -> float:
    """Processor time, the best of some tries.

    What the tests before have left is kept from the garbage collector: in a process with a million
    objects more, it would take longer for each new one.
    """
    gc.freeze()
    return min(_once(work) for _ in range(tries))


@contextmanager
def untraced() -> Iterator[None]:
    """`make coverage` does not count these lines: they would take three times as long."""
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)


@untraced()
def _once(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def takes_less(work: Callable[[], object], loops: float) -> bool:
    """Whether it can take less than so many loops of a million simple steps.

    A busy machine makes each step longer: where it takes more, the loop is measured beside it.
    """
    gc.freeze()
    unit = loop()
    for _ in range(8):
        if _once(work) < loops * unit:
            return True
        unit = _once(_million_steps)
    return False


@cache
def loop() -> float:
    """What a million of the simplest steps take on this machine: the unit of all bounds."""
    return seconds(_million_steps)


def _million_steps() -> None:
    table = {}
    for number in range(1_000_000):
        table[number & 255] = number


def full(lines: Iterator[str], head: str = "User-agent: *\n", size: int = FILE_OCTETS) -> str:
    """A file of these lines, as many as fit."""
    found, left = [head], size - len(head)
    for line in lines:
        left -= len(line.encode()) + 1
        if left < 0:
            break
        found.append(line + "\n")
    return "".join(found)


@dataclass(frozen=True)
class Plan:
    """How the URL and the rules of a file are made."""

    seed: int = 0
    letters: int = 2
    """How many different letters the URL has."""
    period: int = 0
    """The URL repeats after so many octets; 0 for never."""
    defect: int = 0
    """Every so many octets of the URL one is different."""
    blocks: int = 0
    """The URL's letters come in runs, sorted."""
    prefix: int = 1
    """Octets of the URL with which rules begin, at most."""
    parts: int = 2
    """Parts of a rule."""
    size: int = 2
    """Octets of a part, at most."""
    fixed: int = 1
    """Whether all parts have that many."""
    order: int = 1
    """Parts that follow each other in the URL, out of three."""
    near: int = 0
    """Parts with one octet changed, out of four."""
    first: int = 0
    """How many different parts come first; 0 for no limit."""
    last: int = 0
    """Behind them: nothing, a part from the URL's beginning, one that is missing, a tail, ..."""
    allow: int = 1
    agents: int = 0
    """Groups are cut off after so many rules; 0 for never."""

    def mutated(self, random_: random.Random) -> Plan:
        """One or two numbers changed."""
        changed = self
        for _ in range(random_.choice([1, 1, 2])):
            name = random_.choice([each.name for each in fields(self)])
            old = getattr(changed, name)
            steps = (old + 1, max(0, old - 1), old * 2, old // 2, random_.choice(_VALUES))
            changed = replace(changed, **{name: min(5000, random_.choice(steps))})
        return changed

    def path(self) -> str:
        """The path to be asked about: as many octets as Scrapy lets a URL have."""
        random_ = random.Random(self.seed)
        letters = LETTERS[: max(1, self.letters)]
        word = "".join(random_.choices(letters, k=self.period or URL_OCTETS))
        text = (word * (URL_OCTETS // len(word) + 1))[: URL_OCTETS - 1]
        if self.blocks:
            text = "".join(sorted(text))
        if self.defect > 1:
            text = "".join(
                "%" if at % self.defect == 0 else each for at, each in enumerate(text, 1)
            ).replace("%", "Z")
        return "/" + text

    def rules(self, path: str = "") -> Iterator[str]:
        """Lines without end, against the path of the plan or another one."""
        random_, path = random.Random(self.seed), path or self.path()
        key = "allow:" if self.allow % 2 else "disallow:"
        size = max(1, self.size)
        firsts = [self._part(random_, path, 1, size)[0] for _ in range(self.first)]
        number = 0
        while True:
            number += 1
            if self.agents and number % self.agents == 0:
                yield "user-agent: *"
            at = random_.randrange(min(self.prefix, len(path)) + 1) if self.prefix else 0
            line, prefix = [], path[:at]
            for place in range(min(self.parts, 6000 // size)):
                if firsts and place == 0:
                    line.append(random_.choice(firsts))
                    continue
                part, at = self._part(random_, path, at, size)
                line.append(part)
            yield key + prefix + "*" + "*".join(line) + self._end(random_, path, size)

    def _part(self, random_: random.Random, path: str, at: int, size: int) -> tuple[str, int]:
        size = size if self.fixed % 2 else random_.randrange(1, size + 1)
        if random_.randrange(3) >= self.order or at >= len(path) - size:
            at = random_.randrange(max(1, len(path) - size))
        part = path[at : at + size]
        if random_.randrange(4) < self.near:
            middle = random_.randrange(len(part))
            part = part[:middle] + random_.choice(path[1:]) + part[middle + 1 :]
        return part, at + size

    def _end(self, random_: random.Random, path: str, size: int) -> str:
        early = random_.randrange(1, 1 + len(path) // 10)
        ends = {
            0: "",
            1: "*" + path[early : early + size],
            2: "*" + path[early : early + size] + "Y",
            3: "*" + path[-size:] + "$",
            4: path[-1] + "$",
            5: "*Y$",
            6: "*" + path[early : early + 40],
        }
        return ends[self.last % len(ends)]


_VALUES = (0, 1, 2, 3, 4, 5, 6, 8, 16, 17, 31, 32, 33, 40, 64, 65, 100, 300, 700, 1000)


@dataclass
class Worst:
    """What the search found."""

    plan: Plan
    cost: float
    tried: int


def climb(cost: Callable[[Plan], float], seed: int, budget: float) -> Worst:
    """The plan that costs most, after so many seconds of looking."""
    random_, until = random.Random(seed), time.monotonic() + budget
    worst, tried = Worst(Plan(), 0.0, 0), 0
    while time.monotonic() < until:
        best, stuck = _anew(random_), 0
        best_cost = cost(best)
        while stuck < 25 and time.monotonic() < until:
            other = best.mutated(random_)
            other_cost = cost(other)
            tried += 1
            stuck += 1
            if other_cost > best_cost * 1.03:
                best, best_cost, stuck = other, other_cost, 0
        if best_cost > worst.cost:
            worst = Worst(best, best_cost, tried)
    return Worst(worst.plan, worst.cost, tried)


def _anew(random_: random.Random) -> Plan:
    plan = Plan(seed=random_.randrange(1000))
    for _ in range(12):
        plan = plan.mutated(random_)
    return plan
