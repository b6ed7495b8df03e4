"""Which requests a job has seen."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .transaction import Transaction

DIGEST = 10
"""Octets that are kept of a fingerprint: two of a billion are alike once in 2,000,000 jobs."""

_AT_ONCE = 4_000 // DIGEST
"""In a row: it fits into a page."""
_REST = DIGEST - 2
_HOLDING = "SELECT id, digests FROM seen WHERE instr(digests, ?)"


class Fingerprints:
    """All are in memory, some ten octets each, as they come in no order: looked for in the file,
    each would need a page of its own, and written there at its place, too.
    """

    def __init__(self, transaction: Transaction) -> None:
        self._run = transaction.run
        self._new: list[bytes] = []
        """Not yet in the file."""
        self._seen: list[bytes] | None = None
        """By the first two octets of digests: the rest of them, one behind the other."""

    def add(self, fingerprint: bytes) -> bool:
        """Whether it is new."""
        digest = blake2b(fingerprint, digest_size=DIGEST).digest()
        place = int.from_bytes(digest[:2], "big")
        if self._seen is None:
            self._seen = self._read()
        if _find(self._seen[place], digest[2:]) >= 0:
            return False
        self._seen[place] += digest[2:]
        self._new.append(digest)
        return True

    def forget(self, fingerprint: bytes) -> None:
        """It is new again."""
        digest = blake2b(fingerprint, digest_size=DIGEST).digest()
        place = int.from_bytes(digest[:2], "big")
        if self._seen is None:
            self._seen = self._read()
        held = self._seen[place]
        at = _find(held, digest[2:])
        if at < 0:
            return
        self._seen[place] = held[:at] + held[at + _REST :]
        if digest in self._new:
            self._new.remove(digest)
            return
        for id_, part in self._run(_HOLDING, (digest,)).fetchall():
            left = b"".join(each for each in _parts(part) if each != digest)
            self._run("UPDATE seen SET digests = ? WHERE id = ?", (left, id_))

    def write(self) -> None:
        """Those that are new go into the file, in the same transaction."""
        for begin in range(0, len(self._new), _AT_ONCE):
            part = b"".join(self._new[begin : begin + _AT_ONCE])
            self._run("INSERT INTO seen (digests) VALUES (?)", (part,))
        self._new.clear()

    def _read(self) -> list[bytes]:
        seen = [b""] * (1 << 16)
        for digest in self._digests():
            seen[digest[0] << 8 | digest[1]] += digest[2:]
        return seen

    def _digests(self) -> Iterator[bytes]:
        for (part,) in self._run("SELECT digests FROM seen"):
            yield from _parts(part)


def _parts(digests: bytes) -> Iterator[bytes]:
    for at in range(0, len(digests) - DIGEST + 1, DIGEST):
        yield digests[at : at + DIGEST]


def _find(held: bytes, rest: bytes) -> int:
    """Where *rest* is in *held*; -1 if it is not there."""
    at = held.find(rest)
    while at % _REST > 0 <= at:
        at = held.find(rest, at + 1)
    return at
