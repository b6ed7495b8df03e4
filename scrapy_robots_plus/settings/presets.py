"""What ``ROBOTS_POLITENESS`` sets together. The table of docs/crawl-delay.md is made from this."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .declared import DECLARED
from .options import Politeness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

PRESETS: Mapping[Politeness, Mapping[str, object]] = {
    Politeness.DEFAULT: {},
    Politeness.GENTLE: {
        "ROBOTS_DEFAULT_DELAY": 1,
        "ROBOTS_CRAWL_DELAY_MAX": 300,
        "ROBOTS_VISIT_TIME": "obey",
        "ROBOTS_BACKOFF_MAX": 900,
    },
    Politeness.ARCHIVE: {
        "ROBOTS_DEFAULT_DELAY": 5,
        "ROBOTS_CRAWL_DELAY_MAX": 0,
        "ROBOTS_VISIT_TIME": "obey",
        "ROBOTS_BACKOFF_MAX": 3_600,
        "ROBOTS_GIVE_UP_AFTER": 20,
        "ROBOTS_DEFER": 3_600,
    },
}
"""The settings of each preset that differ from their defaults, as a user would write them."""


def preset_in(settings: BaseSettings) -> Mapping[str, object]:
    """The settings of the preset in use; those of a user go before them.

    Empty if the name is wrong, which is told when it is read as a setting.
    """
    declared = DECLARED["politeness"]
    try:
        return PRESETS[declared.check.read(settings.get(declared.name, declared.default))]
    except ValueError:
        return {}
