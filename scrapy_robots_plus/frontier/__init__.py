"""The requests of a job, those under way and the fingerprints of all seen, in one file."""

from __future__ import annotations

from .errors import JobFileError
from .job_file import JobFile
from .reading import Overview, overview
from .replacing import part_of, replace
from .rows import AsideRequest, LaneRow, Taken

FILE_NAME = "frontier.sqlite"
"""The name of the file in the folder of a job (``JOBDIR``)."""

__all__ = [
    "FILE_NAME",
    "AsideRequest",
    "JobFile",
    "JobFileError",
    "LaneRow",
    "Overview",
    "Taken",
    "overview",
    "part_of",
    "replace",
]
