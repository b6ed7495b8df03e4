"""``scrapy robots permissions``: what each URL may be used for, as a table for a data set card."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from scrapy import Request

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.events import RobotsIgnored
from scrapy_robots_plus.crawl.requests import STAMP_META_KEY
from scrapy_robots_plus.origins.policies import NOT_READ, USES, Policies
from scrapy_robots_plus.protocol.printable import picked
from scrapy_robots_plus.protocol.verdict import Reason
from scrapy_robots_plus.settings.checks import json_if_text

from .inputs import JSON, URLS, Asked, argument, urls_in, with_policies
from .subcommand import Exit, Subcommand, shown

_UNREAD = "its page could not be read: "


class Permissions(Subcommand):
    """Say what the pages at some URLs may be used for, and who says so.

    Prints a table in Markdown, and how many URLs each source speaks of. Pages are fetched, as a
    crawl would, to read their headers and meta tags. Exit status: 0 if nobody objects, 1 if anybody
    does or a page must not be fetched, 2 if anything could not be read.
    """

    # Fetches files of the sites, and pages if these files do not object.

    arguments = (
        argument("--use", required=True, choices=USES, help="what the pages are to be used for"),
        URLS,
        argument("--no-pages", action="store_true", help="ask robots.txt and tdmrep.json alone"),
        JSON,
    )

    def run(self) -> None:
        level = self.given.use.partition("=")[2]
        declared = {
            "ROBOTS_AI_USES": [] if level else [self.given.use],
            "ROBOTS_CONTENT_USE": level or None,
            "ROBOTS_AI_POLICY": "skip",
            "ROBOTS_OVERRIDES": _without_uses(self.project.settings["ROBOTS_OVERRIDES"]),
        }
        self.project.settings.setdict(declared, "cmdline")
        self._counts: Counter[tuple[str, str]] = Counter()
        self._asked = urls_in(self.given)
        self.project.ask(self._ask)

    async def _ask(self, crawl: Crawl) -> None:
        use = self.given.use
        self.show([], _head("URL", use, "said by", "words"))
        at_once = crawl.crawler.settings.getint("CONCURRENT_REQUESTS")
        running: deque[Any] = deque()
        async for asked, _ in with_policies(self._asked, crawl):
            running.append(compat.run_in_background(self._row(asked, crawl)))
            if len(running) >= at_once:
                self._add(*await compat.wait_for(running.popleft()))
        while running:
            self._add(*await compat.wait_for(running.popleft()))
        rows = (_line(*said, f"{count:,}") for said, count in sorted(self._counts.items()))
        self.show([], ["", *_head(use, "said by", "URLs"), *rows])

    async def _row(self, asked: Asked, crawl: Crawl) -> tuple[dict[str, Any], str, str]:
        """Returns the fields for ``--json``, and two cells of the table: who says what."""
        policies, use = crawl.get(Policies), self.given.use
        fields: dict[str, Any] = {"url": asked.url, "use": use, "preference": "undecided"}
        if asked.problem:
            return {**fields, "problem": asked.problem}, "unknown", asked.problem
        found = await policies.may(asked.url, use)
        stamp: dict[str, Any] = {}
        if not self.given.no_pages and found and found.verdict.reason is not Reason.NOT_HTTP:
            where = found.url
            try:
                request = Request(where, dont_filter=True)
                response = await crawl.crawler.engine.download_async(request)
                where, stamp = response.url, response.meta.get(STAMP_META_KEY) or {}
                if not 200 <= response.status < 300:
                    fields["problem"] = f"{_UNREAD}{response.status}"
            except RobotsIgnored as error:
                where = error.url
            except Exception as error:  # noqa: BLE001 - any handler may be in use
                fields["problem"] = f"{_UNREAD}{str(error) or type(error).__name__}"
            found = await policies.may(where, use)
        decisive, verdict = found.statement.as_dict() if found.statement else {}, found.verdict
        fields |= {
            "preference": found.preference,
            **{key: decisive.get(key) for key in ("source", "text", "line")},
            **picked(verdict, "allowed", "reason"),
            "statements": [each.as_dict() for each in found.statements],
            **{key: stamp.get(key) for key in ("tdm_policy", "requested_at")},
            "licenses": stamp.get("licenses", []),
        }
        if verdict.allowed or verdict.reason is Reason.AI_PREFERENCE:
            words = fields["text"] or fields.get("problem", "")
            return fields, fields["source"] or "nobody", words
        # The page must not be fetched, whatever it may be used for.
        fields["preference"] = "undecided" if verdict.reason.is_unread else "denied"
        source = "unknown" if verdict.reason.is_unread else "robots.txt"
        return fields, source, verdict.describe()

    def _add(self, fields: dict[str, Any], source: str, words: str) -> None:
        preference = fields["preference"]
        self._counts[preference, source] += 1
        is_unread = preference == NOT_READ and fields["reason"] not in _ASKS_NOBODY
        if "problem" in fields or preference == "undecided" or is_unread:
            self.note(Exit.UNDECIDED)
        elif preference in ("disallow", "denied"):
            self.note(Exit.FOUND)
        url, words = (shown(each).translate(_INERT) for each in (fields["url"], words))
        self.show([fields], [_line(url, preference, source, words)])


def _without_uses(overrides: object) -> object:
    """Returns *overrides* without what they declare of uses: the command declares the only one."""
    try:
        found = json_if_text(overrides)
        return {
            host: {key: value for key, value in keys.items() if key not in _DECLARE}
            for host, keys in found.items()  # type: ignore[attr-defined]
        }
    except (AttributeError, ValueError):  # what is wrong with them is told when they are read
        return overrides


_DECLARE = {"ai_uses", "content_use", "ai_policy"}


def _head(*cells: str) -> list[str]:
    return [_line(*cells), _line(*("---" for _ in cells))]


_ASKS_NOBODY = Reason.NOT_HTTP, Reason.NOT_OBEYED
"""Reasons for which no robots.txt need be read."""
_INERT = {ord(each): f"&#{ord(each)};" for each in "|<[&*_~`\\$"}
"""Replacements for what ends a Markdown cell, and for what begins an element, an entity, a link, a
picture, a formula or another font."""


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
