"""``scrapy robots check``: a verdict for each URL."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.retrieval import Retrieval
from scrapy_robots_plus.protocol.verdict import Reason, Verdict

from .ahead import TURN, asked_ahead
from .answers import STYLES, fields_of, origin_of, word_for
from .project import cut_in_words
from .subcommand import Exit, Subcommand, add_agent, add_dialect, add_file, add_json, read_file
from .urls import Urls, add_urls

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.storage.record import RobotsRecord

    from .output import Output
    from .project import Project


class Answer(NamedTuple):
    """What one line of the output says."""

    url: str
    verdict: Verdict | None
    """None if it is not a URL."""
    problem: str = ""
    """Why it is not."""

    @property
    def word(self) -> str:
        return "undecided" if self.verdict is None else word_for(self.verdict)


class Check(Subcommand):
    """Verdicts in the order of the URLs, in constant memory."""

    name = "check"
    syntax = "URL... | --input FILE [--agent NAME] [--dialect NAME] [--file ROBOTS.TXT] [--json]"
    help = "Say whether each URL is allowed, and why"
    details = (
        "Exit status: 0 if all are allowed, 1 if any is denied, 2 if any is undecided because its "
        "robots.txt cannot be read or it is not a URL."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_urls(parser)
        add_agent(parser)
        add_dialect(parser)
        add_file(parser)
        add_json(parser)

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:
        urls = Urls(arguments)
        report = _Report(output, as_json=arguments.json)
        if arguments.file is not None:
            for answer in _answers_by_file(urls, project, arguments.file, report):
                report.add(answer)
            return report.status

        async def work(crawl: Crawl) -> int:
            crawl.get(Retrieval).subscribe(lambda found: report.note(found.record, project))
            async for url in asked_ahead(urls.arriving(), crawl.get(Policies)):
                report.add(await _answer(url, crawl.get(Policies), project))
            return report.status

        return project.ask(work)


class _Report:
    """Prints the answers, and counts them."""

    def __init__(self, output: Output, *, as_json: bool) -> None:
        self._output = output
        self._as_json = as_json
        self._counts: Counter[str] = Counter()

    def add(self, answer: Answer) -> None:
        self._counts[answer.word] += 1
        if self._as_json:
            self._output.json(_fields(answer))
        else:
            style = STYLES[answer.word]
            self._output.line((f"{answer.word:9} ", style), answer.url, f"  ({_why(answer)})")
        if self._counts.total() % TURN == 0:
            self._output.progress(", ".join(f"{n:,} {word}" for word, n in self._counts.items()))

    def note(self, record: RobotsRecord, project: Project) -> None:
        """Says on standard error if the end of a file was not read."""
        if text := cut_in_words(record, project.robots):
            self._output.error(text)

    @property
    def status(self) -> Exit:
        if self._counts["undecided"]:
            return Exit.UNDECIDED
        return Exit.FOUND if self._counts["denied"] else Exit.OK


def _why(answer: Answer) -> str:
    return answer.problem if answer.verdict is None else answer.verdict.describe()


def _fields(answer: Answer) -> dict[str, object]:
    if answer.verdict is None:
        return {"url": answer.url, "result": answer.word, "problem": answer.problem}
    return {"url": answer.url, **fields_of(answer.verdict)}


def _answers_by_file(urls: Urls, project: Project, name: str, report: _Report) -> Iterator[Answer]:
    body = read_file(name)
    policy: Policy | None = None
    for url in urls:
        try:
            requested, origin = origin_of(url)
        except ValueError as error:
            yield Answer(url, None, str(error))
            continue
        if origin is None:
            yield Answer(url, Verdict(allowed=True, reason=Reason.NOT_HTTP))
            continue
        if policy is None:
            record = project.record_of(body, name, origin)
            policy = project.policy_of(record)
            report.note(record, project)
        yield Answer(url, policy.verdict(requested, project.agent))


async def _answer(url: str, policies: Policies, project: Project) -> Answer:
    try:
        return Answer(url, await policies.verdict(url, project.named_agent))
    except ValueError as error:
        return Answer(url, None, str(error))
