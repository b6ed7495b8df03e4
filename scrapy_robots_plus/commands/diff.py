"""``scrapy robots diff``: what became allowed or denied from one robots.txt to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.origins.parsers import charset_of
from scrapy_robots_plus.protocol import Dialect, Reason, RobotsTxt, Verdict
from scrapy_robots_plus.protocol.access import Access, is_definite
from scrapy_robots_plus.protocol.difference import Terms, difference
from scrapy_robots_plus.protocol.printable import printable

from .output import named, picked
from .subcommand import AGENT, DIALECT, JSON, Exit, Subcommand, argument

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .project import Source

_MOST = 20
"""Changes that are shown in each direction."""

BEFORE = argument("before", metavar="A", help="the copy before")
AFTER = argument("after", metavar="B", help="the copy after")


class Diff(Subcommand):
    """Show what became allowed or denied from one robots.txt to another.

    A and B: a file, - for standard input, a site such as https://site.example, or
    store:https://site.example, which is the copy in ROBOTS_STORE. Exit status: 0 if nothing
    changed, 1 if something did, 2 if a copy cannot be read, or if there are so many rules that the
    comparison was ended before it found a change.
    """

    arguments = BEFORE, AFTER, AGENT, DIALECT, JSON

    def run(self) -> None:
        names = self.given.before, self.given.after
        sources = self.project.read(names, anew=True)
        policies = [source.policy for source in sources]
        about = next((each for each in policies if each.settings.override), policies[1])
        dialect, agent = self.project.dialect_for(about), self.project.agent_for(about)
        old, new = (_read(source, dialect) for source in sources)
        found = difference(old, new, agent)
        before, after = (policy.access for policy in policies)
        fields = {
            "agent": agent,
            "differs": bool(found) or before is not after,  # also that there is a file now
            "complete": found.complete,
            "before": _copy_fields(names[0], sources[0], found.before),
            "after": _copy_fields(names[1], sources[1], found.after),
            "paths": [
                {
                    "became": "allowed" if change.allowed else "denied",
                    "examples": change.examples,
                    "before": _decided(change.before, before),
                    "after": _decided(change.after, after),
                }
                for change in found.paths
            ],
            **picked(found, "sitemaps_removed", "sitemaps_added"),
        }
        self.show([fields], _in_words(fields))
        if not all(is_definite(source.record.outcome) for source in sources):
            self.note(Exit.UNDECIDED)
        elif fields["differs"]:
            self.note(Exit.FOUND)
        elif not found.complete:
            self.note(Exit.UNDECIDED)


def _copy_fields(name: str, source: Source, terms: Terms) -> dict[str, Any]:
    return {
        "name": name,
        "in_words": None if source.is_file else source.policy.in_words,
        "access": source.policy.access,
        "user_agents": terms.names if source.policy.access is Access.RULES else (),
        "crawl_delay": terms.crawl_delay,
        "request_rate": None if terms.request_rate is None else str(terms.request_rate),
        "visit_time": None if terms.visit_time is None else str(terms.visit_time),
    }


_DENIES_ALL = "User-agent: *\nDisallow: /"


def _read(source: Source, dialect: Dialect) -> RobotsTxt:
    """The rules of a copy; without a file, rules that mean the same."""
    access, record = source.policy.access, source.record
    if access is not Access.RULES:
        return RobotsTxt.parse(_DENIES_ALL if access is Access.UNREACHABLE else "")
    return RobotsTxt.parse(record.body, dialect, charset_of(record.headers))


def _decided(verdict: Verdict, access: Access) -> dict[str, Any]:
    """What decided, which is no rule if there is no file."""
    if access is not Access.RULES:
        verdict = Verdict(verdict.allowed, Reason[access.name])
    return picked(verdict, "reason", "rule", "line")


# In words

_SHOWN = 200
"""Characters of a rule or a path that are shown; JSON has them whole."""
_TERMS = {
    "group": "user_agents",
    "crawl-delay": "crawl_delay",
    "request-rate": "request_rate",
    "visit-time": "visit_time",
}
"""What a file says besides rules and sitemaps, by its title."""
_WORDS = {
    Reason.NO_RULE: "no rule",
    Reason.NO_GROUP: "no group",
    Reason.ROBOTS_TXT: "always allowed",
    Reason.UNAVAILABLE: "no robots.txt",
    Reason.UNREACHABLE: "robots.txt unreadable",
}


def _in_words(fields: dict[str, Any]) -> Iterator[str]:
    for title in ("before", "after"):
        name, words = fields[title]["name"], fields[title]["in_words"]
        yield f"{title:7} {name} ({words})" if words else f"{title:7} {name}"
    yield f"agent   {named(fields['agent'])}"
    for word in ("denied", "allowed"):
        changes = [each for each in fields["paths"] if each["became"] == word]
        if changes:
            yield from ("", f"became {word} ({len(changes):,})")
        for change in changes[:_MOST]:
            yield "  " + " ".join(printable(path, _SHOWN) for path in change["examples"])
            yield f"      {_because(change['before'])} -> {_because(change['after'])}"
        yield from _left_out(changes)
    if terms := list(_terms(fields)):
        yield from ("", *terms)
    if not fields["differs"]:
        yield from ("", "no difference" if fields["complete"] else "no difference was found")
    if not fields["complete"]:
        words = "so many rules that the comparison was ended; more may have changed"
        yield from ("", f"not complete: {words}")


def _because(decided: dict[str, Any]) -> str:
    if decided["rule"] is None:
        return _WORDS[decided["reason"]]
    return f"{printable(decided['rule'], _SHOWN)} (line {decided['line']})"


def _terms(fields: dict[str, Any]) -> Iterator[str]:
    """What changed besides rules. A file that cannot be read says nothing of it."""
    before, after = fields["before"], fields["after"]
    if Access.UNREACHABLE in (before["access"], after["access"]):
        return
    for title, name in _TERMS.items():
        if before[name] != after[name]:
            yield f"{title:12} {_term(before[name])} -> {_term(after[name])}"
    for mark, urls in (("-", fields["sitemaps_removed"]), ("+", fields["sitemaps_added"])):
        yield from (f"sitemap      {mark} {url}" for url in urls[:_MOST])
        yield from _left_out(urls)


def _term(said: object) -> str:
    if not said and said != 0:
        return "none"
    if isinstance(said, tuple):
        return ", ".join(said)
    return f"{said:.15g} s" if isinstance(said, float) else str(said)


def _left_out(changes: Sequence[object]) -> Iterator[str]:
    if len(changes) > _MOST:
        yield f"  and {len(changes) - _MOST:,} more"
