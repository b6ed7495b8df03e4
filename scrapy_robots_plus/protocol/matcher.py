"""Finds the rule that decides about a path, without trying every rule.

Rules without wildcards are looked up by the beginnings of the path. Of a few with wildcards each is
tried, best first. Of many only those are tried of which the path has some octets: one intersection
of sets, those of the rules and of the path, finds them. Time grows with the rules and with the URL,
never with their product, and no rule is tried twice.

:class:`Places` says where the parts of wildcard rules occur in a path. A few parts are searched
for: nearly all paths are short, and nearly all files have few wildcards. For many in a long path
that would take time in proportion to their product: ``aa...ab`` nearly matches everywhere in
``aa...aa``. Then the beginnings of all rests of the path are sorted, once. Those that begin with a
part stand next to each other, so a binary search finds its places.

A part of more than 32 octets is looked up 32 octets at a time. Each piece gives the set of its
places, as the bits of a number; the part occurs where all these sets, each shifted back by its
offset, agree.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

# A rule's path-pattern is split at its wildcards (2.2.3), and a rule is one number: of two rules
# that match, the greater number decides. Numbers are fast to compare, and take little memory.
Pattern = tuple[bytes, tuple[bytes, ...], bytes | None]
"""A prefix, then the parts, each somewhere after the one before, then a tail at the very end.

The tail is None if the pattern is open at its end, and empty if it is only the prefix.
Since ``*`` matches any octets, the leftmost place of each part leaves the most room for the next:
no other place needs to be tried, and matching never backtracks.
"""


def matches(pattern: Pattern, path: bytes, places: Places | None = None) -> bool:
    """Whether a pattern matches a path. *places* are those in this path, for many patterns."""
    prefix, parts, tail = pattern
    if tail == b"":
        return path == prefix
    if not path.startswith(prefix) or (tail is not None and not path.endswith(tail)):
        return False
    at = len(prefix)
    if places:
        at = places.walk(parts, at)
        return at >= 0 and (tail is None or len(path) - len(tail) >= at)
    for part in parts:
        at = path.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return tail is None or len(path) - len(tail) >= at


def take_apart(pattern: bytes, wildcards: bool = True) -> Pattern:
    """Splits a pattern into its parts; without *wildcards*, ``*`` and ``$`` are literal."""
    if not wildcards:
        return pattern, (), None
    prefix, *parts = pattern.split(b"*")
    if not parts:
        return (prefix[:-1], (), b"") if prefix.endswith(b"$") else (prefix, (), None)
    # ``/dir/*`` and ``/dir/*$`` match like ``/dir/``; what comes before ``*$`` is open at its end.
    tail = (parts.pop()[:-1] or None) if parts[-1].endswith(b"$") else None
    return prefix, tuple(filter(None, parts)), tail


def spelled(pattern: Pattern) -> bytes:
    """The octets of a pattern, whose wildcards stand for nothing."""
    return b"".join((pattern[0], *pattern[1], pattern[2] or b""))


Rank = int

_LINES = 2**32 - 1

NO_RANK: Rank = -(2**80) + 1
"""Less than any rule; it allows."""


def rank_of(weight: int, line: int, allow: bool) -> Rank:
    """The rank of a rule. Among rules of the same weight, the first in the file is the greatest."""
    return (weight << 33) - (line << 1) + allow


PER_WEIGHT = rank_of(1, 0, False)
"""How much a rank grows with each unit of weight."""


def line_of(rank: Rank) -> int:
    """The number of the rule's line."""
    return -(rank >> 1) & _LINES


def allows(rank: Rank) -> bool:
    """Whether the rule allows."""
    return rank & 1 == 1


LONGEST = 32
"""Length in octets of the longest parts that are looked up whole."""

_HIGHEST = b"\xff" * (LONGEST + 1)
"""Appended to a part, comes after all that begins with the part."""

SHORT_PATH = 256
"""Up to this length in octets, a path is always searched: sorting would take longer."""

_SEARCHED = 2048
"""So many octets of parts are searched for in a longer path before it is sorted."""

