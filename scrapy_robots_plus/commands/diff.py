"""``scrapy robots diff``: what became allowed or denied from one robots.txt to another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy_robots_plus.origins.parsers import charset_of
from scrapy_robots_plus.protocol import Dialect, Reason, RobotsTxt, Verdict
from scrapy_robots_plus.protocol.access import Access, is_definite
from scrapy_robots_plus.protocol.difference import Difference, difference

from .inputs import AGENT, DIALECT, JSON, argument
from .project import Source
from .subcommand import Exit, Facts, Subcommand, named, shown, titled

BEFORE = argument("before", metavar="A", help="the copy before")
AFTER = argument("after", metavar="B", help="the copy after")


class Diff(Subcommand):
    """Show what became allowed or denied from one robots.txt to another.

    A and B: a file, - for standard input, a site such as https://site.example, or
    store:https://site.example, which is the copy in ROBOTS_STORE. Exit status: 0 if nothing
    changed, 1 if something did, 2 if a copy cannot be read, or if there are so many rules that the
    comparison was stopped before it found a change.
    """

    arguments = BEFORE, AFTER, AGENT, DIALECT, JSON

    def run(self) -> None:
        names = self.given.before, self.given.after
        sources = self.project.read(names, anew=True)
        for source in sources:
            self.tell_if_cut(source.record)
        policies = [source.policy for source in sources]
        about = next((each for each in policies if each.settings.override), policies[1])
        dialect, agent = self.project.dialect_for(about), self.project.agent_for(about)
        old, new = (_read(source, dialect) for source in sources)
        found = difference(old, new, agent)
        before, after = (policy.access for policy in policies)
        differs = bool(found) or before is not after  # also if a file has come or gone
        copies = zip(("before", "after"), map(_copy, names, sources), strict=True)
        head = [*copies, ("agent", named(agent))]
        # A file that cannot be read has no terms to compare.
        terms = [] if Access.UNREACHABLE in (before, after) else list(_terms(found))
        fields = {
            "differs": differs,
            "complete": found.complete,
            "paths": [
                {
                    "became": "allowed" if change.allowed else "denied",
                    "examples": change.examples,
                    "before": _decided(change.before, before),
                    "after": _decided(change.after, after),
                }
                for change in found.paths
            ],
            "facts": [*head, *terms],
        }
        self.show([fields], _in_words(fields, head, terms))
        are_read = all(is_definite(source.record.outcome) for source in sources)
        if are_read and differs:
            self.note(Exit.FOUND)
        elif not (are_read and found.complete):
            self.note(Exit.UNDECIDED)


def _copy(name: str, source: Source) -> str:
    return name if source.is_file else f"{name} ({source.policy.in_words})"


def _read(source: Source, dialect: Dialect) -> RobotsTxt:
    """Returns the rules of a copy; without a file, rules that have the same effect."""
    access, record = source.policy.access, source.record
    if access is not Access.RULES:
        return RobotsTxt.parse("User-agent: *\nDisallow: /" if access is Access.UNREACHABLE else "")
    return RobotsTxt.parse(record.body, dialect, charset_of(record.headers))


def _decided(verdict: Verdict, access: Access) -> dict[str, Any]:
    """Returns the reason of *verdict* and its rule, which is None if there is no file."""
    if access is not Access.RULES:
        verdict = Verdict(verdict.allowed, Reason[access.name])
    return {"reason": verdict.reason, "rule": verdict.rule, "line": verdict.line}


# In words

_WORDS = {
    Reason.NO_RULE: "no rule",
    Reason.NO_GROUP: "no group",
    Reason.ROBOTS_TXT: "always allowed",
    Reason.UNAVAILABLE: "no robots.txt",
    Reason.UNREACHABLE: "robots.txt unreadable",
}


def _in_words(fields: dict[str, Any], head: Facts, terms: Facts) -> Iterator[str]:
    yield from titled(head)
    for word in ("denied", "allowed"):
        changes = [each for each in fields["paths"] if each["became"] == word]
        if changes:
            yield from ("", f"became {word} ({len(changes):,})")
        for change in changes:
            yield "  " + " ".join(shown(path) for path in change["examples"])
            yield f"      {_because(change['before'])} -> {_because(change['after'])}"
    if terms:
        yield from ("", *titled(terms))
    if not fields["differs"]:
        yield from ("", "no difference" if fields["complete"] else "no difference was found")
    if not fields["complete"]:
        words = "too many rules, so the comparison was stopped; more may have changed"
        yield from ("", f"not complete: {words}")


def _because(decided: dict[str, Any]) -> str:
    if decided["rule"] is None:
        return _WORDS[decided["reason"]]
    return f"{shown(decided['rule'])} (line {decided['line']})"


def _terms(found: Difference) -> Iterator[tuple[str, str]]:
    """Yields what changed besides rules, as pairs of a title and words."""
    before, after = found.before, found.after
    changes = {
        "group": (", ".join(before.names), ", ".join(after.names)),
        "crawl-delay": (_seconds(before.crawl_delay), _seconds(after.crawl_delay)),
        "request-rate": (before.request_rate, after.request_rate),
        "visit-time": (before.visit_time, after.visit_time),
    }
    for title, (old, new) in changes.items():
        if old != new:
            yield title, f"{old or 'none'} -> {new or 'none'}"
    yield from (("sitemap", f"- {url}") for url in sorted(before.sitemaps - after.sitemaps))
    yield from (("sitemap", f"+ {url}") for url in sorted(after.sitemaps - before.sitemaps))


def _seconds(delay: float | None) -> str | None:
    return None if delay is None else f"{delay:.15g} s"
