"""``scrapy robots check``: a verdict for each URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.store_or_site import Retrieval
from scrapy_robots_plus.protocol.verdict import Reason, Verdict

from . import urls
from .subcommand import AGENT, DIALECT, FILE, JSON, Subcommand

if TYPE_CHECKING:
    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.storage.record import RobotsRecord


class Check(Subcommand):
    """Say whether each URL is allowed, and why.

    Exit status: 0 if all are allowed, 1 if any is denied, 2 if any is undecided because its
    robots.txt cannot be read or it is not a URL.
    """

    # Verdicts in the order of the URLs, in constant memory.

    arguments = urls.URLS, AGENT, DIALECT, FILE, JSON

    def run(self) -> None:
        self._urls = urls.urls_in(self.given)
        if self.given.file is None:
            self.project.ask(self._ask)
            return
        source = self.file(self.given.file)
        self._note(source.record)
        for url in self._urls:
            asked = urls.Asked.about(url)
            verdict = Verdict(allowed=True, reason=Reason.NOT_HTTP)
            if asked.origin is not None:  # whatever the site
                verdict = source.policy.verdict(asked.requested, self.project.agent)
            self._add(asked, verdict)

    async def _ask(self, crawl: Crawl) -> None:
        policies = crawl.get(Policies)
        crawl.get(Retrieval).subscribe(lambda found: self._note(found.record))
        async for asked in urls.asked_ahead(self._urls, policies):
            verdict = None
            if not asked.problem:
                verdict = await policies.verdict(asked.url, self.project.named_agent)
            self._add(asked, verdict)

    def _add(self, asked: urls.Asked, verdict: Verdict | None) -> None:
        """Prints a verdict, or why there is none: the problem of what is not a URL."""
        if asked.problem or verdict is None:
            word, why = "undecided", asked.problem
            fields: dict[str, Any] = {"result": word, "problem": why}
        else:
            word, why, fields = urls.word_for(verdict), verdict.describe(), urls.fields_of(verdict)
        self.note(urls.EXITS[word])
        line = (f"{word:9} ", urls.STYLES[word]), asked.url, f"  ({why})"
        self.show({"url": asked.url, **fields}, [line])

    def _note(self, record: RobotsRecord) -> None:
        """Says on standard error if the end of a file was not read."""
        if record.is_cut:
            most = f"{self.project.robots.fetch_max_bytes:,} bytes (ROBOTS_FETCH_MAX_BYTES)"
            self.output.error(f"{record.url} is longer than {most}; the rest is ignored")
