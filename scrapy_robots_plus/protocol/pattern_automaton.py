"""A crawler's rules as an automaton: which of them match, and may yet match, after each octet.

A state holds the places that the path has reached in the patterns, and the best rule that matches
whatever follows. It forgets what can no longer matter: rules that this one beats, and places that
a later wildcard of the same pattern makes needless. States are made when they are first reached,
since all of them may be far too many.
"""

from __future__ import annotations

from array import array
from itertools import chain, groupby
from typing import TYPE_CHECKING

from .rank import NO_RANK, Rank, allows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .pattern import Pattern

_STAR, _END, _OPEN = 256, 257, 258
"""Marks among the octets of a pattern: any octets; the end of the path; anything may follow."""

Future = tuple[bool, tuple[tuple[bool, frozenset[int]], ...]]
"""What rules may yet decide: the answer if nothing else matches, and before that, the best first,
the places from which rules allow or disallow."""


class Row:
    """Patterns one behind the other, so that a place in any of them is one number."""

    def __init__(self) -> None:
        self._starts: dict[Pattern, int] = {}
        self.marks = array("H")
        """Octets, and the marks among them."""
        self.starts = array("I")
        """Where the pattern starts that a place is in."""

    def add(self, pattern: Pattern) -> int:
        """Where the pattern starts."""
        start = self._starts.setdefault(pattern, len(self.marks))
        if start == len(self.marks):
            self.marks.extend(_marks_of(pattern))
            self.starts.extend([start] * (len(self.marks) - start))
        return start

    @property
    def octets(self) -> frozenset[int]:
        """Those that occur in any pattern."""
        return frozenset(self.marks) - {_STAR, _END, _OPEN}

    def run(self, place: int) -> bytes:
        """The octets from a place to the next mark."""
        end = place
        while self.marks[end] < _STAR:
            end += 1
        return bytes(self.marks[place:end].tolist())


def _marks_of(pattern: Pattern) -> Iterable[int]:
    prefix, parts, tail = pattern
    yield from prefix
    for part in (*parts, tail) if tail else parts:
        yield _STAR
        yield from part
    yield _OPEN if tail is None else _END


class State:
    """What is known of a path up to some octet."""

    __slots__ = ("_future", "best", "decides", "floating", "known", "moved", "places", "rest")

    def __init__(self, best: Rank, decides: Rank, places: tuple[int, ...]) -> None:
        self.best = best
        """The best rule that matches, whatever follows."""
        self.decides = decides
        """The rule that decides if the path ends here."""
        self.places = places
        """Reached in patterns that are better, the best first."""
        self.floating: list[int] = []
        """Those of them that any octet leaves where they are."""
        self.moved: dict[int, list[int]] = {}
        """The places that an octet leads to."""
        self.known: dict[int, State] = {}
        """The states that octets lead to."""
        self.rest: State | None = None
        """The state that all other octets lead to."""
        self._future: Future | None = None


class Automaton:
    """The rules of one file."""

    def __init__(self, row: Row, patterns: Mapping[Pattern, Rank]) -> None:
        self._row = row
        self._ranks = {row.add(pattern): rank for pattern, rank in patterns.items()}
        self._states: dict[tuple[Rank, tuple[int, ...]], State] = {}
        self.steps = 0
        """How many places were looked at so far."""

    def start(self) -> State:
        """The state before the first octet."""
        return self._state(NO_RANK, self._ranks)

    def walk(self, state: State, octets: bytes) -> State:
        """The state that octets lead to."""
        for octet in octets:
            state = state.known.get(octet) or self._step(state, octet)
        return state

    def _step(self, state: State, octet: int) -> State:
        if octet not in state.moved:
            return self.rest_of(state)
        places = chain(state.moved[octet], state.floating)
        state.known[octet] = found = self._state(state.best, places)
        return found

    def rest_of(self, state: State) -> State:
        """The state that an octet leads to which no place waits for."""
        if state.rest is None:
            state.rest = self._state(state.best, state.floating)
        return state.rest

    def jump(self, state: State, run: bytes) -> State:
        """The state that all octets of a run lead to, if every place, if any, waits for them."""
        return self._state(state.best, [place + len(run) for place in state.places])

    def future(self, state: State) -> Future:
        """What may yet be decided. States of equal futures answer alike, whatever follows."""
        if state._future is None:
            state._future = self._future_of(state)
        return state._future

    def _rank(self, place: int) -> Rank:
        return self._ranks[self._row.starts[place]]

    def _future_of(self, state: State) -> Future:
        blocks = [
            (allow, frozenset(places))
            for allow, places in groupby(state.places, lambda place: allows(self._rank(place)))
        ]
        last = allows(state.best)
        if blocks and blocks[-1][0] == last:
            del blocks[-1]
        return last, tuple(blocks)

    def _state(self, best: Rank, places: Iterable[int]) -> State:
        """The state of these places, without those that no longer matter."""
        marks, starts = self._row.marks, self._row.starts
        found = set(places)
        self.steps += len(found) + 1
        best = max([best, *(self._rank(place) for place in found if marks[place] == _OPEN)])
        stars: dict[int, int] = {}
        for place in found:
            if marks[place] == _STAR:
                stars[starts[place]] = max(place, stars.get(starts[place], 0))
        kept = [
            place
            for place in found
            if self._rank(place) > best and place >= stars.get(starts[place], 0)
        ]
        kept.sort(key=lambda place: (-self._rank(place), place))
        key = best, tuple(kept)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = self._made(*key)
        return state

    def _made(self, best: Rank, places: tuple[int, ...]) -> State:
        marks = self._row.marks
        ends = (self._rank(place) for place in places if marks[place] == _END)
        state = State(best, next(ends, best), places)
        for place in places:
            if marks[place] == _STAR:
                state.floating.append(place)
                place += 1
            if marks[place] < _STAR:
                state.moved.setdefault(marks[place], []).append(place + 1)
        return state
