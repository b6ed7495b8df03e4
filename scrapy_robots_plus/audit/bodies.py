"""The texts of robots.txt files beside an audit log, each stored once, by its hash."""

from __future__ import annotations

import gzip
import zlib
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from .entries import SHA256

LONGEST_BODY = 64 * 1024 * 1024
"""How many bytes of a text are read. A longer one counts as changed."""


class BodyError(ValueError):
    """A text is missing, damaged, or cannot be read."""


class Bodies(NamedTuple):
    """A folder of texts: ``ab/abcdef….txt.gz``, where ``abcdef…`` is the SHA-256 of the text."""

    folder: Path

    def put(self, digest: str, body: bytes) -> None:
        """Stores *body* under its *digest*, unless it is there already. Raises OSError.

        The file appears whole or not at all.
        """
        path = self._path(digest)
        with suppress(OSError):
            if path.stat().st_size:  # a power failure may leave an empty file
                return
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{digest}.{token_hex(8)}.tmp")
        try:
            unfinished.write_bytes(gzip.compress(body, mtime=0))
            unfinished.replace(path)
        finally:
            with suppress(OSError):  # usually it has its name already
                unfinished.unlink()

    def get(self, digest: str) -> bytes:
        """Returns the text with this *digest*. Raises :exc:`BodyError` if it cannot be had."""
        if not SHA256.fullmatch(digest):  # it comes from a log, and becomes part of a path
            raise BodyError(f"{digest!r:.100} is not a hash")
        path = self._path(digest)
        try:
            with gzip.open(path) as file:
                body = file.read(LONGEST_BODY + 1)
        except FileNotFoundError:
            raise BodyError(f"{path} is missing") from None
        except (OSError, EOFError, ValueError, zlib.error) as error:  # ValueError: NUL in the path
            raise BodyError(f"{path} cannot be read: {error}") from None
        if sha256(body).hexdigest() != digest:
            raise BodyError(f"{path} was changed: its hash differs")
        return body

    def as_seen_from(self, log: Path) -> str:
        """Returns how *log* names the folder: relative to its own, if it lies below that."""
        is_below = self.folder.is_relative_to(log.parent)
        return self.folder.relative_to(log.parent).as_posix() if is_below else str(self.folder)

    def _path(self, digest: str) -> Path:
        return self.folder / digest[:2] / f"{digest}.txt.gz"
