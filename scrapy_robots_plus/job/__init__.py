"""The requests of a job, those under way and the fingerprints of all seen, in one file.

``file.py`` is what others ask, and keeps the file usable. ``schema.py`` says what is in the file,
``requests.py`` reads and changes it, ``asleep.py`` knows whose turn it is of the lanes that a crawl
does not know; ``resuming.py`` leads from one run to the next, ``recent.py`` keeps what was done
since the file was written; ``mending.py`` makes a whole file of a damaged one; ``reading.py`` shows
what a file holds. ``job.py`` and those that import it join the file to a crawl: a request leaves
the file when the engine is done with it.
"""

from __future__ import annotations

from .file import JobFile as JobFile
from .reading import Overview as Overview
from .reading import held_requests as held_requests
from .reading import overview as overview
from .requests import UNSORTED as UNSORTED
from .schema import Contents as Contents
from .schema import JobFileError as JobFileError
from .schema import StoredRequest as StoredRequest
from .schema import rank_of as rank_of

FILE_NAME = "frontier.sqlite"
"""The name of the file in the folder of a job (``JOBDIR``)."""

QUEUE_FOLDER = "requests.queue"
"""Where Scrapy's scheduler keeps its queues and their state, in the same folder."""
