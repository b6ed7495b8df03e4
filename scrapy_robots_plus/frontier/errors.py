"""What is raised when a job cannot be kept in its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class JobFileError(Exception):
    """The file of a job (``JOBDIR``) cannot be used, or not any longer.

    The message names the file, the reason and what to do. What was committed stays in the file.
    """

    def __init__(self, path: Path, what: str, to_do: str) -> None:
        super().__init__(f"{path}: {what}. {to_do}")
        self.path = path
