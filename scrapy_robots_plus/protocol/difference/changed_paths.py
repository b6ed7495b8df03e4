"""Finds paths on which two sets of rules decide differently: one for each pair of deciding rules.

Two automata read the same path (:mod:`pattern_automaton <.pattern_automaton>`), unit by unit: a
plain octet, or an escape such as ``%2F``. All pairs of their states are visited, those of the
shortest paths first. Wherever one allows what the other denies, the path up to there is an example.
A pair is left out if it cannot lead to a difference: below what both files say alike, nothing is
visited.

Wildcards can make far too many pairs. So the search has a limit, and says whether it was reached.

Dialects undo some escapes before they compare (:mod:`escapes <...rules.escapes>`), each unit on its
own. So two dialects can be compared on one and the same path: each unit says what either reads.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol import rfc9309
from scrapy_robots_plus.protocol.rules.escapes import URL_FORM
from scrapy_robots_plus.protocol.rules.pattern import Rank, allows

from .pattern_automaton import Automaton, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_robots_plus.protocol.dialect import Escapes
    from scrapy_robots_plus.protocol.rules.pattern import Pattern

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
