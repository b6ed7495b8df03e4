"""``scrapy robots diff``: what became allowed or denied from one robots.txt to another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.origins.parsers import charset_of
from scrapy_robots_plus.protocol import Dialect, Reason, RobotsTxt, Verdict
from scrapy_robots_plus.protocol.access import Access, access_of, is_definite
from scrapy_robots_plus.protocol.difference import Difference, PathChange, Terms, difference
from scrapy_robots_plus.protocol.printable import printable

from .output import named, picked
from .project import Source
from .subcommand import AGENT, DIALECT, JSON, Exit, Subcommand, argument
from .urls import site_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol.origin import Origin

STORED = "store:"
"""Begins the name of a stored copy."""

_MOST = 20
"""Changes that are shown in each direction."""


class Diff(Subcommand):
    """Show what became allowed or denied from one robots.txt to another.

    A and B: a file, - for standard input, a site such as https://site.example, or
    store:https://site.example, which is the copy in ROBOTS_STORE. Exit status: 0 if nothing
    changed, 1 if something did, 2 if a copy cannot be read, or if there are so many rules that the
    comparison was ended before it found a change.
    """

    arguments = (
        argument("before", metavar="A", help="the copy before"),
        argument("after", metavar="B", help="the copy after"),
        AGENT,
        DIALECT,
        JSON,
    )

    def run(self) -> None:
        names = self.given.before, self.given.after
        # What a site has now, whatever a store has of it; and the store stays as it is.
        places = list(map(self._place, names))
        self.project.settings.set("ROBOTS_STORE", "memory", "cmdline")
        sources = self.project.read(places)
        dialect = self.project.robots.dialect
        old, new = (_read(source, dialect) for source in sources)
        found = difference(old, new, self.project.agent)
        before, after = (source.policy.access for source in sources)
        paths = (
            PathChange(_decided(each.before, before), _decided(each.after, after), each.examples)
            for each in found.paths
        )
        self._show(names, sources, replace(found, paths=tuple(paths)))

    def _place(self, name: str) -> Origin | Source:
        """The site or the copy that *name* names."""
        if name.startswith(STORED):
            return self._stored(site_of(name.removeprefix(STORED))[1])
        return site_of(name)[1] if "://" in name else self.file(name)

    def _stored(self, origin: Origin) -> Source:
        record = self.project.stored(origin)
        access = access_of(record.outcome, self.project.robots.status_policy)
        record = replace(record, access=access)
        return Source(self.project.policy_of(record), record)

    def _show(self, names: tuple[str, ...], sources: list[Source], found: Difference) -> None:
        agent, access = self.project.agent, [source.policy.access for source in sources]
        differs = bool(found) or access[0] is not access[1]  # also that there is a file now
        if not all(is_definite(source.record.outcome) for source in sources):
            self.note(Exit.UNDECIDED)
        elif differs:
            self.note(Exit.FOUND)
        elif not found.complete:
            self.note(Exit.UNDECIDED)
        copies = list(map(_copy_fields, names, sources, (found.before, found.after)))
        fields = {
            "agent": agent,
            "differs": differs,
            "complete": found.complete,
            "before": copies[0],
            "after": copies[1],
            "paths": list(map(_path_fields, found.paths)),
            **picked(found, "sitemaps_removed", "sitemaps_added"),
        }
        # An unreadable file says nothing: what it says besides rules has not changed to nothing.
        terms = [] if Access.UNREACHABLE in access else self._terms(fields)
        self.show([fields], self._lines(fields, found, list(terms)))

    def _lines(self, fields: dict[str, Any], found: Difference, terms: list[str]) -> Iterator[str]:
        for title in ("before", "after"):
            name, words = fields[title]["name"], fields[title]["in_words"]
            yield f"{title:7} {name} ({words})" if words else f"{title:7} {name}"
        yield f"agent   {named(fields['agent'])}"
        for title, changes in (
            ("became denied", found.became_denied),
            ("became allowed", found.became_allowed),
        ):
            if changes:
                yield from ("", f"{title} ({len(changes):,})")
            for change in changes[:_MOST]:
                yield "  " + " ".join(printable(path, _SHOWN) for path in change.examples)
                yield f"      {_because(change.before)} -> {_because(change.after)}"
            yield from _left_out(changes)
        if terms:
            yield from ("", *terms)
        if not fields["differs"]:
            yield from ("", "no difference" if found.complete else "no difference was found")
        if not found.complete:
            words = "so many rules that the comparison was ended; more may have changed"
            yield from ("", f"not complete: {words}")

    def _terms(self, fields: dict[str, Any]) -> Iterator[str]:
        """What changed besides rules."""
        for title, name in _TERMS.items():
            before, after = (_in_words(fields[copy][name]) for copy in ("before", "after"))
            if before != after:
                yield f"{title:12} {before} -> {after}"
        for mark, urls in (("-", fields["sitemaps_removed"]), ("+", fields["sitemaps_added"])):
            yield from (f"sitemap      {mark} {url}" for url in urls[:_MOST])
            yield from _left_out(urls)


def _left_out(changes: tuple[object, ...]) -> Iterator[str]:
    if len(changes) > _MOST:
        yield f"  and {len(changes) - _MOST:,} more"


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


def _decided(verdict: Verdict, access: Access) -> Verdict:
    """What decided, which is no rule if there is no file."""
    return verdict if access is Access.RULES else Verdict(verdict.allowed, Reason[access.name])


_WORDS = {
    Reason.NO_RULE: "no rule",
    Reason.NO_GROUP: "no group",
    Reason.ROBOTS_TXT: "always allowed",
    Reason.UNAVAILABLE: "no robots.txt",
    Reason.UNREACHABLE: "robots.txt unreadable",
}
_SHOWN = 200
"""Characters of a rule or a path that are shown; JSON has them whole."""


def _because(verdict: Verdict) -> str:
    if verdict.rule is None:
        return _WORDS[verdict.reason]
    return f"{printable(verdict.rule, _SHOWN)} (line {verdict.line})"


_TERMS = {
    "group": "user_agents",
    "crawl-delay": "crawl_delay",
    "request-rate": "request_rate",
    "visit-time": "visit_time",
}
"""What a file says besides rules and sitemaps, by its title."""


def _in_words(said: object) -> str:
    if not said and said != 0:
        return "none"
    if isinstance(said, tuple):
        return ", ".join(said)
    return f"{said:.15g} s" if isinstance(said, float) else str(said)


def _path_fields(change: PathChange) -> dict[str, Any]:
    return {
        "became": "allowed" if change.allowed else "denied",
        "examples": change.examples,
        "before": picked(change.before, "reason", "rule", "line"),
        "after": picked(change.after, "reason", "rule", "line"),
    }
