"""The unfinished requests of a job and the fingerprints of all requests seen, in one file.

``file.py`` is what others call: it keeps the file usable, and leads from one run to the next.
``schema.py`` defines its contents, ``requests_in_file.py`` reads and changes them,
``recent_steps.py`` keeps what was done since the file was written; ``mending.py`` rebuilds a
damaged file; ``reading.py`` shows what a file holds. ``job.py`` and the modules that import it
connect the file to a crawl: a request leaves the file when the engine has finished with it.
``jobdir.py`` checks the folder first. Records of robots.txt files are in a file of their own there,
which ``origins/crawl_store.py`` keeps.
"""

from __future__ import annotations

from .file import JobFile as JobFile
from .reading import overview as overview
from .requests_in_file import UNSORTED as UNSORTED
from .schema import Contents as Contents
from .schema import JobFileError as JobFileError
from .schema import StoredRequest as StoredRequest
from .schema import rank_of as rank_of

FILE_NAME = "frontier.sqlite"
"""The name of a job's file in the folder of the job (``JOBDIR``)."""

QUEUE_FOLDER = "requests.queue"
"""The folder in ``JOBDIR`` where Scrapy's scheduler keeps its queues and their state."""
