"""Reads overrides: those of ``ROBOTS_OVERRIDES``, and that of one request."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.policy.host_patterns import HostPatterns, plain_pattern
from scrapy_robots_plus.policy.options import AiPolicy, PageAction
from scrapy_robots_plus.policy.override import Override

from .checks import kinds, reading_rules, uses
from .errors import SettingProblem, WrongPartsError
from .setting import Check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_MADE_OF = "expected a dict of hosts, each with a dict of what is different there"


def _robots_txt(value: object) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        raise ValueError("expected the text of a robots.txt")
    return value


def _agent(value: object) -> str | tuple[str, ...]:
    named = None if value in ("", b"") else reading_rules.user_agent.read(value)
    if named is None:
        raise ValueError(reading_rules.AN_AGENT)
    return named


KEYS: dict[str, Callable[[object], Any]] = {
    "obey": kinds.boolean.read,
    "reason": kinds.text.read,
    "user_agent": _agent,
    "dialect": reading_rules.dialect.read,
    "status_policy": reading_rules.status_policy.read,
    "crawl_delay": kinds.number("seconds", 0, kinds.FOREVER).read,
    "default_delay": kinds.number("seconds", 0, kinds.FOREVER).read,
    "robots_txt": _robots_txt,
    "ai_uses": uses.ai_uses.read,
    "ai_policy": kinds.one_of(AiPolicy).read,
    "use_tokens": uses.use_tokens.read,
    "nofollow": kinds.one_of(PageAction).read,
    "noindex": kinds.one_of(PageAction).read,
}
"""Every key of an override, with what reads its value."""


def override_from(value: object) -> Override:
    """The override that *value*, a dict, describes.

    Raises :class:`WrongPartsError`, naming every key that is wrong.
    """
    if not isinstance(value, Mapping):
        raise WrongPartsError([SettingProblem("", value, f"expected a dict of {_listed(KEYS)}")])
    read = {key: _read(key, part) for key, part in value.items()}
    problems = [part for part in read.values() if isinstance(part, SettingProblem)]
    problems += _lacking(value)
    if problems:
        raise WrongPartsError(problems)
    return Override(**read, given=dict(value))


def _read(key: object, value: object) -> Any:
    """The value to use; a SettingProblem if it is wrong."""
    if key not in KEYS:
        near = get_close_matches(str(key), KEYS, 1)
        hint = f"did you mean {near[0]}?" if near else f"expected {_listed(KEYS)}"
        return _problem(key, value, f"there is no such key; {hint}")
    try:
        return KEYS[str(key)](value)
    except ValueError as error:
        return _problem(key, value, str(error))


def _lacking(value: Mapping[Any, Any]) -> Iterator[SettingProblem]:
    if not value:
        yield SettingProblem("", value, f"expected at least one of {_listed(KEYS)}")
    elif "obey" in value and "reason" not in value:
        expected = "expected a reason beside it, which the stats, the table and the log show"
        yield _problem("obey", value["obey"], expected)
    elif set(value) == {"reason"}:
        expected = "expected something to override beside the reason"
        yield _problem("reason", value["reason"], expected)


def overrides_from(value: object) -> HostPatterns[Override]:
    """The overrides of ``ROBOTS_OVERRIDES``, by host.

    Raises ValueError saying what is expected; :class:`WrongPartsError` names hosts and keys.
    """
    value = kinds.json_if_text(value)
    if not isinstance(value, Mapping):
        raise ValueError(_MADE_OF)
    problems: list[SettingProblem] = []
    found: dict[str, Override] = {}
    for host, keys in value.items():
        problems += _put(found, host, keys)
    if problems:
        raise WrongPartsError(problems)
    return HostPatterns(found.items())


def _put(found: dict[str, Override], host: object, keys: object) -> Iterable[SettingProblem]:
    """Adds an override to those *found*; returns what is wrong with it."""
    try:
        pattern = plain_pattern(host)
        if pattern in found:
            raise ValueError("there is another override for the same, written in another way")
        found[pattern] = override_from(keys)
    except WrongPartsError as error:
        return [each._replace(part=f"[{host!r}]{each.part}") for each in error.parts]
    except ValueError as error:
        return [_problem(host, keys, str(error))]
    return []


overrides: Check[Mapping[str, Mapping[str, Any]], HostPatterns[Override]] = Check(
    "a dict of dicts, by host", overrides_from
)


def _problem(key: object, value: object, expected: str) -> SettingProblem:
    return SettingProblem("", value, expected, f"[{key!r}]")


def _listed(names: Mapping[str, object]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}"
