"""The requests of a crawl with many workers: a queue per host on a Redis server."""

from .host_queue import Exchange as Exchange
from .host_queue import HostQueue as HostQueue
from .host_queue import Loss as Loss
from .host_queue import Outlook as Outlook
from .host_queue import State as State
from .host_queue import Stored as Stored
from .host_queue import Taken as Taken
from .keys import Keys as Keys
from .link import Link as Link
from .reports import Report as Report
