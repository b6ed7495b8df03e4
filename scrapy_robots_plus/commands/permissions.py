"""``scrapy robots permissions``: what each URL may be used for, as a table for a data set card."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import Request

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.exceptions import RobotsIgnored
from scrapy_robots_plus.crawl.requests import STAMP_META_KEY
from scrapy_robots_plus.origins.permission import USES, Permission
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.verdict import Reason

from .subcommand import JSON, Exit, Subcommand, argument
from .urls import URLS, Urls, asked_ahead

if TYPE_CHECKING:
    from argparse import Namespace

    from scrapy_robots_plus.crawl.crawl import Crawl

    from .output import Output
    from .project import Project

_SHOWN = 200
"""Characters of what a site says that are in the table."""


class _Answer(NamedTuple):
    """What one row says."""

    url: str
    permission: Permission | None
    """None if it is not a URL."""
    problem: str = ""
    """Why it is not, or why its page could not be read."""
    stamp: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it
    """That of the page, if it was fetched."""

    @property
    def preference(self) -> str:
        """``denied`` if the page may not be fetched, whatever it may be used for."""
        found = self.permission
        if found is None:
            return "undecided"
        verdict = found.verdict
        if verdict.allowed or verdict.reason is Reason.AI_PREFERENCE:
            return found.preference
        return "undecided" if verdict.reason.is_unread else "denied"

    @property
    def source(self) -> str:
        found = self.permission
        if found is None or self.preference == "undecided":
            return "nobody could be asked"
        if self.preference == "denied":
            return "robots.txt"
        return "nobody" if found.statement is None else found.statement.source.value

    @property
    def words(self) -> str:
        found = self.permission
        if found is None or self.preference in ("undecided", "denied"):
            return self.problem if found is None else found.verdict.describe()
        return self.problem if found.statement is None else found.statement.text


class Permissions(Subcommand):
    """Fetches files of the sites, and pages to which these do not object."""

    help = "Say what the pages at some URLs may be used for, and who says so"
    details = (
        "Prints a table in Markdown, and how many URLs each source speaks of. Pages are fetched, "
        "as a crawl would, to read their headers and meta tags. Exit status: 0 if nobody objects, "
        "1 if anybody does or a page must not be fetched, 2 if anything could not be read."
    )

    arguments = (
        argument("--use", required=True, choices=USES, help="what the pages are to be used for"),
        *URLS,
        argument("--no-pages", action="store_true", help="ask robots.txt and tdmrep.json alone"),
        JSON,
    )

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:
        urls, use = Urls(arguments), arguments.use
        level = use.partition("=")[2]
        declared = {
            "ROBOTS_AI_USES": [] if level else [use],
            "ROBOTS_CONTENT_USE": level or None,
            "ROBOTS_AI_POLICY": "skip",
        }
        for name, value in declared.items():
            project.settings.set(name, value, "cmdline")
        table = _Table(use, output, as_json=arguments.json)

        async def work(crawl: Crawl) -> int:
            at_once = crawl.crawler.settings.getint("CONCURRENT_REQUESTS")
            running: deque[Any] = deque()
            async for url in asked_ahead(urls.arriving(), crawl.get(Policies)):
                answer = _answer(url, use, crawl, pages=not arguments.no_pages)
                running.append(compat.run_in_background(answer))
                if len(running) >= at_once:
                    table.add(await compat.wait_for(running.popleft()))
            while running:
                table.add(await compat.wait_for(running.popleft()))
            return table.end()

        return project.ask(work)


async def _answer(url: str, use: str, crawl: Crawl, *, pages: bool) -> _Answer:
    policies = crawl.get(Policies)
    try:
        found = await policies.may(url, use)
    except ValueError as error:
        return _Answer(url, None, str(error))
    if not pages or not found or found.verdict.reason is Reason.NOT_HTTP:
        return _Answer(url, found)
    request, where = Request(found.url, dont_filter=True), found.url
    stamp: dict[str, Any] = {}
    problem = ""
    try:
        response = await compat.engine_of(crawl.crawler).download_async(request)
        where, stamp = response.url, response.meta.get(STAMP_META_KEY) or {}
    except RobotsIgnored as error:
        where = error.url
    except Exception as error:  # noqa: BLE001 - any handler may be in use
        problem = f"its page could not be read: {str(error) or type(error).__name__}"
    return _Answer(url, await policies.may(where, use), problem, stamp)


class _Table:
    """Prints the answers, and counts them."""

    def __init__(self, use: str, output: Output, *, as_json: bool) -> None:
        self._use = use
        self._output = output
        self._as_json = as_json
        self._counts: Counter[tuple[str, str]] = Counter()
        self._has_problems = False
        if not as_json:
            self._rows(("URL", use, "said by", "words"), ("---",) * 4)

    def add(self, answer: _Answer) -> None:
        self._counts[answer.preference, answer.source] += 1
        self._has_problems |= bool(answer.problem)
        if self._as_json:
            self._output.json(self._fields(answer))
        else:
            self._rows((answer.url, answer.preference, answer.source, answer.words))

    def end(self) -> Exit:
        """Prints the sum; returns the exit status."""
        if not self._as_json:
            self._output.line()
            self._rows((self._use, "said by", "URLs"), ("---",) * 3)
            for (preference, source), count in sorted(self._counts.items()):
                self._rows((preference, source, f"{count:,}"))
        found = {preference for preference, _ in self._counts}
        if self._has_problems or "undecided" in found:
            return Exit.UNDECIDED
        return Exit.FOUND if found & {"disallow", "denied"} else Exit.OK

    def _rows(self, *rows: tuple[str, ...]) -> None:
        for row in rows:
            cells = (printable(each, _SHOWN).replace("|", "\\|") for each in row)
            self._output.line(f"| {' | '.join(cells)} |")

    def _fields(self, answer: _Answer) -> dict[str, Any]:
        found = answer.permission
        fields = {"url": answer.url, "use": self._use, "preference": answer.preference}
        if found is None:
            return {**fields, "problem": answer.problem}
        decisive = found.statement.as_dict() if found.statement else {}
        return {
            **fields,
            "source": decisive.get("source"),
            "text": decisive.get("text"),
            "line": decisive.get("line"),
            "allowed": found.verdict.allowed,
            "reason": found.verdict.reason,
            "statements": [each.as_dict() for each in found.statements],
            "tdm_policy": answer.stamp.get("tdm_policy"),
            "licenses": answer.stamp.get("licenses", []),
            "requested_at": answer.stamp.get("requested_at"),
            **({"problem": answer.problem} if answer.problem else {}),
        }
