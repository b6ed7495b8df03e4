"""How a resumed job notices that it was killed, and how many requests it held."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import IO


class RunningMarker:
    """A file with the number of requests that a job holds. It exists only while the job runs.

    Queues write their state, and the sizes in their files, when they are closed. After a kill both
    are still those of the last stop, and nothing else tells how many requests are missing.
    """

    NAME = "held-while-running"

    def __init__(self, folder: str) -> None:
        self._path = Path(folder, self.NAME)
        self.held_when_killed = self._read(Path(folder, "active.json"))
        """How many requests the job held when it was killed; None if it was not killed."""
        self._held = -1
        self._file: IO[bytes] | None = None

    def write(self, held: int) -> None:
        """The job now holds *held* requests. The file survives a kill of this process."""
        if held == self._held:
            return
        self._held = held
        with suppress(OSError):  # a full disk, too many open files
            if self._file is None:
                self._file = self._path.open("wb", buffering=0)
            self._file.seek(0)
            self._file.write(b"%20d" % held)

    def remove(self) -> None:
        """The job has been stopped properly."""
        if self._file is not None:
            self._file.close()
        with suppress(OSError):
            self._path.unlink()

    def _read(self, state: Path) -> int | None:
        try:
            held = int(self._path.read_bytes())
            written_at = self._path.stat().st_mtime_ns
            with suppress(FileNotFoundError):
                if state.stat().st_mtime_ns > written_at:
                    return None  # stopped properly since then, with another queue
        except (OSError, ValueError):
            return None
        return held
