"""``scrapy robots check``: a verdict for each URL, and what is printed of a verdict."""

from __future__ import annotations

from typing import Any

from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.origins.store_or_site import Retrieval
from scrapy_robots_plus.protocol.printable import picked
from scrapy_robots_plus.protocol.verdict import Reason, Verdict

from .inputs import AGENT, DIALECT, FILE, JSON, URLS, Asked, urls_in, with_policies
from .subcommand import Exit, Subcommand

EXITS = {"allowed": Exit.OK, "denied": Exit.FOUND, "undecided": Exit.UNDECIDED}
"""The exit status for each word that :func:`word_for` returns."""


def word_for(verdict: Verdict) -> str:
    """Returns ``allowed``, ``denied``, or ``undecided`` if the robots.txt cannot be read."""
    if verdict.allowed:
        return "allowed"
    return "undecided" if verdict.reason.is_unread else "denied"


def fields_of(verdict: Verdict) -> dict[str, Any]:
    """Returns the fields of *verdict* for ``--json``."""
    return {
        "result": word_for(verdict),
        **picked(verdict, "allowed", "reason", "rule", "line", "group", "robots_url"),
        "status": verdict.outcome,
        **picked(verdict, "delay", "form", "override"),
    }


class Check(Subcommand):
    """Say whether each URL is allowed, and why.

    Exit status: 0 if all are allowed, 1 if any is denied, 2 if any is undecided because its
    robots.txt cannot be read or it is not a URL.
    """

    # Prints the verdicts in the order of the URLs, in constant memory.

    arguments = URLS, AGENT, DIALECT, FILE, JSON

    def run(self) -> None:
        self._urls = urls_in(self.given)
        if self.given.file is None:
            self.project.ask(self._ask)
            return
        source = self.project.file(self.given.file)
        self.tell_if_cut(source.record)
        for asked in map(Asked.about, self._urls):
            self._add(asked, source.policy if asked.origin else None)  # for any site

    async def _ask(self, crawl: Crawl) -> None:
        crawl.get(Retrieval).listeners.append(lambda found: self.tell_if_cut(found.record))
        async for asked, policy in with_policies(self._urls, crawl):
            self._add(asked, policy)

    def _add(self, asked: Asked, policy: Policy | None) -> None:
        verdict = Verdict(allowed=True, reason=Reason.NOT_HTTP)
        if policy is not None:
            verdict = policy.verdict(asked.requested, self.project.agent_for(policy))
        word, why = word_for(verdict), verdict.describe()
        fields: dict[str, Any] = fields_of(verdict)
        if asked.problem:
            word, why = "undecided", asked.problem
            fields = {"result": word, "problem": why}
        self.note(EXITS[word])
        self.show([{"url": asked.url, **fields}], [f"{word:9} {asked.url}  ({why})"])
