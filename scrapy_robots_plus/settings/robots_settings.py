"""The settings of one crawl, read and checked, and what follows from them.

Reports settings that are wrong, do not exist or have no effect.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings
from scrapy.utils.python import global_object_name

from scrapy_robots_plus.protocol.http_caching import Limits
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import printable

from .all_settings import DECLARED, NEEDS, Declared, names, uses_of
from .checks import read_or_tell
from .host_patterns import HostPatterns
from .override import Override
from .scrapys_own import wrong_slots


class RobotsSettingsError(UsageError, ValueError):
    """An error for settings with values that cannot be used.

    The message names each with its value and what is expected. Scrapy's commands print a
    ``UsageError`` without a traceback.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        lines = list(problems)
        if len(lines) > 1:
            lines = [f"{len(lines)} settings are wrong:", *lines]
        super().__init__("\n  ".join(lines), print_help=False)


logger = logging.getLogger(__name__)

PRESETS: Mapping[str, Mapping[str, object]] = {
    "default": {},
    "gentle": {
        "ROBOTS_DEFAULT_DELAY": 1,
        "ROBOTS_CRAWL_DELAY_MAX": 300,
        "ROBOTS_VISIT_TIME": "obey",
        "ROBOTS_BACKOFF_MAX": 900,
    },
    "archive": {
        "ROBOTS_DEFAULT_DELAY": 5,
        "ROBOTS_CRAWL_DELAY_MAX": 0,
        "ROBOTS_VISIT_TIME": "obey",
        "ROBOTS_BACKOFF_MAX": 3_600,
        "ROBOTS_GIVE_UP_AFTER": 20,
        "ROBOTS_DEFER": 3_600,
    },
}
"""The settings of each preset that differ from their defaults, as a user would write them."""


_MOST_WARNINGS = 100
"""The limit of warnings about ended overrides: requests may bring any number of them."""


