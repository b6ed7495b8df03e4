"""What a job has seen is found again, and nothing else, whatever lies beside it in memory."""

from __future__ import annotations

import sqlite3
from hashlib import blake2b

from scrapy_robots_plus.job.fingerprints import DIGEST, Fingerprints


def fingerprints(*digests: bytes) -> Fingerprints:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE seen (digests BLOB)")
    if digests:
        connection.execute("INSERT INTO seen VALUES (?)", (b"".join(digests),))
    return Fingerprints(connection)


def parts(fingerprint: bytes) -> tuple[bytes, bytes]:
    """The first two bytes of its digest, by which it is filed, and the rest."""
    digest = blake2b(fingerprint, digest_size=DIGEST).digest()
    return digest[:2], digest[2:]


def test_each_is_new_once() -> None:
    seen = fingerprints()
    assert seen.add(b"a")
    assert seen.add(b"b")
    assert not seen.add(b"a")


def test_what_was_written_is_known_again() -> None:
    seen = fingerprints()
    seen.add(b"a")
    seen.write()
    again = Fingerprints(seen._run.__self__)  # type: ignore[attr-defined]
    assert not again.add(b"a")
    assert again.add(b"b")


def test_the_end_of_one_and_the_beginning_of_the_next_are_no_third() -> None:
    place, rest = parts(b"a")
    left = place + b"?" + rest[:-1]
    right = place + rest[-1:] + b"?" * (len(rest) - 1)
    assert fingerprints(left, right).add(b"a")
    itself = place + rest
    for known in ([left, right, itself], [left, right, itself, left, right], [itself, left, right]):
        assert not fingerprints(*known).add(b"a")
