"""The replay of an audit log: each request is judged again, as logged or under other settings.

The code that judges is that of a crawl; what the crawl knew comes from the log and the texts beside
it. What the status or the failure of a robots.txt meant is taken as it was logged.
"""

from __future__ import annotations

from collections import Counter
from functools import cache, lru_cache
from typing import Any, NamedTuple, cast

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.statscollectors import DummyStatsCollector, StatsCollector

from scrapy_robots_plus.crawl.requests import DONT_OBEY_META_KEY
from scrapy_robots_plus.origins import judging
from scrapy_robots_plus.origins.parsers import ParsedFile, RobotsParser
from scrapy_robots_plus.origins.policy import Policy, policy_of_any_site
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.dialect import Dialect
from scrapy_robots_plus.protocol.preferences import Source
from scrapy_robots_plus.protocol.printable import picked
from scrapy_robots_plus.protocol.product_token import AgentNames
from scrapy_robots_plus.protocol.verdict import Reason, Verdict
from scrapy_robots_plus.settings.robots_settings import RobotsSettings

from .bodies import Bodies, BodyError
from .chain import SHOWN
from .entries import CrawlEntry, VerdictEntry, as_logged, dialect_from_json

MOST_FILES = 500
"""How many files are kept, the last used, as a crawl keeps them: compressed, a few also parsed."""


@lru_cache(MOST_FILES)
def policy_of(
    bodies: Bodies | None,
    digest: str | None,
    charset: str | None,
    dialect: Dialect,
    access: Access,
    **settings: Any,
) -> Policy:
    """Returns the policy of any origin with this *access* and the file with this *digest*.

    *settings* are those of the crawl. Raises :exc:`BodyError` if the file cannot be had.
    """
    file = None
    if digest is not None:
        if bodies is None:
            raise BodyError("no robots.txt files were kept beside the log")
        file = ParsedFile(RobotsParser(bodies.get(digest), dialect, charset))
    all_settings = RobotsSettings.from_settings(BaseSettings()).with_changes(**settings)
    return policy_of_any_site(access, file, all_settings, _stats())


@cache
def _stats() -> StatsCollector:
    return DummyStatsCollector(Crawler(Spider))  # takes two milliseconds, hence the cache


OUR_PARSER = "scrapy_robots_plus.origins.parsers.RobotsParser"
"""The ``ROBOTSTXT_PARSER`` whose verdicts can be replayed: that of this package."""


class Decided(NamedTuple):
    """The parts of a verdict that are compared."""

    allowed: bool
    reason: str
    rule: str | None = None
    line: int | None = None
    group: tuple[str, ...] | None = None
    form: str | None = None

    @classmethod
    def of(cls, each: Verdict | VerdictEntry) -> Decided:
        """Returns the compared parts of a new verdict, or of one in the log."""
        logged = as_logged(each.rule, each.group)
        return cls(each.allowed, str(each.reason), line=each.line, form=each.form, **logged)

    def __str__(self) -> str:
        word = "allowed" if self.allowed else "denied"
        where = f", line {self.line}" if self.line else ""
        form = f", as {self.form}" if self.form else ""
        why = f"{self.rule or self.reason}{where}{form}"
        return f"{word} ({why})" if why else word


Group = tuple[str, Decided, Decided]
"""The origin, the logged and the new verdict of requests that are counted together."""

UNREPLAYED = {Reason.CLOSING.value, Reason.GIVEN_UP.value, Reason.WALLED.value}
"""Reasons that do not come from a robots.txt: their verdicts cannot be replayed."""


_NOT_KEPT = {each.value for each in Source if each.is_of_page or each is Source.TDM_FILE}
"""Sources of objections whose text is not kept beside the log."""


_OF_OVERRIDE = ("obey", "crawl_delay", "ai_uses", "content_use", "ai_policy", "ai_tokens")
"""Keys of an override that decide about requests."""


UNDECIDED = ValueError, TypeError, AttributeError
"""What :func:`decided_again` raises; the last two if the log was tampered with."""