_MOST_BITS = 1 << 25
"""So many bits of places are kept."""


class Places:
    """The places of all parts in one path."""

    __slots__ = ("_found", "_left", "_masks", "_sorted", "_starts", "path")

    def __init__(self, path: bytes) -> None:
        self.path = path
        self._left = _SEARCHED
        """How many octets of parts may still be searched for."""
        self._sorted: list[bytes] = []
        """The first octets of each rest of the path, in order."""
        self._starts: list[int] = []
        """Where each of them begins."""
        self._found: dict[bytes, list[int]] = {}
        """The places of the parts that were looked up, in order."""
        self._masks: dict[bytes, int] = {}

    def walk(self, parts: Sequence[bytes], at: int) -> int:
        """The end of the last part, if each part is taken at its first place after the one before,
        starting at ``at``; -1 if they do not all follow each other."""
        # Hostile files spend most time here, so the lookup of a part that is known is inlined.
        find, known = self.path.find, self._found.get
        searched = self._searched(parts)
        for part in parts:
            size = len(part)
            if size <= searched:
                at = find(part, at) + size
                if at < size:
                    return -1
                continue
            places = known(part)
            if places is None:
                at = self._behind(part, at)
                if at < 0:
                    return -1
            elif not places or places[-1] < at:
                return -1
            else:
                at = places[bisect_left(places, at)] + size
        return at

    def _searched(self, parts: Sequence[bytes]) -> int:
        """Up to which length these parts are searched for. A single octet always is: that is as
        fast as a lookup."""
        size = len(self.path)
        if size > SHORT_PATH:
            self._left -= sum(map(len, parts))
            if self._left < 0:
                return 1
        return size

    def _behind(self, part: bytes, at: int) -> int:
        """The end of the first ``part`` at or after ``at``; -1 if there is none."""
        if len(part) > LONGEST:
            return self._behind_long(part, at)
        places = self._found[part] = self._all(part)
        first = bisect_left(places, at)
        return places[first] + len(part) if first < len(places) else -1

    def _all(self, part: bytes) -> list[int]:
        """All places of a part of up to 32 octets, in order."""
        if not self._sorted:
            self._sort()
        low = bisect_left(self._sorted, part)
        return sorted(self._starts[low : bisect_left(self._sorted, part + _HIGHEST, low)])

    def _sort(self) -> None:
        path = self.path
        rests = [path[at : at + LONGEST] for at in range(len(path))]
        self._starts = sorted(range(len(path)), key=rests.__getitem__)
        self._sorted = [rests[at] for at in self._starts]

    def _behind_long(self, part: bytes, at: int) -> int:
        mask = self._mask(part[-LONGEST:]) >> (len(part) - LONGEST)
        for offset in range(0, len(part) - LONGEST, LONGEST):
            if not mask:
                break
            mask &= self._mask(part[offset : offset + LONGEST]) >> offset
        mask >>= at
        if not mask:
            return -1
        lowest = (mask & -mask).bit_length() - 1
        return at + lowest + len(part)

    def _mask(self, piece: bytes) -> int:
        mask = self._masks.get(piece)
        if mask is None:
            bits = bytearray(len(self.path) // 8 + 1)
            for at in self._all(piece):
                bits[at >> 3] |= 1 << (at & 7)
            if len(self._masks) * len(self.path) > _MOST_BITS:
                self._masks.clear()
            mask = self._masks[piece] = int.from_bytes(bits, "little")
        return mask


Starred = tuple[Rank, bytes, "Pattern"]
"""A rule with wildcards: its rank, octets that a path must have for it to match, and its
path-pattern, taken apart."""

MOST_SCANNED = 128
"""So many rules are tried one after the other."""

_SOUGHT = 4
"""The number of octets, at most, by which rules with wildcards are looked up."""

_ANY = (b"",)


class Matcher:
    """The rules of a crawler's groups, in the dialect's form."""

    __slots__ = ("_lengths", "_literal", "_per_octet", "_prefixes", "_sought", "_tried")

    def __init__(
        self,
        literal: dict[bytes, Rank],
        others: Iterable[tuple[bytes, Rank]],
        per_octet: int = 0,
        wildcards: bool = True,
    ) -> None:
        """Path-patterns with their ranks. The first have no wildcards, and are added to.

        *per_octet*: how much higher the ranks of those are, for each of their octets. If it is not
        0, the longest of them decides.
        """
        self._per_octet = per_octet
        self._literal = literal
        starred: list[Starred] = []
        for text, rank in others:
            pattern = prefix, parts, tail = take_apart(text, wildcards)
            # ``/dir/*`` matches like ``/dir/``, but a longer rule does not beat it for its length.
            if parts or tail is not None or (per_octet and prefix != text):
                needed = max((prefix, *parts, tail or b""), key=len)[:LONGEST]
                starred.append((rank, needed, pattern))
                continue
            rank -= per_octet * len(prefix)
            if literal.setdefault(prefix, rank) < rank:
                literal[prefix] = rank
        starred.sort(reverse=True)
        self._lengths: list[int] = []
        """How long the literal rules are; empty until one of them matches."""
        self._prefixes = tuple(literal) if len(literal) <= MOST_SCANNED else _ANY
        """Tells at once whether any of a few matches."""
        many = len(starred) > MOST_SCANNED
        self._sought = _by_sought(starred) if many else {}
        self._tried = _by_prefix(starred) if starred and not many else []

    def best(self, path: bytes) -> Rank:
        """The rule that decides about a path, or :data:`NO_RANK`."""
        best = NO_RANK
        if path.startswith(self._prefixes):
            known, per_octet, size = self._literal.get, self._per_octet, len(path)
            for length in self._lengths or self._measure():
                if length <= size:
                    rank = known(path[:length])
                    if rank is not None:
                        rank += per_octet * length
                        best = max(best, rank)
                        if per_octet:
                            break  # the others are shorter
        if self._tried:
            places = Places(path) if len(path) > SHORT_PATH else None
            for prefixes, rules in self._tried:
                if path.startswith(prefixes):
                    best = _best_of(rules, path, places, best)
        return self._best_sought(path, best) if self._sought else best

    def _measure(self) -> list[int]:
        self._lengths = sorted(set(map(len, self._literal)), reverse=True)
        return self._lengths

    def _best_sought(self, path: bytes, best: Rank) -> Rank:
        places = Places(path)
        for size, rules in self._sought.items():
            there = {path[at : at + size] for at in range(len(path) - size + 1)}
            for sought in rules.keys() & there:
                for rank, _, pattern in rules[sought]:
                    if rank < best:
                        break
                    if matches(pattern, path, places):
                        best = rank
                        break
        return best


def _best_of(rules: list[Starred], path: bytes, places: Places | None, best: Rank) -> Rank:
    """The better of *best* and the first rule that matches."""
    for rank, needed, pattern in rules:
        if needed in path:
            if rank < best:
                break
            if matches(pattern, path, places):
                return rank
    return best


def _by_prefix(starred: list[Starred]) -> list[tuple[tuple[bytes, ...], list[Starred]]]:
    """The rules that may match any path, and the others with all their prefixes."""
    anywhere = [rule for rule in starred if len(rule[2][0]) < 2]
    there = [rule for rule in starred if len(rule[2][0]) >= 2]
    return [(_ANY, anywhere), (tuple([prefix for _, _, (prefix, _, _) in there]), there)]


def _by_sought(starred: list[Starred]) -> dict[int, dict[bytes, list[Starred]]]:
    """The rules by some octets that a path must have, by the number of those; each once."""
    found: dict[int, dict[bytes, list[Starred]]] = {}
    known: set[Pattern] = set()
    for rule in starred:
        _, needed, pattern = rule
        if pattern not in known:
            known.add(pattern)
            sought = needed[:_SOUGHT]
            found.setdefault(len(sought), {}).setdefault(sought, []).append(rule)
    return found
