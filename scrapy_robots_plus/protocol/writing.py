"""Groups back to text that says the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import pace
from .dialect import Choice, Order
from .groups import STAR
from .lines import Kind
from .octets import text
from .rules.compiling import read_rules
from .rules.escapes import upper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .dialect import Dialect
    from .groups import Members, Section
    from .lines import Line

_READERS: dict[Kind, Callable[[bytes], object | None]] = {
    Kind.CRAWL_DELAY: pace.crawl_delay,
    Kind.REQUEST_RATE: pace.request_rate,
    Kind.VISIT_TIME: pace.visit_time,
}


def groups_as_text(sections: Sequence[Section], lines: list[bytes], dialect: Dialect) -> str:
    """The groups as a robots.txt."""
    in_order = _written_order(sections, dialect)
    return "\n\n".join("\n".join(_lines_of(each, lines, dialect)) for each in in_order)


def _written_order(sections: Sequence[Section], dialect: Dialect) -> Sequence[Section]:
    """File order where that may decide; else as the standard library writes them, ``*`` last.

    A group without rules comes after all others: it would share those of the next.
    """
    if dialect.choice is not Choice.MERGED or _first_rule_may_win(dialect):
        return sections
    return sorted(sections, key=lambda each: (not each.rules, _is_for_all(each)))


def _first_rule_may_win(dialect: Dialect) -> bool:
    return dialect.order is Order.FIRST or not dialect.allow_wins_ties


def _is_for_all(section: Section) -> bool:
    return any(STAR in names for names in section.names)


def _lines_of(section: Section, lines: list[bytes], dialect: Dialect) -> Iterator[str]:
    """The agents, each run with its own Crawl-delay and the like, then the rules."""
    start = 0
    for members in section.members:
        yield from _agents(section.agents[start : members.end])
        yield from map(_member, _to_write(members, section))
        start = members.end
    yield from _agents(section.agents[start:])
    for _, allow, pattern in read_rules(section.rules, lines, dialect):
        yield f"{'Allow' if allow else 'Disallow'}: {_pattern(pattern)}"


def _agents(values: Iterable[bytes]) -> Iterator[str]:
    """User-agent lines; octets that are not UTF-8 become what names are read from."""
    return (f"User-agent: {value.decode('utf-8', 'replace')}" for value in values)


def _to_write(members: Members, section: Section) -> list[Line]:
    """The lines with a valid value. If none has one, any line keeps the next agents apart."""
    valid = list(filter(_is_valid, members.lines))
    return valid or (members.lines[:1] if members.end < len(section.agents) else [])


def _is_valid(line: Line) -> bool:
    read = _READERS.get(line.kind)
    return read is None or read(line.value) is not None


def _member(line: Line) -> str:
    return f"{line.kind.key.capitalize()}: {text(line.value)}"


def _pattern(octets: bytes) -> str:
    """A rule's value. Octets that are not UTF-8 are escaped: all dialects take both for equal."""
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return upper(octets).decode()
