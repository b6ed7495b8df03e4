"""How a job that is resumed can tell that it was killed, and what it held."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import IO


class KillNote:
    """A file with the number of requests that a job holds, there only while the job runs.

    Queues write their state when they are closed, and sizes into their files as well. After a kill
    both are as the last stop has left them, and nothing else says how much is missing.
    """

    NAME = "held-while-running"

    def __init__(self, folder: str) -> None:
        self._path = Path(folder, self.NAME)
        self.held_when_killed = self._read(Path(folder, "active.json"))
        """How many requests the job held when it was killed; None where it was not."""
        self._held = -1
        self._file: IO[bytes] | None = None

    def write(self, held: int) -> None:
        """The job holds as many requests now. A kill of this process will not undo it."""
        if held == self._held:
            return
        self._held = held
        with suppress(OSError):  # a full disk, too many open files
            if self._file is None:
                self._file = self._path.open("wb", buffering=0)
            self._file.seek(0)
            self._file.write(b"%20d" % held)

    def remove(self) -> None:
        """The job is stopped properly."""
        if self._file is not None:
            self._file.close()
        with suppress(OSError):
            self._path.unlink()

    def _read(self, state: Path) -> int | None:
        try:
            held = int(self._path.read_bytes())
            noted_at = self._path.stat().st_mtime_ns
            with suppress(FileNotFoundError):
                if state.stat().st_mtime_ns > noted_at:
                    return None  # stopped properly since, under another queue
        except (OSError, ValueError):
            return None
        return held
