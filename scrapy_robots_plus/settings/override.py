"""Overrides: a user's decisions about some hosts, or one request, in place of the settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from scrapy_robots_plus.protocol.dialect import DIALECTS, Dialect

from . import checks
from .checks import WrongPartsError, problem, read_or_tell
from .host_patterns import plain_pattern

Keys = Mapping[str, Callable[[Any], Any]]
"""The keys of an override, each with the function that reads its value."""


ABOUT = ("reason", "by", "evidence", "until")
"""Keys that describe an override and change nothing by themselves."""
_SHOWN_AS_READ = ("obey", "crawl_delay", "ai_uses", "content_use", "ai_policy", "ai_tokens")


class Override:
    """The keys and values of one override; docs/overrides.md lists all keys."""

    def __init__(self, read: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        self.read = read
        """The values to use, by key."""
        self.given = given
        """The values as the user wrote them, by key."""
        self.label: str = read.get("reason") or ", ".join(sorted(set(given).difference(ABOUT)))
        """The reason; without one, the keys: ``crawl_delay, user_agent``."""
        self.until: float | None = read.get("until")
        """When the override ends, in seconds since the epoch; None if it does not."""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of a crawl that the override changes, by their fields.

        If it switches robots.txt off, it also switches off page directives that it does not set.
        """
        is_off = self.read.get("obey") is False
        off = {"nofollow": "ignore", "noindex": "ignore"} if is_off else {}
        return off | {name: value for name, value in self.read.items() if name not in ABOUT}

    def with_changes(self, other: Override) -> Override:
        """Returns this override with the keys of *other* laid over it."""
        return Override({**self.read, **other.read}, {**self.given, **other.given})

    def as_json(self) -> dict[str, Any]:
        """Returns the keys as configured, for JSON.

        Lists, options and numbers are as they are read; ``robots_txt`` is the SHA-256 of its text.
        """
        read = {name: self.read[name] for name in _SHOWN_AS_READ if name in self.read}
        shown = {**self.given, **read}
        if "robots_txt" in shown:
            text = shown["robots_txt"].encode("utf-8", "replace")
            shown["robots_txt"] = hashlib.sha256(text).hexdigest()
        dialect = shown.get("dialect")
        if isinstance(dialect, Dialect):
            is_known = DIALECTS.get(dialect.name) == dialect
            shown["dialect"] = dialect.name if is_known else dialect._asdict()
        plain: dict[str, Any] = json.loads(json.dumps(shown, default=_plain))
        return plain


def _plain(value: object) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


@checks.check("the text of a robots.txt")
def _robots_txt(value: object) -> str | None:
    return value if isinstance(value, str) else None


EXTRA_KEYS: dict[str, Callable[[Any], Any]] = {
    "user_agent": checks.agent.read,
    **dict.fromkeys(("reason", "by", "evidence"), checks.text.read),
    "until": checks.until.read,
    "crawl_delay": checks.number("seconds", 0, checks.FOREVER).read,
    "robots_txt": _robots_txt.read,
}
"""The keys of an override that are no settings, or are read differently, with what reads them."""


def override_from(value: object, keys: Keys) -> Override:
    """Returns the override that *value*, a dict of *keys*, describes.

    Raises :class:`WrongPartsError`, naming every key that is wrong.
    """
    if not isinstance(value, Mapping):
        raise WrongPartsError([problem("", value, f"expected a dict of {', '.join(keys)}")])
    problems: list[str] = []
    read = {
        key: read_or_tell(problems, f"[{key!r}]", keys.get(key, partial(_no_key, key, keys)), part)
        for key, part in value.items()
    }
    if "obey" in value and "reason" not in value:
        expected = "expected a reason as well, which the stats, the table and the log show"
        problems.append(problem("['obey']", value["obey"], expected))
    if problems:
        raise WrongPartsError(problems)
    return Override(read, dict(value))


def _no_key(key: object, keys: Keys, _: object) -> None:
    from difflib import get_close_matches

    near = get_close_matches(str(key), keys, 1)
    hint = f"did you mean {near[0]}?" if near else f"expected {', '.join(keys)}"
    raise ValueError(f"there is no such key; {hint}")


def overrides_from(value: object, keys: Keys) -> dict[str, Override] | None:
    """Returns the overrides in *value*, from ``ROBOTS_OVERRIDES``, by host; None if it is no dict.

    Raises ValueError saying what is expected; :class:`WrongPartsError` names hosts and keys.
    """
    value = checks.json_if_text(value)
    if not isinstance(value, Mapping):
        return None
    problems: list[str] = []
    found: dict[str, Override] = {}

    def read(host: object, given: object) -> None:
        pattern = plain_pattern(host)
        if pattern in found:
            raise ValueError(f"expected one entry for {pattern}, but there are two")
        found[pattern] = override_from(given, keys)

    for host, given in value.items():
        read_or_tell(problems, f"[{host!r}]", partial(read, host), given)
    if problems:
        raise WrongPartsError(problems)
    return found
