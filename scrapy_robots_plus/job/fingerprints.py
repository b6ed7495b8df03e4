"""The fingerprints of the requests that a job has seen."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

DIGEST = 10
"""The number of bytes kept of a fingerprint: two of a billion are alike once in 2,000,000 jobs."""

_AT_ONCE = 4_000 // DIGEST
"""The number of digests in a row of the table, so that a row fits into a page."""


class Fingerprints:
    """The fingerprints of a job, all in memory, at some ten bytes each.

    They come in no order: to look one up in the file, or insert it in its place, would take a page.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._run = connection.execute
        self._new: list[bytes] = []
        """Digests that are not yet in the file."""

    @cached_property
    def _seen(self) -> list[bytes]:
        """All digests: at the index of their first two bytes, the rest of each, concatenated."""
        seen = [b""] * (1 << 16)
        for (part,) in self._run("SELECT digests FROM seen"):
            for at in range(0, len(part) - DIGEST + 1, DIGEST):
                seen[part[at] << 8 | part[at + 1]] += part[at + 2 : at + DIGEST]
        return seen

    def __bool__(self) -> bool:
        """Returns whether there are any."""
        return any(self._seen)

    def add(self, fingerprint: bytes) -> bool:
        """Adds *fingerprint*; returns whether it was new."""
        digest = blake2b(fingerprint, digest_size=DIGEST).digest()
        place, rest = digest[0] << 8 | digest[1], digest[2:]
        held = self._seen[place]
        at = held.find(rest)
        while at > 0 and at % len(rest):  # found across two digests: look on
            at = held.find(rest, at + 1)
        if at >= 0:
            return False
        self._seen[place] = held + rest
        self._new.append(digest)
        return True

    def write(self) -> None:
        """Writes the new digests to the file, in the open transaction."""
        for begin in range(0, len(self._new), _AT_ONCE):
            part = b"".join(self._new[begin : begin + _AT_ONCE])
            self._run("INSERT INTO seen (digests) VALUES (?)", (part,))
        self._new.clear()
