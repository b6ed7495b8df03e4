"""Finds paths on which two sets of rules decide differently: one for each pair of deciding rules.

Two automata (:class:`Automaton`) read the same path, unit by unit: a plain octet, or an escape such
as ``%2F``. All pairs of their states are visited, those of the shortest paths first. Wherever one
allows what the other denies, the path up to there is an example. A pair is left out if it cannot
lead to a difference: below what both files say alike, nothing is visited.

Wildcards can make far too many pairs. So the search has a limit, and says whether it was reached.

Dialects undo some escapes before they compare (:mod:`~scrapy_robots_plus.protocol.escapes`), each
unit on its own. So two dialects can be compared on one and the same path: each unit says what
either reads.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict, deque
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from scrapy_robots_plus.protocol import rfc9309
from scrapy_robots_plus.protocol.escapes import URL_FORM
from scrapy_robots_plus.protocol.matcher import NO_RANK, Pattern, Rank, allows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy_robots_plus.protocol.dialect import Escapes


_STAR, _END, _OPEN = 256, 257, 258
"""Marks among the octets of a pattern: any octets; the end of the path; anything may follow."""

_OTHER_OCTET = -1
"""Stands for any octet that no place waits for."""

Place = int

Places: TypeAlias = "array[int]"
"""Places in order, of type ``I``: there may be millions."""

Future = tuple[bool, tuple[bytes, ...]]
"""The answer if no other rule matches, and what rules that may yet match wait for, the best first:
those that allow and those that disallow by turns. The last would change the answer."""


class State:
    """What is known of a path up to some octet."""

    __slots__ = ("decides", "floating", "known", "limit", "moved", "places")

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


class Automaton:
    """The rules of one file: which of them match, and may yet match, after each octet.

    A state holds the places that a path has reached in the patterns, and the best rule that matches
    whatever follows. It forgets what can no longer matter: rules that this one beats, and places
    that a later wildcard of the same pattern makes needless. States are made when they are first
    reached, since all of them may be far too many.

    All patterns stand in one row, the best rule first. So a place in any of them is one number, and
    of two places the smaller belongs to the better rule.
    """

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

    def rest_of(self, state: State) -> State:
        """The state that any octet leads to which no place waits for."""
        return self._step(state, _OTHER_OCTET)

    def _step(self, state: State, octet: int) -> State:
        octet = octet if octet in state.moved else _OTHER_OCTET
        if octet not in state.known:
            places = chain(state.moved.get(octet, ()), state.floating)
            state.known[octet] = self._state(state.limit, places)
        return state.known[octet]

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


_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
_NICE = _LETTERS + b"0123456789" + _LETTERS.upper()
_PLAIN = _NICE + bytes(
    sorted((rfc9309.UNRESERVED | rfc9309.RESERVED) - frozenset(_NICE) - frozenset(b"#[]"))
)
"""What a path and query may contain unescaped (RFC 3986 3.3, 3.4)."""

_VALID = re.compile(rb"/(?:[" + re.escape(_PLAIN) + rb"]|%[0-9A-Fa-f]{2})*")
_OTHER = "\u0100"
_OTHERS = re.compile(f"{_OTHER}+")
_NOT_PLAIN = re.compile(rb"%[0-9A-F]{2}|[^" + re.escape(_PLAIN) + rb"]")


class Unit(NamedTuple):
    """An octet or an escape in a URL, and the octets that stand for it when rules are compared."""

    raw: bytes
    before: bytes
    """As the dialect of the first file reads it."""
    after: bytes
    """As the dialect of the second file reads it."""


def is_path(octets: bytes) -> bool:
    """Whether this can be the path and query of a URL: nothing to escape, no broken escape."""
    return _VALID.fullmatch(octets) is not None


def read_as(raw: bytes, escapes: Escapes) -> bytes:
    """The octets that a dialect compares with its rules."""
    safe, form = URL_FORM[escapes]
    return form(raw) if raw.translate(None, safe) else raw


def spelled(octets: bytes, escapes: Escapes) -> bytes | None:
    """A part of a URL that a dialect reads as these octets; None if there is none.

    The octets are those of a whole number of units.
    """
    raw = _NOT_PLAIN.sub(lambda found: _spelled(found.group(), escapes), octets)
    return raw if is_path(b"/" + raw) and read_as(raw, escapes) == octets else None


def _spelled(octets: bytes, escapes: Escapes) -> bytes:
    """That of an escape, or of a single octet that is not plain."""
    if len(octets) > 1 and read_as(octets, escapes) == octets:
        return octets
    return b"%%%02X" % octets[0] + octets[1:]


def _all_units() -> Iterator[bytes]:
    """The most readable first: octets, escapes of printable ones, others, lower case, ``'``, which
    most clients escape."""
    digits = "0123456789ABCDEFabcdef"
    escapes = [f"%{high}{low}" for high in digits for low in digits]
    yield from (bytes((octet,)) for octet in _PLAIN if octet != ord("'"))
    yield from (each.encode() for each in sorted(escapes, key=_oddity))
    yield b"'"


def _oddity(escape: str) -> tuple[bool, bool]:
    return escape != escape.upper(), not chr(int(escape[1:], 16)).isprintable()


def units_of(before: Escapes, after: Escapes, special: Iterable[int]) -> tuple[Unit, ...]:
    """Units of which any path can be made, as far as rules can tell, the most readable first.

    *special* are the octets that occur in rules. No rule can tell other octets from each other, nor
    one from several in a row, so there is one unit for all that are alike.
    """
    kept = frozenset(special)
    found: dict[tuple[str, str], Unit] = {}
    for raw in _all_units():
        unit = Unit(raw, read_as(raw, before), read_as(raw, after))
        found.setdefault((_told(unit.before, kept), _told(unit.after, kept)), unit)
    return tuple(found.values())


def _told(octets: bytes, special: frozenset[int]) -> str:
    """The octets, with one mark in place of those, in a row, that no rule contains."""
    shown = "".join(chr(octet) if octet in special else _OTHER for octet in octets)
    return _OTHERS.sub(_OTHER, shown)


MOST_STEPS = 10_000_000
"""After so many steps the search ends. A million take about half a second."""

_STEPS_OF_A_MOVE = 2
"""What a move from one pair of states to another takes, besides the steps in both automata."""

MOST_EXAMPLES = 3
"""For each pair of rules."""

Deciding = tuple[Rank, Rank]
"""The rules that decide before and after."""

_Pair = tuple[State, State]

_ByOctet = tuple[dict[int, list[int]], dict[int, list[int]]]
"""Numbers of units by octets that they have before, and by octets that they have after."""


class Side(NamedTuple):
    """The rules of one file for a crawler."""

    patterns: dict[Pattern, Rank]
    escapes: Escapes


class Found(NamedTuple):
    """What a search found."""

    examples: dict[Deciding, list[bytes]]
    """Paths, by the rules that decide about them."""
    complete: bool
    """Whether no pair of rules is missing."""
    states: int
    """How many pairs of states were visited."""


class Search:
    """The search for paths that two sets of rules decide about differently."""

    def __init__(self, before: Side, after: Side, most_steps: int = MOST_STEPS) -> None:
        names: dict[Pattern, int] = {}
        self._before = Automaton(before.patterns, names)
        self._after = Automaton(after.patterns, names)
        self._forms = before.escapes, after.escapes
        self._alike = before.escapes is after.escapes
        self._units = units_of(*self._forms, self._before.octets | self._after.octets)
        self._by_first = _by_octet(self._units, 1)
        self._by_octets = _by_octet(self._units, None)
        self._single = [unit for unit in self._units if len(unit.before) == len(unit.after) == 1]
        self._came: dict[_Pair, tuple[_Pair | None, bytes]] = {}
        """From which pair each was reached first, and by which part of the path."""
        self._examples: defaultdict[Deciding, list[bytes]] = defaultdict(list)
        self._moves = 0
        self._most_steps = most_steps

    def run(self) -> Found:
        """All that there is to find within the limit."""
        waiting: deque[_Pair] = deque()
        start = self._before.start, self._after.start
        self._reach(self._both(start, Unit(b"/", b"/", b"/")), None, b"/", waiting)
        while waiting and self._steps < self._most_steps:
            pair = waiting.popleft()
            for to, raw in self._successors(pair):
                self._moves += 1
                self._reach(to, pair, raw, waiting)
        return Found(dict(self._examples), not waiting, len(self._came))

    @property
    def _steps(self) -> int:
        return self._before.steps + self._after.steps + _STEPS_OF_A_MOVE * self._moves

    def _reach(self, to: _Pair, pair: _Pair | None, raw: bytes, waiting: deque[_Pair]) -> None:
        """Notes a pair of states that was reached, if it is new and matters."""
        if to in self._came or self._agree(*to):
            return
        self._came[to] = pair, raw
        waiting.append(to)
        deciding = to[0].decides, to[1].decides
        if allows(deciding[0]) != allows(deciding[1]):
            self._note(deciding, to)

    def _note(self, deciding: Deciding, at: _Pair) -> None:
        found = self._examples[deciding]
        if len(found) < MOST_EXAMPLES:
            found.append(self._path_to(at))

    def _path_to(self, at: _Pair) -> bytes:
        parts = []
        pair: _Pair | None = at
        while pair is not None:
            pair, raw = self._came[pair]
            parts.append(raw)
        return b"".join(reversed(parts))

    def _agree(self, before: State, after: State) -> bool:
        """Whether no path that leads on from here can be decided differently."""
        left, right = self._before.future(before), self._after.future(after)
        # Places of equal patterns mean the same only if both dialects read paths in the same way.
        return left == right and (self._alike or not left[1])

    def _both(self, pair: _Pair, unit: Unit) -> _Pair:
        return self._before.walk(pair[0], unit.before), self._after.walk(pair[1], unit.after)

    def _successors(self, pair: _Pair) -> Iterable[tuple[_Pair, bytes]]:
        """Where all paths that lead on from here come by, or what those lead to."""
        other = self._other(pair)
        run = self._run(pair)
        if other is None:
            units: Iterable[Unit] = self._units
        elif run is not None:
            units = (other,)
        elif self._is_rest(pair):
            units = self._awaited(pair, self._by_octets)
        else:
            units = (other, *self._awaited(pair, self._by_first))
        found = [(self._both(pair, unit), unit.raw) for unit in units]
        return found if run is None or other is None else [*found, run]

    def _other(self, pair: _Pair) -> Unit | None:
        """The most readable octet that no rule waits for."""
        before, after = (state.moved for state in pair)
        for unit in self._single:
            if unit.before[0] not in before and unit.after[0] not in after:
                return unit
        return None

    def _is_rest(self, pair: _Pair) -> bool:
        """Whether octets that no rule waits for change nothing.

        Only here, escapes whose first octet no rule waits for need a look: elsewhere such an escape
        leads to what it leads to from the pair that any other such octet leads to.
        """
        before, after = pair
        return self._before.rest_of(before) is before and self._after.rest_of(after) is after

    def _awaited(self, pair: _Pair, by_octet: _ByOctet) -> list[Unit]:
        """The units that *by_octet* has for the octets that rules wait for."""
        found = {
            number
            for state, numbers in zip(pair, by_octet, strict=True)
            for octet in state.moved
            for number in numbers.get(octet, ())
        }
        return [self._units[number] for number in sorted(found)]

    def _run(self, pair: _Pair) -> tuple[_Pair, bytes] | None:
        """Where the rest of a pattern leads to in one go, if no other pattern can match here."""
        before, after = pair
        sides = (self._before, before, self._forms[0]), (self._after, after, self._forms[1])
        runs = {(rules.run(state), form) for rules, state, form in sides if state.places}
        if len(runs) != 1:
            return None
        octets, form = runs.pop()
        raw = spelled(octets, form)
        if not octets or raw is None:
            return None
        to = self._before.jump(before, len(octets)), self._after.jump(after, len(octets))
        return to, raw


def spelled_by(patterns: Iterable[Pattern], escapes: Escapes) -> Iterator[bytes]:
    """The paths that patterns spell, if their wildcards stand for nothing."""
    for prefix, parts, tail in patterns:
        octets = b"".join((prefix, *parts, tail or b""))
        raw = spelled(b"/" + octets.removeprefix(b"/"), escapes)
        if raw is not None:
            yield raw


def _by_octet(units: tuple[Unit, ...], until: int | None) -> _ByOctet:
    """The units by each of their octets up to *until*."""
    before: defaultdict[int, list[int]] = defaultdict(list)
    after: defaultdict[int, list[int]] = defaultdict(list)
    for number, unit in enumerate(units):
        for octets, found in ((unit.before, before), (unit.after, after)):
            for octet in octets[:until]:
                found[octet].append(number)
    return before, after
