"""Reads and checks the settings of a project: which are wrong, do not exist, or have no effect."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast

from scrapy_robots_plus.storage.redis.url import without_password

from .declared import DECLARED, names
from .errors import RobotsSettingsError, SettingProblem, WrongPartsError
from .options import Politeness

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy.settings import BaseSettings

    from scrapy_robots_plus.protocol.dialect import Dialect

    from .declared import Setting

logger = logging.getLogger(__name__)

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


def read_all(settings: BaseSettings) -> Mapping[str, Any]:
    """The value of each setting, by the name of its field.

    Raises :class:`RobotsSettingsError`, which names all wrong ones.
    """
    preset = preset_in(settings)
    read = {
        name: _read(settings, declared, preset.get(declared.name, declared.default))
        for name, declared in DECLARED.items()
    }
    if problems := list(_problems_in(read.values())):
        raise RobotsSettingsError(problems)
    return read


def dialect_in(settings: BaseSettings) -> Dialect:
    """``ROBOTS_DIALECT`` alone, for a parser that is used without the middleware.

    Raises :class:`RobotsSettingsError` for what is not a dialect.
    """
    read = _read(settings, DECLARED["dialect"], DECLARED["dialect"].default)
    if isinstance(read, SettingProblem):
        raise RobotsSettingsError([read])
    return cast("Dialect", read)


def _read(settings: BaseSettings, declared: Setting[Any, Any], default: object) -> Any:
    """The value of one setting; a SettingProblem if it is wrong, or a list of them."""
    # Unset, ROBOTSTXT_OBEY is off as in Scrapy: turning it on is the add-on's affair.
    unset = False if declared.name == "ROBOTSTXT_OBEY" else default
    value = settings.get(declared.name, unset)
    try:
        return declared.check.read(value)
    except WrongPartsError as error:
        return [part._replace(name=declared.name) for part in error.parts]
    except ValueError as error:
        return SettingProblem(declared.name, without_secrets(value), str(error))


def without_secrets(value: object) -> object:
    """*value*, which may be the URL of a server, without its password."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    shown = without_password(text) if isinstance(text, str) else text
    return value if shown == text else shown


def _problems_in(read: Iterable[Any]) -> Iterator[SettingProblem]:
    for value in read:
        found = value if isinstance(value, list) else [value]
        yield from (each for each in found if isinstance(each, SettingProblem))


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