def decided_again(
    entry: VerdictEntry,
    crawl: CrawlEntry | None,
    bodies: Bodies | None,
    agent: AgentNames | None = None,
    dialect: Dialect | None = None,
) -> Decided:
    """Judges the request of *entry* again; with another *agent* or *dialect* if given.

    *crawl* is the first entry of its crawl. What the status or the failure of the file meant is its
    access, as logged. An objection by a page or a ``tdmrep.json`` is taken as it was logged, too.
    Without the texts in *bodies*, only verdicts without rules can be recomputed.

    Raises one of ``UNDECIDED``, which says why, if the verdict cannot be recomputed.
    """
    if crawl is None:
        raise ValueError("the log does not say how its crawl began")
    if crawl.parser != OUR_PARSER:
        raise ValueError(f"its crawl used {crawl.parser}, not this package's parser")
    own = {name: value for name, value in (entry.override or {}).items() if value is not None}
    given = {
        **picked(crawl, "obey", "crawl_delay_obey", "crawl_delay_max", "crawl_delay_too_long"),
        **picked(crawl, "ai_uses", "content_use", "ai_policy"),
        "ai_tokens": crawl.use_tokens,
    }
    given |= {name: own[name] for name in _OF_OVERRIDE if name in own}
    given |= {name: tuple(given[name] or ()) for name in ("ai_uses", "ai_tokens")}
    given["obey"] = bool(given["obey"] and not own.get(DONT_OBEY_META_KEY))
    access = Access(cast("str", entry.access)) if given["obey"] else Access.UNAVAILABLE
    digest = None if access is Access.UNAVAILABLE else entry.sha256
    dialect = dialect or dialect_from_json(crawl.dialect)
    if digest is not None and "dialect" in own:
        dialect = dialect_from_json(own["dialect"])
    if agent is None or own.get("user_agent"):
        agent = entry.agent
    policy = policy_of(bodies, digest, entry.charset, dialect, access, **given)
    decided = judging.verdict(policy, entry.url, agent)
    return Decided.of(entry if decided.allowed and entry.source in _NOT_KEPT else decided)


MOST_GROUPS = 10_000
"""How many groups are told apart. Differences outside them are only counted by kind."""

EXAMPLES = 3
"""How many places in the log each group keeps as examples."""


_ANSWERS = {False: "denied instead of allowed", True: "allowed instead of denied"}
_OTHER_REASON = "for another reason"


class Differences:
    """The differences between logged and new verdicts, counted by kind and by group."""

    def __init__(self, agent: AgentNames | None = None, dialect: Dialect | None = None) -> None:
        """Takes the *agent* and *dialect* of the new verdicts, if they are not those logged."""
        self.changes = agent, dialect
        self.undecided: Counter[str] = Counter()
        """How many verdicts could not be recomputed, by the reason; only so many are named."""
        self.verdicts = 0
        self.kinds = Counter(dict.fromkeys((*_ANSWERS.values(), _OTHER_REASON), 0))
        """How many verdicts differ, by kind, in words."""
        self._groups: Counter[Group] = Counter()
        self.examples: dict[Group, list[str]] = {}
        """The first few places of each group in the log."""

    def replay(
        self, place: str, entry: VerdictEntry, crawl: CrawlEntry | None, bodies: Bodies | None
    ) -> None:
        """Judges the request of *entry* again, and counts what comes out.

        *crawl* is the first entry of its crawl, if the log has it.
        """
        if entry.reason in UNREPLAYED:
            return
        try:
            after = decided_again(entry, crawl, bodies, *self.changes)
        except UNDECIDED as error:
            why = str(error)
            is_named = why in self.undecided or len(self.undecided) < SHOWN
            self.undecided[why if is_named else "other reasons"] += 1
        else:
            self.add(f"{place}: {entry.url}", entry.origin or "", Decided.of(entry), after)

    def add(self, place: str, origin: str, before: Decided, after: Decided) -> None:
        """Compares two verdicts on the request to *origin* that is at *place* in the log."""
        self.verdicts += 1
        if before == after:
            return
        is_same = before.allowed is after.allowed
        self.kinds[_OTHER_REASON if is_same else _ANSWERS[after.allowed]] += 1
        group = origin, before, after
        if group in self._groups or len(self._groups) < MOST_GROUPS:
            self._groups[group] += 1
            examples = self.examples.setdefault(group, [])
            examples += [place] if len(examples) < EXAMPLES else []

    def groups(self) -> list[tuple[Group, int]]:
        """Returns the groups and their sizes: another answer before another reason, then by size.

        Differences in no group are counted in :attr:`kinds` only.
        """

        def order(each: tuple[Group, int]) -> tuple[bool, int]:
            (_, before, after), count = each
            return before.allowed is after.allowed, -count

        return sorted(self._groups.items(), key=order)
