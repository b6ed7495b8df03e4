"""Whether a request may be sent, by what is known of its origin.

Pure functions of the access, the parsed file and the request. A crawl asks them for each request;
a replay of its audit log asks them again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from scrapy_robots_plus.protocol.sent_forms import asks_for_robots_txt, sent_forms, target_of
from scrapy_robots_plus.protocol.verdict import Reason, Verdict

from .access import Access

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.preferences import Preferences, Statement
    from scrapy_robots_plus.protocol.product_token import AgentNames

    from .delay import Delay


class Rules(Protocol):
    """A parsed file, whichever parser has read it."""

    def allowed(self, url: str, agent: AgentNames, /) -> bool:
        """Whether *agent* may fetch *url*."""

    def verdict(self, url: str, agent: AgentNames, /) -> Verdict | None:
        """The same with rule and line; None if the parser does not name them."""


class Known(Protocol):
    """What is known of an origin."""

    @property
    def obeys(self) -> bool:
        """Whether its rules are obeyed."""

    @property
    def access(self) -> Access: ...

    @property
    def file(self) -> Rules | None:
        """Its rules; None if there are none."""

    def delay_for(self, agent: AgentNames, /) -> Delay | None:
        """The Crawl-delay that requests of *agent* keep, or are skipped for."""

    @property
    def skipped_uses(self) -> tuple[str, ...]:
        """The uses because of which pages are skipped whose site objects to them."""

    def preferences(self, url: str, agent: AgentNames, /) -> Preferences:
        """What is preferred for the use of *url*, which *agent* may fetch."""


def refusal(known: Known, url: str, agent: AgentNames) -> Verdict | None:
    """Why *agent* may not fetch *url*; None if it may (RFC 9309 2.2.2, 2.3.1).

    Raises whatever the parser raises.
    """
    if not known.obeys:
        return None
    access = known.access
    if access is Access.UNAVAILABLE:
        return None
    rules = known.file
    if rules is None or access is Access.UNREACHABLE:
        return unreachable(url)
    disallowed = _disallowed_form(rules, url, agent)
    if disallowed is not None:
        verdict = _explained(rules, disallowed, agent, allowed=False)
        return verdict if disallowed is url else replace(verdict, form=target_of(disallowed))
    delay = known.delay_for(agent)
    if delay is not None and delay.skip:
        return Verdict(allowed=False, reason=Reason.CRAWL_DELAY, delay=delay.asked)
    return _objected(known, url, agent)


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


def unreachable(url: str) -> Verdict | None:
    """The refusal of *url* while the file cannot be read.

    2.2.2: "The /robots.txt URI is implicitly allowed." Parsers apply that to rules.
    """
    if asks_for_robots_txt(url):
        return None
    return Verdict(allowed=False, reason=Reason.UNREACHABLE)


def permission(known: Known, url: str, agent: AgentNames) -> Verdict:
    """Why a request that is not refused may be sent. Raises whatever the parser raises."""
    if not known.obeys:
        return Verdict(allowed=True, reason=Reason.NOT_OBEYED)
    if known.access is Access.UNAVAILABLE:
        return Verdict(allowed=True, reason=Reason.UNAVAILABLE)
    if known.file is None or known.access is Access.UNREACHABLE:  # /robots.txt itself
        return Verdict(allowed=True, reason=Reason.UNREACHABLE)
    return _explained(known.file, url, agent, allowed=True)


def _explained(rules: Rules, url: str, agent: AgentNames, *, allowed: bool) -> Verdict:
    """The parser's decision, with rule and line if the parser names them."""
    named = rules.verdict(url, agent)
    return Verdict(allowed, Reason.RULE) if named is None else named


def _disallowed_form(rules: Rules, url: str, agent: AgentNames) -> str | None:
    """*url* if the rules disallow it, else the first form of it on the wire that they disallow."""
    if not rules.allowed(url, agent):
        return url
    for form in sent_forms(url):
        if not rules.allowed(form, agent):
            return form
    return None
