"""The settings, in groups as a user thinks of them: a file each.

A class is a group: its docstring is the heading in docs/settings.md, its fields are the settings.
"""

from scrapy_robots_plus.crawl.settings.setting import declared_in

from .beyond_rules.hints import Hints
from .beyond_rules.pages import Pages
from .beyond_rules.preferences import Preferences
from .delays import Delays
from .failures import Failures
from .fetching import Fetching
from .freshness import Freshness
from .obeyed import Obeyed
from .overrides import Overriding
from .queue import Queue
from .reporting import Reporting
from .storage import Storage

GROUPS = (
    Obeyed,
    Overriding,
    Failures,
    Freshness,
    Delays,
    Queue,
    Preferences,
    Pages,
    Fetching,
    Storage,
    Hints,
    Reporting,
)
"""In the order of docs/settings.md."""

DECLARED = {field: declared for group in GROUPS for field, declared in declared_in(group)}
"""Every setting by the name of its field."""


def names() -> list[str]:
    """Every setting of this package."""
    return [declared.name for declared in DECLARED.values()]
