"""The decision whether a request may be sent, and how slowly, by what is known about its origin.

Pure functions of the access, the parsed file and the request. A crawl calls them for each request;
a replay of its audit log calls them again.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple, Protocol

from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.sent_forms import asks_for_robots_txt, sent_forms, target_of
from scrapy_robots_plus.protocol.verdict import Reason, Verdict

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.crawl_delay import VisitTime
    from scrapy_robots_plus.protocol.preferences import Preferences, Statement
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.settings.all_settings import TooLong
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings

    from .parsers import ParsedFile


_UNAVAILABLE, _UNREACHABLE = Access.UNAVAILABLE, Access.UNREACHABLE  # looked up ten times as fast


class Delay(NamedTuple):
    """A delay in seconds, as asked for and as kept."""

    asked: float
    kept: float
    skip: bool = False
    """Whether the host is skipped because the delay is too long."""
    own: bool = False
    """Whether the user's settings ask for the delay, not the file."""


def delay_of(value: object, maximum: float, too_long: TooLong) -> Delay | None:
    """Returns the delay for a Crawl-delay of *value* seconds; None if that is no delay.

    A *maximum* of 0 means no maximum. Crawl-delay is not in RFC 9309, and parsers let invalid
    values through: negative, zero, ``nan``, infinite.
    """
    if not isinstance(value, (int, float)) or not isfinite(value) or value <= 0:
        return None
    asked = float(value)
    if not maximum or asked <= maximum:
        return Delay(asked, asked)
    return Delay(asked, maximum, skip=too_long == "skip")


class AgentPace(NamedTuple):
    """The delay and the visiting hours of one agent, within the limits of the settings."""

    delay: Delay | None = None
    visits: VisitTime | None = None
    """The visiting hours, if ``ROBOTS_VISIT_TIME`` is ``obey``."""


ANY_PACE = AgentPace()
"""The pace without limits: one object for all origins that have none, to save memory."""


def pace_of(file: ParsedFile | None, agent: AgentNames, settings: RobotsSettings) -> AgentPace:
    """Returns *agent*'s pace: the longer of Crawl-delay and Request-rate, and the visiting hours.

    If the two delays are equal, that is the Crawl-delay. The user's own delay applies if an
    override sets it, or if no *file* asks for one.
    """
    own = settings.own_delay
    delay = Delay(own, own, own=True) if own else None
    if file is None:
        return AgentPace(delay) if delay else ANY_PACE
    visits = file.visit_time(agent) if settings.visit_time == "obey" else None
    if settings.crawl_delay is None:
        # Without ROBOTSTXT_OBEY nothing is dropped.
        too_long = settings.crawl_delay_too_long if settings.obey else "clamp"
        rate = file.request_rate(agent)
        asked = (file.crawl_delay(agent), rate and rate.delay)
        kept = (delay_of(each, settings.crawl_delay_max, too_long) for each in asked)
        delay = max(filter(None, kept), key=lambda each: each.asked, default=delay)
    pace = AgentPace(delay, visits)
    return ANY_PACE if pace == ANY_PACE else pace


class OriginFacts(Protocol):
    """What :func:`verdict` has to know about an origin: a ``Policy`` does."""

    file: ParsedFile | None
    settings: RobotsSettings

    @property
    def access(self) -> Access: ...

    def pace_of(self, agent: AgentNames) -> AgentPace: ...

    def preferences(self, url: str, agent: AgentNames) -> Preferences: ...


def verdict(known: OriginFacts, url: str, agent: AgentNames) -> Verdict:
    """Returns whether *agent* may fetch *url*, and why (RFC 9309 2.2.2, 2.3.1).

    Raises whatever the parser raises.
    """
    decided = _by_rules(known, url, agent)
    if not (decided.allowed and known.settings.skipped_uses):
        return decided
    objected = _objected(known, url, agent)
    return decided if objected is None else objected


def _by_rules(known: OriginFacts, url: str, agent: AgentNames) -> Verdict:
    if not known.settings.obey:
        return Verdict(allowed=True, reason=Reason.NOT_OBEYED)
    access = known.access
    if access is _UNAVAILABLE:
        return Verdict(allowed=True, reason=Reason.UNAVAILABLE)
    rules = known.file
    if rules is None or access is _UNREACHABLE:
        return unreachable(url)
    decided = rules.verdict(url, agent)
    if not decided.allowed:
        return decided
    for form in sent_forms(url):
        of_form = rules.verdict(form, agent)
        if not of_form.allowed:
            return replace(of_form, form=target_of(form))
    delay = known.pace_of(agent).delay
    if delay is not None and delay.skip:
        return Verdict(allowed=False, reason=Reason.CRAWL_DELAY, delay=delay.asked)
    return decided


def _objected(known: OriginFacts, url: str, agent: AgentNames) -> Verdict | None:
    """Returns the refusal if the site objects to a use of *url*, in any form that may be sent."""
    for form in (url, *sent_forms(url)):
        said = known.preferences(form, agent).objection(known.settings.skipped_uses)
        if said is not None:
            verdict = objection_of(said)
            return verdict if form is url else replace(verdict, form=target_of(form))
    return None


def objection_of(statement: Statement) -> Verdict:
    """Returns the refusal of a page because *statement* objects to a use of the crawl."""
    return Verdict(
        allowed=False,
        reason=Reason.AI_PREFERENCE,
        rule=statement.text,
        line=statement.line,
        use=statement.category,
        source=statement.source.value,
    )


def unreachable(url: str) -> Verdict:
    """Returns the verdict on *url* while the file cannot be read.

    RFC 9309 2.2.2: "The /robots.txt URI is implicitly allowed." If there are rules, the parser
    sees to that.
    """
    return Verdict(asks_for_robots_txt(url), Reason.UNREACHABLE)
