"""Decides again about every request of an audit log, as logged or under other settings.

The engine's own code decides; what a crawl knew comes from the log and the texts beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.audit.dialects import dialect_from_json
from scrapy_robots_plus.audit.entries import DONT_OBEY
from scrapy_robots_plus.origins import judging
from scrapy_robots_plus.origins.decide import access_under
from scrapy_robots_plus.origins.delay import delay_of, longer_delay
from scrapy_robots_plus.protocol.access import Access, Failure
from scrapy_robots_plus.protocol.preferences import FilePreferences, combine
from scrapy_robots_plus.protocol.status_policy import PRESETS, status_table
from scrapy_robots_plus.protocol.verdict import Reason, Verdict
from scrapy_robots_plus.settings.options import AiPolicy, TooLong

from .page_headers import header_statements_of
from .parsed_files import UndecidedError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from scrapy_robots_plus.audit.entries import CrawlEntry, VerdictEntry
    from scrapy_robots_plus.origins.delay import Delay
    from scrapy_robots_plus.protocol import RobotsTxt
    from scrapy_robots_plus.protocol.access import Outcome
    from scrapy_robots_plus.protocol.dialect import Dialect
    from scrapy_robots_plus.protocol.preferences import Preferences
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.protocol.status_policy import StatusTable

    from .parsed_files import ParsedFiles

OUR_PARSER = "scrapy_robots_plus.origins.parsers.our_parser.RobotsParser"
"""``ROBOTSTXT_PARSER`` where rules have names."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What is to be different from the crawl; None where nothing is."""

    agent: AgentNames | None = None
    dialect: Dialect | None = None
    status_policy: StatusTable | None = None

    def __bool__(self) -> bool:
        return (self.agent, self.dialect, self.status_policy) != (None, None, None)


class Decided(NamedTuple):
    """A verdict, as far as two of them are compared."""

    allowed: bool
    reason: str
    rule: str | None = None
    line: int | None = None
    group: tuple[str, ...] | None = None
    form: str | None = None

    @classmethod
    def logged(cls, entry: VerdictEntry) -> Decided:
        return cls(entry.allowed, entry.reason, entry.rule, entry.line, entry.group, entry.form)

    @classmethod
    def of(cls, verdict: Verdict) -> Decided:
        each = verdict
        return cls(each.allowed, each.reason.value, each.rule, each.line, each.group, each.form)

    def __str__(self) -> str:
        word = "allowed" if self.allowed else "denied"
        where = f", line {self.line}" if self.line else ""
        form = f", as {self.form}" if self.form else ""
        why = f"{self.rule or self.reason}{where}{form}"
        return f"{word} ({why})" if why else word


UNREPLAYED = {
    Reason.CLOSING.value: "the spider closed before its robots.txt was read",
    Reason.GIVEN_UP.value: "its host was given up, whatever its robots.txt says",
}
"""Why verdicts for these reasons say nothing of a robots.txt."""


