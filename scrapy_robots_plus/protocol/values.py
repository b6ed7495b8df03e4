"""What a file is asked for, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """An allow or disallow line."""

    allow: bool
    pattern: str
    """As served; empty for a rule that names no path."""
    line: int


@dataclass(frozen=True, slots=True)
class Group:
    """A group as it stands in the file, before groups of equal token are merged."""

    agents: tuple[str, ...]
    """The values of its user-agent lines, as served."""
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class CleanParam:
    """Query parameters that do not change a page (Yandex's Clean-param)."""

    params: tuple[str, ...]
    path: str = ""
    """The beginning of the paths that this holds for; empty for all."""


def clean_param(value: str) -> CleanParam:
    """``ref&sort /shop/``: parameters, and where they hold."""
    params, _, path = value.partition(" ")
    return CleanParam(tuple(filter(None, params.split("&"))), path.strip())
