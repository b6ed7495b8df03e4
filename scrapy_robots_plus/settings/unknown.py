"""Settings that do not exist, each with the one that was probably meant."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from .declared import names

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

_SCRAPYS_OWN = "ROBOTSTXT_PARSER"
"""Scrapy's only robots.txt setting that is not declared here."""
_NEAR = 0.6
"""How similar two names must be, from 0 to 1, for one to be a misspelling of the other."""


def unknown_settings(settings: BaseSettings) -> dict[str, str | None]:
    """Settings named ``ROBOTS_…`` or ``ROBOTSTXT_…`` that do not exist, each with the nearest name
    that does. And those that only begin otherwise than one that does, such as ``ROBOT_STORE``.
    """
    known = {_without_prefix(name): name for name in (*names(), _SCRAPYS_OWN)}
    found: dict[str, str | None] = {}
    for name in settings:
        if not isinstance(name, str) or name in known.values():
            continue
        rest = _without_prefix(name)
        if name.startswith(("ROBOTS_", "ROBOTSTXT_")):
            from difflib import get_close_matches

            near = get_close_matches(rest, known, 1, _NEAR)
            found[name] = known[near[0]] if near else None
        elif name.startswith("ROBOT") and rest in known:
            found[name] = known[rest]
    return found


def report_unknown_settings(settings: BaseSettings) -> None:
    """Logs a warning about each."""
    for name, nearest in unknown_settings(settings).items():
        hint = f"; did you mean {nearest}?" if nearest else ""
        logger.warning("There is no setting %s%s", name, hint)


def _without_prefix(name: str) -> str:
    """The part that tells settings apart: their common beginning would make all names similar."""
    return name.partition("_")[2]