class CrawlReplay:
    """Replays the verdicts of one crawl."""

    def __init__(self, crawl: CrawlEntry, files: ParsedFiles, changes: Changes) -> None:
        """*files*: the texts; without them only verdicts without rules can be recomputed.

        Raises ValueError if *crawl* has a dialect or an option that this version does not know.
        """
        self._crawl = crawl
        self._changes = changes
        self._dialect = changes.dialect or dialect_from_json(crawl.dialect)
        self._own_table = _table(crawl.status_policy)
        self._too_long = TooLong(crawl.crawl_delay_too_long)
        self._files = files
        self._unchanged = CrawlReplay(crawl, files, Changes()) if changes else self

    @property
    def names_rules(self) -> bool:
        """Whether the crawl's parser names rules, so that they can be compared."""
        return self._crawl.parser == OUR_PARSER

    def verdict(self, entry: VerdictEntry) -> Verdict:
        """The verdict on the request of *entry*.

        Raises :exc:`UndecidedError`, for what another parser has decided otherwise, too.
        """
        if not self.names_rules and self._unchanged.our_verdict(entry).allowed is not entry.allowed:
            parser = self._crawl.parser
            why = f"its crawl used {parser}, which decided otherwise than this package would"
            raise UndecidedError(why)
        return self.our_verdict(entry)

    def our_verdict(self, entry: VerdictEntry) -> Verdict:
        """The verdict of this package's parser. Raises :exc:`UndecidedError`."""
        if entry.reason in UNREPLAYED:
            raise UndecidedError(UNREPLAYED[entry.reason])
        known = _Known(self, entry, self._obeys(entry.override or {}))
        agent = self._agent(entry)
        try:
            decided = judging.verdict(known, entry.url, agent)
            of_page = _of_page(known, entry) if decided.allowed else None
            return decided if of_page is None else of_page
        except (ValueError, TypeError, AttributeError) as error:  # the log was tampered with
            raise UndecidedError(str(error)) from None

    def access(self, entry: VerdictEntry, override: Mapping[str, Any]) -> Access:
        """What may be crawled. Raises :exc:`UndecidedError`."""
        if override.get("robots_txt") is not None:
            return Access.RULES
        if entry.status is None or entry.access is None:
            raise UndecidedError("the log does not say what happened to its robots.txt")
        if entry.access == Access.UNREACHABLE.value and entry.failure == Failure.ERROR.value:
            return Access.UNREACHABLE  # perhaps interrupted, which no status policy is about
        failure = None if entry.failure is None else _outcome(entry.failure)
        is_outlived = (entry.age or 0.0) >= self._crawl.stale_max
        access = access_under(
            self._table(override), _outcome(entry.status), failure, is_outlived=is_outlived
        )
        if access is Access.RULES and entry.sha256 is None:
            raise UndecidedError("its robots.txt had no rules, so none were kept")
        return access

    def rules(self, entry: VerdictEntry, override: Mapping[str, Any]) -> RobotsTxt | None:
        """The parsed file. Raises :exc:`UndecidedError`."""
        if entry.sha256 is None:
            return None
        own = override.get("dialect")
        dialect = self._dialect if own is None else dialect_from_json(own)
        return self._files.get(entry.sha256, entry.charset, dialect)

    def delay(
        self, rules: RobotsTxt | None, override: Mapping[str, Any], agent: AgentNames
    ) -> Delay | None:
        """The Crawl-delay of *agent*."""
        if rules is None or not self._crawl.keeps_delays or override.get("crawl_delay") is not None:
            return None
        most = self._crawl.crawl_delay_max
        delay = delay_of(rules.crawl_delay(agent), most, self._too_long)
        rate = rules.request_rate(agent)
        if rate is None or rate.window is not None:
            return delay
        return longer_delay(delay, delay_of(rate.delay, most, self._too_long))

    def skipped_uses(self, override: Mapping[str, Any]) -> tuple[str, ...]:
        """The uses because of which pages were skipped."""
        policy = override.get("ai_policy") or self._crawl.ai_policy
        uses = override.get("ai_uses", self._crawl.ai_uses)
        return tuple(uses or ()) if policy == AiPolicy.SKIP.value else ()

    def use_tokens(self, override: Mapping[str, Any]) -> tuple[str, ...]:
        """Names of groups that are about training."""
        return tuple(override.get("ai_tokens", self._crawl.use_tokens) or ())

    def _obeys(self, override: Mapping[str, Any]) -> bool:
        if override.get(DONT_OBEY):
            return False
        obey = override.get("obey")
        return self._crawl.obey if obey is None else bool(obey)

    def _agent(self, entry: VerdictEntry) -> AgentNames:
        fixed = (entry.override or {}).get("user_agent")
        return entry.agent if self._changes.agent is None or fixed else self._changes.agent

    def _table(self, override: Mapping[str, Any]) -> StatusTable:
        own = override.get("status_policy")
        if own is not None:
            return status_table(own)
        return (
            self._own_table if self._changes.status_policy is None else self._changes.status_policy
        )


def _of_page(known: _Known, entry: VerdictEntry) -> Verdict | None:
    """The refusal of a page for its headers."""
    if not known.obeys:
        return None
    said = combine(header_statements_of(entry)).objection(known.skipped_uses)
    return None if said is None else judging.objection_of(said)


class _Known:
    """What the crawl knew when it decided (:class:`~scrapy_robots_plus.origins.judging.Known`)."""

    def __init__(self, replay: CrawlReplay, entry: VerdictEntry, obeys: bool) -> None:
        self._replay = replay
        self._entry = entry
        self._override = entry.override or {}
        self.obeys = obeys

    @cached_property
    def access(self) -> Access:
        return self._replay.access(self._entry, self._override)

    @cached_property
    def file(self) -> RobotsTxt | None:
        return self._replay.rules(self._entry, self._override)

    @property
    def skipped_uses(self) -> tuple[str, ...]:
        return self._replay.skipped_uses(self._override)

    def preferences(self, url: str, agent: AgentNames) -> Preferences:
        file = self.file
        if file is None or not self._replay.names_rules:  # other parsers know of no preferences
            return combine(())
        tokens = self._replay.use_tokens(self._override)
        return combine(FilePreferences(file, agent, tokens).statements(url))

    def delay_for(self, agent: AgentNames) -> Delay | None:
        return self._replay.delay(self.file, self._override, agent)


def _outcome(text: str) -> Outcome:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 5 else Failure(text)


def _table(fields: Mapping[str, Any]) -> StatusTable:
    return {**PRESETS["rfc9309"], **{key: Access(value) for key, value in fields.items()}}
