"""What can be wrong with an audit log, and the state that it is in because of that."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class State(Enum):
    """Of a log, or of parts that were given together. From the best to the worst."""

    WHOLE = "whole"
    """All lines are there, and each crawl has ended."""
    UNFINISHED = "unfinished"
    """What is there is right, but a crawl has no end: it runs, was killed, or was cut off."""
    PART = "part"
    """What is there is right, but it continues lines that are not there."""
    CUT = "cut"
    """Lines are missing."""
    DAMAGED = "damaged"
    """Something was changed, moved, repeated or inserted."""

    @property
    def severity(self) -> int:
        """0 for the best."""
        return _ORDER.index(self)


_ORDER = list(State)


class Damage(NamedTuple):
    """Something that a whole log would not have."""

    line: int
    """Where, counted from 1; the last line of the file if something is missing after it."""
    what: str
    state: State = State.DAMAGED
    """The state of a log in which nothing worse is found."""
    log: str = ""
    """The file, if several are read."""

    def __str__(self) -> str:
        return f"{place(self.line, self.log)}: {self.what}"


def place(line: int, log: str) -> str:
    """``line 3``, or ``audit.jsonl.1, line 3``."""
    return f"{log}, line {line}" if log else f"line {line}"
