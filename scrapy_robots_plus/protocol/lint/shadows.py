"""Rules that change nothing: wherever one matches, another one wins or says the same.

Two kinds are found among the rules that count for a crawler, merged (RFC 9309 2.2.1):

- *Beaten*: a stronger rule covers it (matches all its paths), so it never decides.
- *Needless*: a weaker rule S covers it and says the same, and no rule of the opposite outcome that
  lies between the two in strength has a path in common with it. S is the strongest that covers it,
  and so not beaten.

All of them can be removed, together or in part, and no verdict changes, as long as each group keeps
a rule that ends its user-agent lines. A rule that decides about a path is not beaten. If it is
needless and removed, its S is still there, or the S of that, and all that is stronger and matches
the path says the same.

Not all such rules are found: two rules that cover a third one only together are not tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.matcher import Pattern, Rank, allows, line_of, matches

from .findings import Code, Findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .reading import Reading

_MOST_STEPS = 2_000_000_000
"""Rules are compared with each other: octets times octets, of all crawlers together. That is up to
half a second."""

_OCTETS_OF_A_RULE = 20
"""Added to those of each rule: what a comparison takes however short it is."""

_Rule = tuple[Rank, Pattern, bytes]
"""A rule, its pattern taken apart, and the text of that."""

Shadow = tuple[Rank, bool]
"""Why a rule changes nothing: the rule that wins or says the same, and whether it wins."""


def rule_shadows(reading: Reading, findings: Findings) -> None:
    """Adds a finding for each rule that changes nothing for any crawler that it counts for."""
    steps, is_whole = _MOST_STEPS, True
    sizes = [
        sum(len(reading.records[number].value) + _OCTETS_OF_A_RULE for number in section.rules)
        for section in reading.sections
    ]
    found: dict[int, list[dict[int, Shadow]]] = {}
    for chosen in sorted({tuple(each) for each in reading.choice.by_name.values()}):
        needed = sum([sizes[position] for position in chosen]) ** 2
        shadows: dict[int, Shadow] = {}
        if needed <= steps:
            steps -= needed
            shadows = _shadows(sorted(_rules_of(chosen, reading), reverse=True))
        else:
            is_whole = False
        for position in chosen:
            found.setdefault(position, []).append(shadows)
    for position, each in found.items():
        for number in reading.sections[position].rules:
            if all(number in shadows for shadows in each):
                # What is said of it has to hold for all: it may be beaten for some only.
                by, wins = min(shadows[number] for shadows in each)
                words = "" if wins else "Line {} says the same about these paths: {}"
                text = reading.lines[line_of(by) - 1].partition(b"#")[0].strip()
                findings.add(number, Code.SHADOWED_RULE, line_of(by), text, words=words)
    if not is_whole:
        findings.add(None, Code.NOT_CHECKED)


def _rules_of(chosen: tuple[int, ...], reading: Reading) -> Iterator[_Rule]:
    """The rules of these groups that a URL can match; one line may stand for two."""
    for position in chosen:
        for number in reading.sections[position].rules:
            for rank, pattern in reading.patterns.get(number, ()):
                pattern = normal(pattern)
                yield rank, pattern, text_of(pattern)


def _shadows(rules: list[_Rule]) -> dict[int, Shadow]:
    """Why rules change nothing, by their lines; *rules*: the strongest first."""
    found: dict[int, Shadow] = {}
    alive: set[int] = set()
    for rule in rules:
        line, shadow = line_of(rule[0]), _shadow_of(rule, rules)
        if shadow is None:
            alive.add(line)
        elif line not in found or found[line][1]:
            found[line] = shadow
    # A line may stand for two patterns: both must change nothing, and it loses only if both do.
    return {line: shadow for line, shadow in found.items() if line not in alive}


def _shadow_of(rule: _Rule, rules: list[_Rule]) -> Shadow | None:
    rank, pattern, text = rule
    for by, covering, _ in rules:
        if matches(covering, text) and (by > rank or covering != pattern):
            break
    else:
        return None
    same = allows(by) is allows(rank)
    if by > rank or (same and not _is_contradicted(rule, by, rules)):
        return by, by > rank
    return None


def _is_contradicted(rule: _Rule, by: Rank, rules: list[_Rule]) -> bool:
    """Whether a rule between *by* and *rule* in rank says the opposite, and may match a path that
    *rule* matches."""
    rank, pattern, _ = rule
    return any(
        by < each < rank and allows(each) is not allows(rank) and not _disjoint(pattern, other)
        for each, other, _ in rules
    )


def normal(pattern: Pattern) -> Pattern:
    """One form for patterns that match the same paths. All paths begin with ``/``, so ``/*a`` is
    the same as ``*a``."""
    prefix, parts, tail = pattern
    if prefix == b"/" and tail != b"":
        first = parts[0] if parts else tail or b""
        if not first.startswith(b"/"):
            return b"", parts, tail
    return pattern


def text_of(pattern: Pattern) -> bytes:
    """The text of a pattern."""
    prefix, parts, tail = pattern
    return prefix if tail == b"" else b"*".join((prefix, *parts, tail or b""))


def _disjoint(first: Pattern, second: Pattern) -> bool:
    """Whether surely no path matches both."""
    if first[2] == b"":
        return not matches(second, first[0])
    if second[2] == b"":
        return not matches(first, second[0])
    size = min(len(first[0]), len(second[0]))
    if first[0][:size] != second[0][:size]:
        return True
    if first[2] is None or second[2] is None:
        return False
    size = min(len(first[2]), len(second[2]))
    return first[2][-size:] != second[2][-size:]
