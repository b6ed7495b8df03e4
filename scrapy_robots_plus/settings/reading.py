"""Reads and checks the settings of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from scrapy_robots_plus.storage.redis.url import without_password

from .declared import DECLARED
from .errors import RobotsSettingsError, SettingProblem, WrongPartsError
from .presets import preset_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy.settings import BaseSettings

    from scrapy_robots_plus.protocol.dialect import Dialect

    from .setting import Setting


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
