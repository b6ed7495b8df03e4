"""The differences between two policies of an origin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.access import Access

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.product_token import AgentNames

    from .policy import Policy


@dataclass(frozen=True, slots=True)
class RobotsChange:
    """How a robots.txt changed for this crawler (RFC 9309 2.4).

    Rules are given as ``Disallow: /path``. All are empty if the parser in use does not name its
    rules; the policies still tell that there is a change.
    """

    tightened: tuple[str, ...] = ()
    """New Disallow rules, and removed Allow rules."""
    loosened: tuple[str, ...] = ()
    """Removed Disallow rules, and new Allow rules."""
    added: tuple[str, ...] = ()
    """New sitemaps."""


def change_between(before: Policy, after: Policy, agent: AgentNames) -> RobotsChange | None:
    """What changed for *agent* from *before* to *after*; None if nothing did."""
    same_rules = before.file is after.file
    if same_rules and before.access is after.access:
        return None
    old, new = _rules(before, agent), _rules(after, agent)
    gone, come = old - new, new - old
    known = set(before.sitemaps)
    return RobotsChange(
        tightened=_named(come, allow=False) + _named(gone, allow=True),
        loosened=_named(gone, allow=False) + _named(come, allow=True),
        added=tuple(url for url in after.sitemaps if url not in known),
    )


def _rules(policy: Policy, agent: AgentNames) -> set[tuple[bool, str]]:
    if policy.access is Access.UNREACHABLE:
        return {(False, "/")}
    rules = policy.parsed.rules(agent) if policy.parsed else ()
    return {(rule.allow, rule.pattern) for rule in rules if rule.pattern}


def _named(rules: set[tuple[bool, str]], *, allow: bool) -> tuple[str, ...]:
    word = "Allow" if allow else "Disallow"
    return tuple(f"{word}: {pattern}" for kind, pattern in sorted(rules) if kind is allow)
