"""Decides again about every request of an audit log, as logged or under other settings.

The engine's own code decides; what a crawl knew comes from the log and the texts beside it. What
followed from the status or the failure of a robots.txt is taken as it was logged.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from scrapy_robots_plus.origins import judging
from scrapy_robots_plus.origins.judging import Delay, delay_in
from scrapy_robots_plus.origins.parsers import RobotsParser
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.preferences import Source, combine
from scrapy_robots_plus.protocol.preferences.in_file import FilePreferences
from scrapy_robots_plus.protocol.verdict import Reason, Verdict
from scrapy_robots_plus.settings.declared import uses_of

from .bodies import Bodies, BodyError
from .entries import DONT_OBEY, CrawlEntry, VerdictEntry, as_logged, dialect_from_json

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol import RobotsTxt
    from scrapy_robots_plus.protocol.dialect import Dialect
    from scrapy_robots_plus.protocol.preferences import Preferences
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.settings.declared import TooLong

MOST_FILES = 500
"""Of the files that were asked last, kept as a crawl keeps them: compressed, a few also parsed."""


class UndecidedError(Exception):
    """A verdict cannot be recomputed: the message says why."""


@lru_cache(MOST_FILES)
def parsed(
    bodies: Bodies | None, digest: str, charset: str | None, dialect: Dialect
) -> RobotsParser:
    """The file with this hash. Raises :exc:`BodyError` if its text is not to be had."""
    if bodies is None:
        raise BodyError("no robots.txt files were kept beside the log")
    return RobotsParser(bodies.get(digest), dialect, charset)


OUR_PARSER = "scrapy_robots_plus.origins.parsers.RobotsParser"
"""``ROBOTSTXT_PARSER`` where rules have names."""


class Decided(NamedTuple):
    """A verdict, as far as two of them are compared."""

    allowed: bool
    reason: str
    rule: str | None = None
    line: int | None = None
    group: tuple[str, ...] | None = None
    form: str | None = None

    @classmethod
    def of(cls, each: Verdict | VerdictEntry) -> Decided:
        """What was decided now, or is in the log."""
        logged = as_logged(each.rule, each.group)
        return cls(each.allowed, str(each.reason), line=each.line, form=each.form, **logged)

    def __str__(self) -> str:
        word = "allowed" if self.allowed else "denied"
        where = f", line {self.line}" if self.line else ""
        form = f", as {self.form}" if self.form else ""
        why = f"{self.rule or self.reason}{where}{form}"
        return f"{word} ({why})" if why else word


Group = tuple[str, Decided, Decided]
"""The requests to one origin for which the same verdict became the same other one."""

UNREPLAYED = {Reason.CLOSING.value, Reason.GIVEN_UP.value, Reason.WALLED.value}
"""Reasons that no robots.txt has given: verdicts for them cannot be replayed."""


_NOT_KEPT = {each.value for each in Source if each.is_of_page or each is Source.TDM_FILE}
"""Sources of objections whose text is in no file beside the log."""


@dataclass
class _Known:
    """What the crawl knew when it decided (:class:`~scrapy_robots_plus.origins.judging.Known`).

    If the text of a file is not to be had, that raises :exc:`BodyError`; if the log was tampered
    with, ValueError, TypeError or AttributeError.
    """

    entry: VerdictEntry
    crawl: CrawlEntry
    bodies: Bodies | None
    dialect: Dialect

    @cached_property
    def override(self) -> dict[str, Any]:
        given = self.entry.override or {}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def obeys(self) -> bool:
        return bool(self.override.get("obey", self.crawl.obey)) and not self.override.get(DONT_OBEY)

    @property
    def access(self) -> Access:
        return Access(self.entry.access)

    @cached_property
    def file(self) -> RobotsTxt | None:
        if self.entry.sha256 is None:
            return None
        own = self.override.get("dialect")
        dialect = self.dialect if own is None else dialect_from_json(own)
        return parsed(self.bodies, self.entry.sha256, self.entry.charset, dialect).file

    @property
    def skipped_uses(self) -> tuple[str, ...]:
        own, crawl = self.override, self.crawl
        uses = own.get("ai_uses", crawl.ai_uses) or ()
        content_use = own.get("content_use", crawl.content_use)
        skips = own.get("ai_policy", crawl.ai_policy) == "skip"
        return uses_of(uses, content_use) if skips else ()

    def preferences(self, url: str, agent: AgentNames) -> Preferences:
        file = self.file
        if file is None or not self.obeys:
            return combine(())
        tokens = tuple(self.override.get("ai_tokens", self.crawl.use_tokens) or ())
        return combine(FilePreferences(file, agent, tokens).statements(url))

    def delay_for(self, agent: AgentNames) -> Delay | None:
        file, crawl = self.file, self.crawl
        if file is None or crawl.crawl_delay_obey is False or "crawl_delay" in self.override:
            return None
        too_long = cast("TooLong", crawl.crawl_delay_too_long)
        return delay_in(file, agent, crawl.crawl_delay_max, too_long)


def decided_again(
    entry: VerdictEntry,
    crawl: CrawlEntry,
    bodies: Bodies | None,
    agent: AgentNames | None = None,
    dialect: Dialect | None = None,
) -> Decided:
    """The verdict on the request of *entry*, of *crawl*. What a page said, or a ``tdmrep.json``, is
    taken as it was logged.

    *bodies*: the texts; without them only verdicts without rules can be recomputed. *agent*,
    *dialect*: what is to be different from the crawl.

    Raises :exc:`UndecidedError`.
    """
    if crawl.parser != OUR_PARSER:
        raise UndecidedError(f"its crawl used {crawl.parser}, not this package's parser")
    try:
        known = _Known(entry, crawl, bodies, dialect or dialect_from_json(crawl.dialect))
        judged_by = None if known.override.get("user_agent") else agent
        decided = judging.verdict(known, entry.url, judged_by or entry.agent)
    except (BodyError, ValueError, TypeError, AttributeError) as error:
        raise UndecidedError(str(error)) from None
    return Decided.of(entry if decided.allowed and entry.source in _NOT_KEPT else decided)


MOST_GROUPS = 10_000
"""How many are told apart; the verdicts of all further ones are counted together."""

EXAMPLES = 3
"""How many URLs each group keeps."""


KINDS = {
    "now_denied": "denied instead of allowed",
    "now_allowed": "allowed instead of denied",
    "other_reason": "for another reason",
}
"""Of differences, with what they are in words."""


class Differences:
    """Counts them, by kind and by group."""

    def __init__(self) -> None:
        self.verdicts = 0
        """How many were compared."""
        self.kinds: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
        """How many of them differ."""
        self._groups: Counter[Group] = Counter()
        self.examples: dict[Group, list[str]] = {}
        """The places of the first few of each group."""

    def add(self, place: str, origin: str, before: Decided, after: Decided) -> None:
        """Compares two verdicts on a request to *origin*, which is at *place* in the log."""
        self.verdicts += 1
        if before == after:
            return
        kind = "now_allowed" if after.allowed else "now_denied"
        self.kinds["other_reason" if before.allowed is after.allowed else kind] += 1
        group = origin, before, after
        if group in self._groups or len(self._groups) < MOST_GROUPS:
            self._groups[group] += 1
            examples = self.examples.setdefault(group, [])
            examples += [place] if len(examples) < EXAMPLES else []

    def groups(self) -> list[tuple[Group, int]]:
        """With how many are in each. Those in which the answer is another one come first, then the
        largest.

        What is in none of them counts in :attr:`kinds` alone.
        """

        def order(each: tuple[Group, int]) -> tuple[bool, int]:
            (_, before, after), count = each
            return before.allowed is after.allowed, -count

        return sorted(self._groups.items(), key=order)