class RobotsSettings(Declared):
    """The settings of one crawl, checked. :meth:`from_settings` reads them.

    The settings of one origin may differ: ``for_origin()`` returns them.
    """

    override: Override | None = None
    """The override that makes these settings differ from the crawl's; None if they do not."""
    crawl_delay: float | None = None
    """The delay in seconds that an override sets, 0 for none; None if the robots.txt decides."""
    robots_txt: str | None = None
    """The text that an override puts in place of the site's, which is not fetched."""
    now: Callable[[], float] = time.time
    """The clock, in seconds since the epoch, that tells when an override ends. A crawl sets it."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._ended: set[Override] = set()  # those that a warning has reported
        vars(self).update(values)

        # What follows from several of them
        self.enforces = self.mode == "obey"
        """Whether requests are denied and delayed, not just judged."""
        self.keeps_delays = self.obey if self.crawl_delay_obey is None else self.crawl_delay_obey
        """Whether the Crawl-delay of a robots.txt is honoured."""
        self.own_delay = self.default_delay if self.crawl_delay is None else self.crawl_delay
        """The user's own delay in seconds, for where no robots.txt decides."""
        needs_delay = self.keeps_delays and self.crawl_delay is None
        self.needs_file = self.robots_txt is None and (self.obey or needs_delay)
        """Whether a robots.txt must be fetched: for its rules, or for its delay."""
        self.reads_pages = not self.nofollow == self.noindex == "ignore"
        """Whether pages are read for their own directives."""
        self.uses = uses_of(self.ai_uses, self.content_use)
        """The uses of the crawl, to which a site may object: ``train-ai``, ``use=full``."""
        self.skipped_uses = self.uses if self.ai_policy == "skip" else ()
        """The uses for which a page is skipped if its site objects to them."""
        self.limits = Limits(*self.ttl, self.stale_max, *self.retry_interval, self.dialect.expiry)
        """The bounds of all lifetimes."""

    def with_changes(self, **changes: Any) -> RobotsSettings:
        """Returns these settings with *changes*, by field."""
        return RobotsSettings({**self._values, **changes})

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> RobotsSettings:
        """Reads and checks all. Raises :class:`RobotsSettingsError`, naming all wrong settings."""
        # What a user sets comes before a preset. A wrong preset is reported as any wrong value.
        preset = PRESETS.get(str(settings.get(DECLARED["politeness"].name)).lower(), {})
        problems: list[str] = []
        read: dict[str, Any] = {}
        for field, declared in DECLARED.items():
            # Unset, ROBOTSTXT_OBEY is off, as in Scrapy: it is the add-on that turns it on.
            unset = False if field == "obey" else declared.default
            value = settings.get(declared.name, preset.get(declared.name, unset))
            read[field] = read_or_tell(problems, declared.name, declared.check.read, value)
        for each, position in settings.getdict("ADDONS").items():
            name = each if isinstance(each, str) else global_object_name(each)
            package, _, rest = name.partition(".")
            if position is not None and package == "scrapy_robots_plus" and rest[-5:] != "Addon":
                problems.append(f"ADDONS = {name!r}: expected 'scrapy_robots_plus.Addon'")
        problems += wrong_slots(settings)
        if problems:
            raise RobotsSettingsError(problems)
        return cls(read)

    # Overrides

    def for_origin(self, origin: Origin) -> RobotsSettings:
        """Returns the settings for *origin*: these, unless an override in force names it.

        Each override always gives the same object.
        """
        settings = self._by_pattern.of(origin) if self._by_pattern else None
        return self if settings is None or self.has_ended(settings, origin) else settings

    def has_ended(self, settings: RobotsSettings, origin: Origin) -> bool:
        """Returns whether *settings*, those of *origin*, are under an override that has ended.

        If so, a warning says it once.
        """
        override = settings.override
        if override is None or override.until is None or self.now() < override.until:
            return False
        if override not in self._ended and len(self._ended) < _MOST_WARNINGS:
            self._ended.add(override)
            logger.warning(
                "The override for %s (%s) has ended, as its until is %s: robots.txt applies again",
                origin,
                printable(override.label),
                printable(override.given["until"]),
            )
        return True

    @cached_property
    def _by_pattern(self) -> HostPatterns[RobotsSettings]:
        return HostPatterns({each: self.under(said) for each, said in self.overrides.items()})

    def under(self, override: Override) -> RobotsSettings:
        """Returns these settings with *override* laid over them and any override they have."""
        merged = override if self.override is None else self.override.with_changes(override)
        return self.with_changes(override=merged, **override.settings)

    def for_fetching(self, origin: Origin) -> RobotsSettings:
        """Returns the settings under which the file of *origin* is fetched and kept, if it is."""
        settings = self.for_origin(origin)
        if settings.needs_file:
            return settings
        return self if self.needs_file else self._for_one_that_obeys

    @cached_property
    def _for_one_that_obeys(self) -> RobotsSettings:
        return self.with_changes(obey=True)

    # What follows from the settings of all origins

    @cached_property
    def is_on(self) -> bool:
        """Whether, for any origin, rules or delays are obeyed or uses are declared, to which its
        pages may object."""
        return self.keeps_any_delays or any(each.obey or each.uses for each in self.of_all_origins)

    @cached_property
    def reads_any_pages(self) -> bool:
        """Whether the pages of any origin are read for their own directives."""
        return any(each.reads_pages for each in self.of_all_origins)

    @property
    def keeps_any_delays(self) -> bool:
        """Whether delays are kept for any origin."""
        return any(each.keeps_delays or each.own_delay for each in self.of_all_origins)

    @property
    def of_all_origins(self) -> tuple[RobotsSettings, ...]:
        """All settings of the crawl: these, and those under each override."""
        return (self, *self._by_pattern.values())


def report_unknown_settings(settings: BaseSettings) -> None:
    """Warns of settings named ``ROBOTS_…`` or ``ROBOTSTXT_…`` that do not exist.

    Suggests the nearest name. The prefix would make all names similar, so it is not compared.
    """
    # ROBOTSTXT_PARSER is the only one of Scrapy that this package does not declare.
    known = {name.partition("_")[2]: name for name in (*names(), "ROBOTSTXT_PARSER")}
    for name in settings:
        if str(name).startswith(("ROBOTS_", "ROBOTSTXT_")) and name not in known.values():
            from difflib import get_close_matches

            near = get_close_matches(name.partition("_")[2], known, 1)
            hint = f"; did you mean {known[near[0]]}?" if near else ""
            logger.warning("There is no setting %s%s", name, hint)


def report_settings_without_effect(settings: RobotsSettings) -> None:
    """Warns of each setting that the user set, and that needs one which is off for every host."""
    preset = PRESETS[settings.politeness]
    for field, declared in DECLARED.items():
        need = declared.need
        if need is None or any(getattr(each, need) for each in settings.of_all_origins):
            continue
        unset = preset.get(declared.name, declared.default)
        if getattr(settings, field) != declared.check.read(unset):
            logger.warning("%s has no effect without %s", declared.name, NEEDS[need])
