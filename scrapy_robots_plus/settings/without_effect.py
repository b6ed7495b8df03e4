"""Settings that were set and have no effect, because another one is off."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from .declared import DECLARED
from .reading import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

    from .robots_settings import RobotsSettings

logger = logging.getLogger(__name__)


def settings_without_effect(settings: BaseSettings, read: RobotsSettings) -> Iterator[str]:
    """A sentence about each, which names both. *read*: what *settings* say.

    What an override makes effective for its hosts has an effect.
    """
    for field, declared in DECLARED.items():
        if getattr(read, field) == declared.check.read(declared.default):
            continue
        for need in declared.needs:
            if not any(need.is_met(each) for each in read.of_all_origins):
                value, other = _words(settings, declared.name), _words(settings, need.name)
                yield f"{declared.name} = {value} has no effect, because {need.name} is {other}."
                break


def report_settings_without_effect(settings: BaseSettings, read: RobotsSettings) -> None:
    """Logs a warning about each."""
    for text in settings_without_effect(settings, read):
        logger.warning(text)


def _words(settings: BaseSettings, name: str) -> str:
    default = next(each.default for each in DECLARED.values() if each.name == name)
    value = without_secrets(settings.get(name, False if name == "ROBOTSTXT_OBEY" else default))
    if value is None:
        return "not set"
    if value in ([], {}, ""):
        return "empty"
    return json.dumps(value) if isinstance(value, str) else str(value)
