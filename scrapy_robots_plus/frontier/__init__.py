"""The requests of a job, those under way and the fingerprints of all seen, in one file.

``job_file.py`` is what others ask, ``keeper.py`` keeps the file usable. ``tables`` reads, writes
and shrinks it as long as all goes well; ``recent.py`` keeps what was done since it was written;
``mending`` makes a whole file of a damaged one.
"""

from __future__ import annotations

from .errors import JobFileError as JobFileError
from .job_file import JobFile as JobFile
from .mending.replacing import part_of as part_of
from .mending.replacing import replace as replace
from .reading import HeldRequest as HeldRequest
from .reading import Overview as Overview
from .reading import held_requests as held_requests
from .reading import overview as overview
from .tables.rows import AsideRequest as AsideRequest
from .tables.rows import Contents as Contents
from .tables.rows import LaneRow as LaneRow
from .tables.rows import Taken as Taken

FILE_NAME = "frontier.sqlite"
"""The name of the file in the folder of a job (``JOBDIR``)."""
