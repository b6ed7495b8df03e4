"""The search for the rule that decides about a path, without trying every rule.

Rules without wildcards are looked up by the prefixes of the path. A few rules with wildcards are
each tried, best first. Of many, only those are tried whose sought octets occur in the path: one
intersection of two sets, the rules' and the path's, finds them. Time grows with the rules and with
the URL, never with their product, and no rule is tried twice.

:class:`Places` finds where the parts of wildcard rules occur in a path. A few parts are searched
for: nearly all paths are short, and nearly all files have few wildcards. For many parts in a long
path, that would take time in proportion to their product: ``aa...ab`` nearly matches everywhere in
``aa...aa``. Then the suffixes of the path are sorted, once. Those that begin with a part stand next
to each other, so a binary search finds its places.

A part of more than 32 octets is looked up 32 octets at a time. Each piece gives the set of its
places, as the bits of a number; the part occurs where all these sets, each shifted back by its
offset, agree.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import itemgetter

# A path-pattern is split at its wildcards (2.2.3). A rule is one number, its rank: of two rules
# that match, the greater one decides. Numbers are fast to compare, and take little memory.
Pattern = tuple[bytes, tuple[bytes, ...], bytes | None]
"""A prefix, then the parts, each somewhere after the one before, then a tail at the very end.
The tail is None if the pattern is open at its end, and empty if only the prefix itself matches.
Since ``*`` matches any octets, the leftmost place of each part leaves the most room for the next:
no other place needs to be tried, and matching never backtracks."""


def matches(pattern: Pattern, path: bytes, places: Places | None = None) -> bool:
    """Returns whether *pattern* matches *path*.

    *places* are those of *path*, if many patterns are tried.
    """
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
    """Returns the octets of *pattern*, with its wildcards left out."""
    return b"".join((pattern[0], *pattern[1], pattern[2] or b""))


Rank = int

_LINES = 2**32 - 1

NO_RANK: Rank = -(2**80) + 1
"""The rank of no rule: less than that of any rule, and it allows."""


def rank_of(weight: int, line: int, allow: bool) -> Rank:
    """Returns the rank of a rule. Of equal weights, the first in the file ranks highest.

    It is odd if the rule allows.
    """
    return (weight << 33) - (line << 1) + allow


def line_of(rank: Rank) -> int:
    """Returns the line number of the rule with this rank."""
    return -(rank >> 1) & _LINES


LONGEST = 32
"""The length in octets of the longest parts that are looked up whole."""

_HIGHEST = b"\xff" * (LONGEST + 1)
"""Octets that, appended to a part, sort after everything that begins with the part."""

SHORT_PATH = 256
"""The length in octets up to which a path is always searched: sorting would take longer."""

_SEARCHED = 2048
"""The octets of parts that are searched for in a longer path before it is sorted."""

_MOST_BITS = 1 << 25
"""The bits of place sets that are kept for one path."""


class Places:
    """The places of pattern parts in one path."""

    __slots__ = ("_found", "_left", "_masks", "_sorted", "_starts", "path")

    def __init__(self, path: bytes) -> None:
        self.path = path
        self._left = _SEARCHED
        """The number of octets of parts that may still be searched for."""
        self._sorted: list[bytes] = []
        """The first 32 octets of each suffix of the path, sorted."""
        self._starts: list[int] = []
        """The position in the path of each suffix in :attr:`_sorted`."""
        self._found: dict[bytes, list[int]] = {}
        """The places of each part that was looked up, sorted."""
        self._masks: dict[bytes, int] = {}

    def walk(self, parts: Sequence[bytes], at: int) -> int:
        """Returns the end of the last part, each taken at its first place after the one before.

        The search starts at *at*. Returns -1 if the parts do not all follow each other.
        """
        # Hostile files cause most of their work here, so the lookup of a known part is inlined.
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
        """Returns the length up to which parts are searched for, not looked up.

        A single octet always is searched for: that is as fast as a lookup.
        """
        size = len(self.path)
        if size > SHORT_PATH:
            self._left -= sum(map(len, parts))
            if self._left < 0:
                return 1
        return size

    def _behind(self, part: bytes, at: int) -> int:
        """Returns the end of the first *part* at or after *at*; -1 if there is none."""
        if len(part) > LONGEST:
            return self._behind_long(part, at)
        places = self._found[part] = self._all(part)
        first = bisect_left(places, at)
        return places[first] + len(part) if first < len(places) else -1

    def _all(self, part: bytes) -> list[int]:
        """Returns all places of a part of up to 32 octets, sorted."""
        if not self._sorted:
            path = self.path
            rests = [path[at : at + LONGEST] for at in range(len(path))]
            self._starts = sorted(range(len(path)), key=rests.__getitem__)
            self._sorted = [rests[at] for at in self._starts]
        low = bisect_left(self._sorted, part)
        return sorted(self._starts[low : bisect_left(self._sorted, part + _HIGHEST, low)])

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
"""A rule with wildcards: its rank, octets that any path it matches has, and its pattern."""

MOST_SCANNED = 128
"""The number of rules up to which they are tried one after the other."""

_SOUGHT = 4
"""The most octets by which a rule with wildcards is looked up."""

_ANY = (b"",)


class Matcher:
    """The rules of a crawler's groups, in the dialect's form, compiled."""

    __slots__ = ("_lengths", "_literal", "_per_octet", "_prefixes", "_sought", "_tried")

    def __init__(
        self,
        literal: dict[bytes, Rank],
        others: Iterable[tuple[bytes, Rank]],
        per_octet: int = 0,
        wildcards: bool = True,
    ) -> None:
        """Takes patterns with their ranks. *literal* has those without wildcards, and is added to.

        *per_octet* is how much higher the ranks of *literal* are for each octet of the pattern. If
        it is not 0, the longest of these patterns that matches decides among them.
        """
        self._per_octet = per_octet
        self._literal = literal
        starred: list[Starred] = []
        for text, rank in others:
            pattern = prefix, parts, tail = take_apart(text, wildcards)
            # ``/dir/*`` matches like ``/dir/`` but ranks higher, so the longest literal rule that
            # matches need not beat it.
            if parts or tail is not None or (per_octet and prefix != text):
                needed = max((prefix, *parts, tail or b""), key=len)[:LONGEST]
                starred.append((rank, needed, pattern))
                continue
            rank -= per_octet * len(prefix)
            if literal.setdefault(prefix, rank) < rank:
                literal[prefix] = rank
        starred.sort(key=itemgetter(0), reverse=True)  # the patterns of equal ranks do not compare
        self._lengths = sorted(set(map(len, literal)), reverse=True)
        self._prefixes = tuple(literal) if len(literal) <= MOST_SCANNED else _ANY
        """The literal rules if they are few, to tell at once whether any matches."""
        many = len(starred) > MOST_SCANNED
        self._sought = _by_sought(starred) if many else {}
        self._tried = _by_prefix(starred) if starred and not many else []

    def best(self, path: bytes) -> Rank:
        """Returns the rank of the rule that decides about *path*, or :data:`NO_RANK`."""
        best = NO_RANK
        if path.startswith(self._prefixes):
            known, per_octet, size = self._literal.get, self._per_octet, len(path)
            for length in self._lengths:
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
    """Returns the greater of *best* and the rank of the first rule that matches."""
    for rank, needed, pattern in rules:
        if needed in path:
            if rank < best:
                break
            if matches(pattern, path, places):
                return rank
    return best


def _by_prefix(starred: list[Starred]) -> list[tuple[tuple[bytes, ...], list[Starred]]]:
    """Returns the rules that may match any path, and the others with all their prefixes."""
    anywhere = [rule for rule in starred if len(rule[2][0]) < 2]
    there = [rule for rule in starred if len(rule[2][0]) >= 2]
    return [(_ANY, anywhere), (tuple([prefix for _, _, (prefix, _, _) in there]), there)]


def _by_sought(starred: list[Starred]) -> dict[int, dict[bytes, list[Starred]]]:
    """Returns the rules by octets that a path must have, under the number of these octets.

    Of rules with the same pattern, only the best is kept.
    """
    best: dict[Pattern, Starred] = {}
    for rule in starred:
        best.setdefault(rule[2], rule)
    found: dict[int, dict[bytes, list[Starred]]] = {}
    for rule in best.values():
        sought = rule[1][:_SOUGHT]
        found.setdefault(len(sought), {}).setdefault(sought, []).append(rule)
    return found
