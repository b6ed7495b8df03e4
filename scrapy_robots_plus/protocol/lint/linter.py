"""The linter: each line of a robots.txt with its meaning, and findings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.dialect import RFC9309, Dialect, dialect_named
from scrapy_robots_plus.protocol.lines.octets import as_body
from scrapy_robots_plus.protocol.product_token import as_names
from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from .faults.groups import group_faults
from .faults.octets import octet_faults
from .faults.paths import path_faults
from .faults.preferences import opposite_preferences
from .faults.records import record_faults
from .faults.shadows import rule_shadows
from .findings import Finding
from .meanings import Meaning, meanings
from .reading import read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol.lines.octets import Body
    from scrapy_robots_plus.protocol.product_token import Agent

    from .findings import Code
    from .reading import Reading

_LISTED = 10_000
"""So many findings of a code are listed."""


@dataclass(frozen=True)
class LintedFile:
    """A robots.txt, explained and checked (RFC 9309). Made by :func:`lint`."""

    findings: tuple[Finding, ...]
    """What is wrong, by line; what concerns the whole file comes first."""
    _reading: Reading = field(repr=False)

    @property
    def dialect(self) -> Dialect:
        """The dialect in which it was read."""
        return self._reading.dialect

    @cached_property
    def lines(self) -> tuple[Meaning, ...]:
        """What each line means, in file order."""
        return tuple(meanings(self._reading))

    def groups_of(self, agent: Agent) -> tuple[int, ...]:
        """The numbers, from 1, of the groups that count for a crawler; empty if none does."""
        chosen = set().union(*self._reading.choice.groups_for(as_names(agent)))
        return tuple(position + 1 for position in sorted(chosen))

    def with_finding(self, finding: Finding) -> LintedFile:
        """The same file with one more *finding*, of somebody who knows more about it."""
        return replace(self, findings=(finding, *self.findings))


def lint(
    body: Body,
    dialect: Dialect | str = RFC9309,
    charset: str | None = None,
    max_bytes: int | None = MAX_BYTES,
) -> LintedFile:
    """Explains and checks a robots.txt. Never raises, whatever it contains.

    ``dialect`` may be a name, as ``ROBOTS_DIALECT`` takes it. Raises ValueError, listing the names
    there are, for any other; TypeError for a body of another type, such as a path.

    ``charset`` is from the Content-Type header, if it has one. Of a longer body, only the lines
    that end within the first ``max_bytes`` octets are read (RFC 9309 2.5; by default 512,000).

    Of more than 10,000 findings with the same code, the others are counted, in a finding without a
    line. A file that is made to take long is not searched for all rules that change nothing; it
    then has a finding ``not-checked``.
    """
    dialect = dialect_named(dialect)
    reading = read(as_body(body), dialect, charset, max_bytes)
    findings = sorted(_listed(_findings(reading)), key=lambda each: (each.line or 0, each.code))
    return LintedFile(tuple(findings), reading)


def _findings(reading: Reading) -> Iterator[Finding]:
    return chain(
        octet_faults(reading),
        record_faults(reading),
        group_faults(reading),
        path_faults(reading),
        opposite_preferences(reading),
        rule_shadows(reading),
    )


def _listed(findings: Iterator[Finding]) -> Iterator[Finding]:
    """The first findings of each code, and for the others how many there are."""
    found: Counter[Code] = Counter()
    for finding in findings:
        found[finding.code] += finding.line is not None
        if found[finding.code] <= _LISTED:
            yield finding
    for code, number in found.items():
        if number > _LISTED:
            words = f"{number - _LISTED:,} more findings of this kind are not listed."
            yield Finding(None, code, words)
