"""What sites want done with their pages."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_robots_plus.crawl.settings.checks import or_unset, text
from scrapy_robots_plus.crawl.settings.setting import setting


@dataclass(frozen=True)
class Preferences:
    """Preferences"""

    item_field: str | None = setting(
        "ROBOTS_ITEM_FIELD",
        or_unset(text),
        default=None,
        example="robots",
        doc="A field of items in which the stamp of their page is stored. `None` stores it in "
        "none. See [items](preferences.md#items).",
    )
