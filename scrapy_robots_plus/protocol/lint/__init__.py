"""The meaning of each line of a robots.txt to the engine, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from scrapy_robots_plus.protocol.dialect import RFC9309, Dialect, dialect_named
from scrapy_robots_plus.protocol.octets import Body
from scrapy_robots_plus.protocol.product_token import Agent, as_names
from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from .faults import Code, Finding, faults
from .reading import Meaning, Reading, meanings

__all__ = ["Code", "Finding", "LintedFile", "Meaning", "lint"]


_MOST = 50_000
"""The most findings of a file. Of 2,736 real files, none had more than 1,400."""


@dataclass(frozen=True)
class LintedFile:
    """A robots.txt, explained and checked (RFC 9309). Made by :func:`lint`."""

    findings: tuple[Finding, ...]
    """What is wrong, by line; findings about the whole file come first."""
    _reading: Reading = field(repr=False)

    @property
    def dialect(self) -> Dialect:
        """The dialect in which the file was read."""
        return self._reading.dialect

    @cached_property
    def lines(self) -> tuple[Meaning, ...]:
        """The meaning of each line, in file order."""
        return tuple(meanings(self._reading))

    def groups_of(self, agent: Agent) -> tuple[int, ...]:
        """Returns the numbers, from 1, of the groups that count for a crawler; empty if none."""
        chosen = self._reading.scanned.groups_for(as_names(agent))
        return tuple(position + 1 for position in chosen)


def lint(
    body: Body,
    dialect: Dialect | str = RFC9309,
    charset: str | None = None,
    max_bytes: int | None = MAX_BYTES,
) -> LintedFile:
    """Explains and checks a robots.txt. Never raises because of what a file contains.

    *dialect* may be a name, as ``ROBOTS_DIALECT`` takes it. Only GOOGLE and other dialects that are
    ``forgiving`` are kept; in place of any other, the file is read as RFC 9309 says. Raises
    ValueError, listing the known names, for any other name; TypeError for a body of another type,
    such as a path.

    *charset* is from the Content-Type header, if it has one. Of a longer body, only the lines that
    end within the first *max_bytes* octets are read (RFC 9309 2.5; by default 512,000). Of a file
    that is made to have more findings, 50,000 are listed.
    """
    dialect = dialect_named(dialect)
    if not dialect.forgiving:
        dialect = RFC9309
    reading = Reading(body, dialect, charset, max_bytes)
    found = islice(faults(reading), _MOST)
    in_order = sorted(found, key=lambda each: (each.line or 0, each.code))
    return LintedFile(tuple(in_order), reading)
