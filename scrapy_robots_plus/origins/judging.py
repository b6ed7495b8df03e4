"""Whether a request may be sent, by what is known of its origin.

Pure functions of the access, the parsed file and the request. A crawl asks them for each request;
a replay of its audit log asks them again.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple, Protocol

from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.sent_forms import asks_for_robots_txt, sent_forms, target_of
from scrapy_robots_plus.protocol.verdict import Reason, Verdict

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol import RobotsTxt
    from scrapy_robots_plus.protocol.preferences import Preferences, Statement
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.settings.declared import TooLong

    from .parsers import ParsedFile


class Delay(NamedTuple):
    """A Crawl-delay, as asked and as kept, in seconds."""

    asked: float
    kept: float
    skip: bool = False
    """Whether the host is not crawled because of it."""
    own: bool = False
    """Whether the user's settings ask for it, not the file."""

    @property
    def clamped(self) -> bool:
        return self.kept < self.asked


def delay_of(value: object, maximum: float, too_long: TooLong) -> Delay | None:
    """The delay to keep for a Crawl-delay of *value*; None if that is not a delay. A *maximum* of 0
    is none.

    Crawl-delay is not in RFC 9309, and parsers let invalid values through: negative, zero, ``nan``,
    infinite.
    """
    if not isinstance(value, (int, float)) or not isfinite(value) or value <= 0:
        return None
    asked = float(value)
    if not maximum or asked <= maximum:
        return Delay(asked, asked)
    return Delay(asked, maximum, skip=too_long == "skip")


def delay_in(
    file: ParsedFile | RobotsTxt, agent: AgentNames, maximum: float, too_long: TooLong
) -> Delay | None:
    """The longer of the Crawl-delay and the Request-rate of *agent*; the former if they are equal.
    None if the *file* asks for none. *maximum*, *too_long*: as for :func:`delay_of`.
    """
    rate = file.request_rate(agent)
    asked = (file.crawl_delay(agent), rate and rate.delay)
    delays = filter(None, (delay_of(each, maximum, too_long) for each in asked))
    return max(delays, key=lambda each: each.asked, default=None)


class Known(Protocol):
    """What is known of an origin."""

    @property
    def obeys(self) -> bool:
        """Whether its rules are obeyed."""

    @property
    def access(self) -> Access: ...

    @property
    def file(self) -> ParsedFile | RobotsTxt | None:
        """Its rules, whichever parser has read them; None if there are none."""

    def delay_for(self, agent: AgentNames, /) -> Delay | None:
        """The Crawl-delay that requests of *agent* keep, or are skipped for."""

    @property
    def skipped_uses(self) -> tuple[str, ...]:
        """The uses because of which pages are skipped whose site objects to them."""

    def preferences(self, url: str, agent: AgentNames, /) -> Preferences:
        """What is preferred for the use of *url*, which *agent* may fetch."""


def verdict(known: Known, url: str, agent: AgentNames) -> Verdict:
    """Whether *agent* may fetch *url*, and why (RFC 9309 2.2.2, 2.3.1).

    Raises whatever the parser raises.
    """
    decided = _by_rules(known, url, agent)
    objected = _objected(known, url, agent) if decided.allowed else None
    return decided if objected is None else objected


def _by_rules(known: Known, url: str, agent: AgentNames) -> Verdict:
    if not known.obeys:
        return Verdict(allowed=True, reason=Reason.NOT_OBEYED)
    access = known.access
    if access is Access.UNAVAILABLE:
        return Verdict(allowed=True, reason=Reason.UNAVAILABLE)
    rules = known.file
    if rules is None or access is Access.UNREACHABLE:
        return unreachable(url)
    decided = rules.verdict(url, agent)
    if not decided.allowed:
        return decided
    for form in sent_forms(url):
        of_form = rules.verdict(form, agent)
        if not of_form.allowed:
            return replace(of_form, form=target_of(form))
    delay = known.delay_for(agent)
    if delay is not None and delay.skip:
        return Verdict(allowed=False, reason=Reason.CRAWL_DELAY, delay=delay.asked)
    return decided


def _objected(known: Known, url: str, agent: AgentNames) -> Verdict | None:
    """The refusal of *url* for a use that its site objects to, in any form of it on the wire."""
    if not known.skipped_uses:
        return None
    for form in (url, *sent_forms(url)):
        said = known.preferences(form, agent).objection(known.skipped_uses)
        if said is not None:
            verdict = objection_of(said)
            return verdict if form is url else replace(verdict, form=target_of(form))
    return None


def objection_of(statement: Statement) -> Verdict:
    """The refusal of a page that must not be used as the crawl will, because of *statement*."""
    return Verdict(
        allowed=False,
        reason=Reason.AI_PREFERENCE,
        rule=statement.text,
        line=statement.line,
        use=statement.category,
        source=statement.source.value,
    )


def unreachable(url: str) -> Verdict:
    """The verdict on *url* while the file cannot be read.

    2.2.2: "The /robots.txt URI is implicitly allowed." Parsers apply that to rules.
    """
    return Verdict(asks_for_robots_txt(url), Reason.UNREACHABLE)
