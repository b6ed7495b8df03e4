"""``scrapy robots check``: a verdict for each URL."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.retrieval import Retrieval
from scrapy_robots_plus.protocol.verdict import Reason, Verdict

from . import urls
from .subcommand import AGENT, DIALECT, FILE, JSON, Subcommand

if TYPE_CHECKING:
    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.storage.base import RobotsRecord

    from .project import Source


class Check(Subcommand):
    """Say whether each URL is allowed, and why.

    Exit status: 0 if all are allowed, 1 if any is denied, 2 if any is undecided because its
    robots.txt cannot be read or it is not a URL.
    """

    # Verdicts in the order of the URLs, in constant memory.

    arguments = urls.URLS, AGENT, DIALECT, FILE, JSON

    def run(self) -> None:
        self._counts: Counter[str] = Counter()
        self._asked = urls.urls_in(self.given)
        if self.given.file is None:
            self.project.ask(self._ask)
            return
        source = self.file(self.given.file)
        self._note(source.record)
        for url in self._asked:
            self._add(url, self._by(source, url))

    async def _ask(self, crawl: Crawl) -> None:
        policies = crawl.get(Policies)
        crawl.get(Retrieval).subscribe(lambda found: self._note(found.record))
        async for url in urls.asked_ahead(urls.arriving(self._asked), policies):
            try:
                self._add(url, await policies.verdict(url, self.project.named_agent))
            except ValueError as error:
                self._add(url, error)

    def _by(self, source: Source, url: str) -> Verdict | ValueError:
        """The verdict of one file, whatever the site."""
        try:
            requested, origin = urls.origin_of(url)
        except ValueError as error:
            return error
        if origin is None:
            return Verdict(allowed=True, reason=Reason.NOT_HTTP)
        return source.policy.verdict(requested, self.project.agent)

    def _add(self, url: str, answer: Verdict | ValueError) -> None:
        """Prints a verdict, or why *url* is not a URL."""
        if isinstance(answer, Verdict):
            word, why, fields = urls.word_for(answer), answer.describe(), urls.fields_of(answer)
        else:
            word, why = "undecided", str(answer)
            fields = {"result": word, "problem": why}
        self._counts[word] += 1
        self.note(urls.EXITS[word])
        line = (f"{word:9} ", urls.STYLES[word]), url, f"  ({why})"
        self.show({"url": url, **fields}, [line])
        if self._counts.total() % urls.TURN == 0:
            self.output.progress(", ".join(f"{n:,} {word}" for word, n in self._counts.items()))

    def _note(self, record: RobotsRecord) -> None:
        """Says on standard error if the end of a file was not read."""
        if record.is_cut:
            most = f"{self.project.robots.fetch_max_bytes:,} bytes (ROBOTS_FETCH_MAX_BYTES)"
            self.output.error(f"{record.url} is longer than {most}; the rest is ignored")
