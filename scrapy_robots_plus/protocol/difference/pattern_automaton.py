"""A crawler's rules as an automaton: which of them match, and may yet match, after each octet.

A state holds the places that a path has reached in the patterns, and the best rule that matches
whatever follows. It forgets what can no longer matter: rules that this one beats, and places that
a later wildcard of the same pattern makes needless. States are made when they are first reached,
since all of them may be far too many.

All patterns stand in one row, the best rule first. So a place in any of them is one number, and of
two places the smaller belongs to the better rule.
"""

from __future__ import annotations

from array import array
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from scrapy_robots_plus.protocol.rules.pattern import NO_RANK, Rank, allows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy_robots_plus.protocol.rules.pattern import Pattern

_STAR, _END, _OPEN = 256, 257, 258
"""Marks among the octets of a pattern: any octets; the end of the path; anything may follow."""

Place = int

Places: TypeAlias = "array[int]"
"""Places in order, of type ``I``: there may be millions."""

Future = tuple[bool, tuple[bytes, ...]]
"""The answer if no other rule matches, and what rules that may yet match wait for, the best first:
those that allow and those that disallow by turns. The last would change the answer."""


class State:
    """What is known of a path up to some octet."""

    __slots__ = ("decides", "floating", "known", "limit", "moved", "places", "rest")

    def __init__(self, limit: Place, decides: Rank, places: Places) -> None:
        self.limit = limit
        """Where the best rule starts that matches whatever follows: others have to be before it."""
        self.decides = decides
        """The rule that decides if the path ends here."""
        self.places = places
        """The places reached in better rules, in order."""
        self.floating: Places = array("I")
        """Those of them that stay, whatever the next octet is."""
        self.moved: dict[int, Places] = {}
        """The places that an octet leads to."""
        self.known: dict[int, State] = {}
        """The states that octets are known to lead to."""
        self.rest: State | None = None
        """The state that all other octets lead to, if known."""


class Automaton:
    """The rules of one file."""

    def __init__(self, patterns: Mapping[Pattern, Rank], names: dict[Pattern, int]) -> None:
        """*names* are those of patterns in all automata; each adds to them what it has."""
        self._marks = array("H")
        self._starts = array("I")
        self._awaited = array("Q")
        """What each place waits for: the same number means the same in all automata."""
        self._ranks: dict[Place, Rank] = {}
        """By where rules start."""
        for pattern, rank in sorted(patterns.items(), key=itemgetter(1), reverse=True):
            start = len(self._marks)
            self._ranks[start] = rank
            self._marks.extend(_marks_of(pattern))
            size = len(self._marks) - start
            self._starts.extend([start] * size)
            name = names.setdefault(pattern, len(names)) << 32
            self._awaited.extend(range(name, name + size))
        self.steps = 0
        """How many places were looked at so far."""
        self._states: dict[tuple[Place, bytes], State] = {}
        self._futures: dict[State, Future] = {}
        self.start = self._state(len(self._marks), self._ranks)
        """The state before the first octet."""

    @property
    def octets(self) -> frozenset[int]:
        """Those that occur in patterns."""
        return frozenset(self._marks) - {_STAR, _END, _OPEN}

    def walk(self, state: State, octets: bytes) -> State:
        """The state that octets lead to."""
        for octet in octets:
            state = state.known.get(octet) or self._step(state, octet)
        return state

    def _step(self, state: State, octet: int) -> State:
        if octet not in state.moved:
            return self.rest_of(state)
        places = chain(state.moved[octet], state.floating)
        state.known[octet] = found = self._state(state.limit, places)
        return found

    def rest_of(self, state: State) -> State:
        """The state that any octet leads to which no place waits for."""
        if state.rest is None:
            state.rest = self._state(state.limit, state.floating)
        return state.rest

    def run(self, state: State) -> bytes:
        """The octets that its only place waits for, up to the next mark; none if it has several."""
        end, *others = state.places
        while not others and self._marks[end] < _STAR:
            end += 1
        return bytes(self._marks[state.places[0] : end].tolist())

    def jump(self, state: State, octets: int) -> State:
        """The state that so many octets lead to, if they are those that all its places wait for."""
        return self._state(state.limit, [place + octets for place in state.places])

    def future(self, state: State) -> Future:
        """What may yet be decided. States of equal futures answer alike, whatever follows."""
        if state not in self._futures:
            self._futures[state] = self._future(state)
        return self._futures[state]

    def _future(self, state: State) -> Future:
        blocks = [
            (allow, array("Q", sorted(map(self._awaited.__getitem__, places))).tobytes())
            for allow, places in groupby(state.places, self._allows)
        ]
        last = allows(self._rank(state.limit))
        if blocks and blocks[-1][0] is last:
            del blocks[-1]
        return last, tuple(places for _, places in blocks)

    def _allows(self, place: Place) -> bool:
        return allows(self._ranks[self._starts[place]])

    def _rank(self, start: Place) -> Rank:
        return self._ranks.get(start, NO_RANK)

    def _state(self, limit: Place, places: Iterable[Place]) -> State:
        """The state of these places, without those that no longer matter."""
        marks, found = self._marks, sorted(set(places))
        self.steps += len(found) + 1
        for place in found:
            if marks[place] == _OPEN:
                limit = min(limit, self._starts[place])
                break
        kept, until = array("I"), limit
        for place in reversed(found):
            if place < until:
                kept.append(place)
                if marks[place] == _STAR:  # what the pattern awaited before no longer matters
                    until = self._starts[place]
        kept.reverse()
        key = limit, kept.tobytes()
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = self._made(limit, kept)
        return state

    def _made(self, limit: Place, places: Places) -> State:
        marks = self._marks
        ending = (self._starts[place] for place in places if marks[place] == _END)
        state = State(limit, self._rank(next(ending, limit)), places)
        for place in places:
            if marks[place] == _STAR:
                state.floating.append(place)
                place += 1
            if marks[place] < _STAR:
                state.moved.setdefault(marks[place], array("I")).append(place + 1)
        return state


def _marks_of(pattern: Pattern) -> Iterator[int]:
    prefix, parts, tail = pattern
    yield from prefix
    for part in (*parts, tail) if tail else parts:
        yield _STAR
        yield from part
    yield _OPEN if tail is None else _END
