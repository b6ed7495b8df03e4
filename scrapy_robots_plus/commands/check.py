"""``scrapy robots check``: a verdict for each URL."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.retrieval import Retrieval
from scrapy_robots_plus.protocol.verdict import Reason, Verdict

from .project import cut_in_words
from .subcommand import AGENT, DIALECT, FILE, JSON, Exit, Subcommand, read_file
from .urls import STYLES, TURN, URLS, Urls, asked_ahead, fields_of, origin_of, word_for

if TYPE_CHECKING:
    from argparse import Namespace

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.storage.record import RobotsRecord

    from .output import Output
    from .project import Project


class Check(Subcommand):
    """Verdicts in the order of the URLs, in constant memory."""

    help = "Say whether each URL is allowed, and why"
    details = (
        "Exit status: 0 if all are allowed, 1 if any is denied, 2 if any is undecided because its "
        "robots.txt cannot be read or it is not a URL."
    )
    arguments = (*URLS, AGENT, DIALECT, FILE, JSON)

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:
        urls, report = Urls(arguments), _Report(arguments, project, output)
        if arguments.file is not None:
            report.judge_by_file(urls, arguments.file)
            return report.status

        async def work(crawl: Crawl) -> int:
            crawl.get(Retrieval).subscribe(lambda found: report.note(found.record))
            async for url in asked_ahead(urls.arriving(), crawl.get(Policies)):
                try:
                    report.add(url, await crawl.get(Policies).verdict(url, project.named_agent))
                except ValueError as error:
                    report.add(url, error)
            return report.status

        return project.ask(work)


class _Report:
    """Prints the answers, and counts them."""

    def __init__(self, arguments: Namespace, project: Project, output: Output) -> None:
        self._as_json = arguments.json
        self._project = project
        self._output = output
        self._counts: Counter[str] = Counter()

    def judge_by_file(self, urls: Urls, name: str) -> None:
        """Adds an answer for each of *urls*, by the rules in the file *name*."""
        body = read_file(name)
        policy: Policy | None = None
        for url in urls:
            try:
                requested, origin = origin_of(url)
            except ValueError as error:
                self.add(url, error)
                continue
            if origin is None:
                self.add(url, Verdict(allowed=True, reason=Reason.NOT_HTTP))
                continue
            if policy is None:
                record = self._project.record_of(body, name, origin)
                policy = self._project.policy_of(record)
                self.note(record)
            self.add(url, policy.verdict(requested, self._project.agent))

    def add(self, url: str, answer: Verdict | ValueError) -> None:
        """Prints a verdict, or why *url* is not a URL."""
        if isinstance(answer, Verdict):
            word, why, fields = word_for(answer), answer.describe(), fields_of(answer)
        else:
            word, why = "undecided", str(answer)
            fields = {"result": word, "problem": why}
        self._counts[word] += 1
        if self._as_json:
            self._output.json({"url": url, **fields})
        else:
            self._output.line((f"{word:9} ", STYLES[word]), url, f"  ({why})")
        if self._counts.total() % TURN == 0:
            self._output.progress(", ".join(f"{n:,} {word}" for word, n in self._counts.items()))

    def note(self, record: RobotsRecord) -> None:
        """Says on standard error if the end of a file was not read."""
        if text := cut_in_words(record, self._project.robots):
            self._output.error(text)

    @property
    def status(self) -> Exit:
        if self._counts["undecided"]:
            return Exit.UNDECIDED
        return Exit.FOUND if self._counts["denied"] else Exit.OK
