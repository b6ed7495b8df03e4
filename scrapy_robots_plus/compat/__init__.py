"""All uses of private or version-dependent names of Scrapy.

Each bridge says which Scrapy versions need it and when to remove it. "2.14 to 2.19" are all that
this package supports. The rest of the package uses what the modules name, as ``compat.name``.
"""

from .crawler import *
from .downloader_slots import *
from .ending import *
from .failures import *
from .handlers import *
from .loops import *
from .names import *
