"""Groups back to text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import pace
from .groups import STAR
from .lines import Kind
from .rules import read_rules, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .dialect import Dialect
    from .groups import Section
    from .lines import Line


def as_text(sections: Iterable[Section], lines: list[bytes], dialect: Dialect) -> str:
    """The groups as a robots.txt, in file order, except that those for ``*`` come last."""
    in_order = sorted(sections, key=_is_for_all)
    return "\n\n".join("\n".join(_lines_of(each, lines, dialect)) for each in in_order)


def _is_for_all(section: Section) -> bool:
    return any(STAR in names for names in section.names)


def _lines_of(section: Section, lines: list[bytes], dialect: Dialect) -> Iterator[str]:
    """The agents, each run with its own Crawl-delay and Request-rate, then the rules."""
    start = 0
    for members in section.members:
        yield from _agents(section.agents[start : members.end])
        yield from map(_pace, filter(_asks_for_a_pace, members.lines))
        start = members.end
    yield from _agents(section.agents[start:])
    for _, allow, pattern in read_rules(section.rules, lines, dialect):
        yield f"{'Allow' if allow else 'Disallow'}: {text(pattern)}"


def _agents(values: Iterable[bytes]) -> Iterator[str]:
    return (f"User-agent: {text(value)}" for value in values)


def _asks_for_a_pace(line: Line) -> bool:
    if line.kind is Kind.CRAWL_DELAY:
        return pace.crawl_delay(line.value) is not None
    return line.kind is Kind.REQUEST_RATE and pace.request_rate(line.value) is not None


def _pace(line: Line) -> str:
    key = "Crawl-delay" if line.kind is Kind.CRAWL_DELAY else "Request-rate"
    return f"{key}: {text(line.value)}"
