"""Reads overrides: those of ``ROBOTS_OVERRIDES``, and that of one request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Any

from . import checks
from .errors import SettingProblem, WrongPartsError
from .host_patterns import HostPatterns, plain_pattern
from .override import ABOUT, Override

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Keys = Mapping[str, Callable[[object], Any]]
    """Every key of an override, with what reads its value."""

_MADE_OF = "expected a dict of hosts, each with a dict of what is different there"


def _robots_txt(value: object) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        raise ValueError("expected the text of a robots.txt")
    return value


def _agent(value: object) -> str | tuple[str, ...]:
    named = None if value in ("", b"") else checks.user_agent.read(value)
    if named is None:
        raise ValueError(checks.AN_AGENT)
    return named


_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{6})?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
)


def _until(value: object) -> float:
    """Seconds since the epoch."""
    text = str(value).strip() if isinstance(value, (str, date)) else ""
    found = _MOMENT.fullmatch(text)
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        found = None
    if found is None:
        raise ValueError(
            "expected a day (2026-12-31), whose end in UTC it is, or a moment "
            "(2026-12-31T18:00Z, or another zone: +02:00)"
        )
    seconds = (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
    return seconds if found[1] else seconds + checks.DAY


EXTRA_KEYS: dict[str, Callable[[object], Any]] = {
    "user_agent": _agent,
    "reason": checks.text.read,
    "by": checks.text.read,
    "evidence": checks.text.read,
    "until": _until,
    "crawl_delay": checks.number("seconds", 0, checks.FOREVER).read,
    "robots_txt": _robots_txt,
}
"""The keys of an override that are no settings, or are read otherwise, with what reads them."""


def override_from(value: object, keys: Keys) -> Override:
    """The override that *value*, a dict of *keys*, describes.

    Raises :class:`WrongPartsError`, naming every key that is wrong.
    """
    if not isinstance(value, Mapping):
        raise WrongPartsError([SettingProblem("", value, f"expected a dict of {_listed(keys)}")])
    read = {key: _read(key, part, keys) for key, part in value.items()}
    problems = [part for part in read.values() if isinstance(part, SettingProblem)]
    problems += _lacking(value, keys)
    if problems:
        raise WrongPartsError(problems)
    return Override(**read, given=dict(value))


def _read(key: object, value: object, keys: Keys) -> Any:
    """The value to use; a SettingProblem if it is wrong."""
    if key not in keys:
        from difflib import get_close_matches

        near = get_close_matches(str(key), keys, 1)
        hint = f"did you mean {near[0]}?" if near else f"expected {_listed(keys)}"
        return _problem(key, value, f"there is no such key; {hint}")
    try:
        return keys[str(key)](value)
    except ValueError as error:
        return _problem(key, value, str(error))


def _lacking(value: Mapping[Any, Any], keys: Keys) -> Iterator[SettingProblem]:
    if not value:
        yield SettingProblem("", value, f"expected at least one of {_listed(keys)}")
    elif "obey" in value and "reason" not in value:
        expected = "expected a reason beside it, which the stats, the table and the log show"
        yield _problem("obey", value["obey"], expected)
    elif set(value) <= {*ABOUT}:
        key = next(iter(value))
        yield _problem(key, value[key], f"expected something to override beside the {key}")


def overrides_from(value: object, keys: Keys) -> HostPatterns[Override]:
    """The overrides of ``ROBOTS_OVERRIDES``, by host.

    Raises ValueError saying what is expected; :class:`WrongPartsError` names hosts and keys.
    """
    value = checks.json_if_text(value)
    if not isinstance(value, Mapping):
        raise ValueError(_MADE_OF)
    problems: list[SettingProblem] = []
    found: dict[str, Override] = {}
    for host, given in value.items():
        problems += _put(found, host, given, keys)
    if problems:
        raise WrongPartsError(problems)
    return HostPatterns(found.items())


def _put(
    found: dict[str, Override], host: object, given: object, keys: Keys
) -> Iterable[SettingProblem]:
    """Adds an override to those *found*; returns what is wrong with it."""
    try:
        pattern = plain_pattern(host)
        if pattern in found:
            raise ValueError("there is another override for the same, written in another way")
        found[pattern] = override_from(given, keys)
    except WrongPartsError as error:
        return [each._replace(part=f"[{host!r}]{each.part}") for each in error.parts]
    except ValueError as error:
        return [_problem(host, given, str(error))]
    return []


def _problem(key: object, value: object, expected: str) -> SettingProblem:
    return SettingProblem("", value, expected, f"[{key!r}]")


def _listed(names: Mapping[str, object]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}"
