"""What differs between the verdicts of a log and those of a replay: all of a log, in sum."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .replay import Decided

MOST_GROUPS = 10_000
"""How many are told apart; the verdicts of all further ones are counted together."""

EXAMPLES = 3
"""How many URLs each group keeps."""


class Example(NamedTuple):
    """One of the requests."""

    log: str
    """The file, if several are read."""
    line: int
    url: str


@dataclass(slots=True)
class Group:
    """The requests to one origin for which the same verdict became the same other one."""

    origin: str
    before: Decided
    after: Decided
    count: int = 0
    examples: list[Example] = field(default_factory=list)


class Differences:
    """Counts them, by group."""

    def __init__(self) -> None:
        self.verdicts = 0
        """How many were compared."""
        self.denied = 0
        """How many of them are denied now, and were allowed."""
        self.allowed = 0
        """How many of them are allowed now, and were denied."""
        self.others = 0
        """How many of them have another reason only."""
        self._groups: dict[tuple[str, Decided, Decided], Group] = {}

    @property
    def total(self) -> int:
        """How many differ."""
        return self.denied + self.allowed + self.others

    def add(self, example: Example, origin: str, before: Decided, after: Decided) -> None:
        """Compares two verdicts on a request."""
        self.verdicts += 1
        if before == after:
            return
        if before.allowed is after.allowed:
            self.others += 1
        elif after.allowed:
            self.allowed += 1
        else:
            self.denied += 1
        group = self._group(origin, before, after)
        if group is None:
            return
        group.count += 1
        if len(group.examples) < EXAMPLES:
            group.examples.append(example)

    def groups(self) -> Iterator[Group]:
        """Those in which the answer is another one first, then the largest first.

        What is in none of them counts in :attr:`total` alone.
        """
        ordered = sorted(
            self._groups.values(),
            key=lambda each: (each.before.allowed is each.after.allowed, -each.count),
        )
        return iter(ordered)

    def _group(self, origin: str, before: Decided, after: Decided) -> Group | None:
        key = (origin, before, after)
        group = self._groups.get(key)
        if group is None and len(self._groups) < MOST_GROUPS:
            group = self._groups[key] = Group(origin, before, after)
        return group
