"""The answer to "may this URL be fetched?", and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Reason(str, Enum):
    """What decided. The values are the last part of the ``robotstxt/forbidden/…`` stats."""

    RULE = "rule"
    """A rule of the file matches (RFC 9309 2.2.2)."""
    NO_RULE = "no_rule"
    """A group is meant for this crawler and none of its rules matches: allowed (2.2.2)."""
    NO_GROUP = "no_group"
    """No group is meant for this crawler: allowed (2.2.1)."""
    ROBOTS_TXT = "robots_txt"
    """``/robots.txt`` itself is implicitly allowed (2.2.2)."""
    UNAVAILABLE = "unavailable"
    """There is no robots.txt: allowed (2.3.1.3)."""
    UNREACHABLE = "unreachable"
    """The robots.txt cannot be read: disallowed (2.3.1.4)."""
    CRAWL_DELAY = "crawl_delay"
    """The Crawl-delay is over ``ROBOTS_CRAWL_DELAY_MAX`` and the host is skipped for it."""
    CLOSING = "closing"
    """The spider closed before the robots.txt was read."""
    NOT_HTTP = "not_http"
    """robots.txt does not speak of this URL's scheme: allowed."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a URL may be fetched, and why.

    ``rule``, ``line`` (counted from 1) and ``group`` are those of the file as served; they are
    None where no rule decided, or where the parser in use does not name the one that did.
    """

    allowed: bool
    reason: Reason
    rule: str | None = None
    """The deciding line, e.g. ``Disallow: /private/``."""
    line: int | None = None
    group: tuple[str, ...] | None = None
    """The user-agent values of the group that holds the rule."""
    robots_url: str | None = None
    """The robots.txt that decided, after redirects."""
    outcome: str | None = None
    """Its HTTP status, or the failure to get it, e.g. ``200`` or ``timeout``."""
    delay: float | None = None
    """The Crawl-delay in seconds, where the reason is :attr:`Reason.CRAWL_DELAY`."""

    def describe(self) -> str:
        """What decided, in words, e.g. ``Disallow: /a, line 3 of https://x.example/robots.txt``."""
        where = self.robots_url or "robots.txt"
        if self.reason is Reason.RULE:
            line = f"line {self.line} of " if self.line else ""
            return f"{self.rule or 'a rule'}, {line}{where}"
        if self.reason is Reason.CRAWL_DELAY:
            return f"Crawl-delay: {self.delay:g} is too long, {where}"
        return f"{_WORDS[self.reason]}, {where}" + (f": {self.outcome}" if self.outcome else "")

    def __bool__(self) -> bool:
        return self.allowed


_WORDS = {
    Reason.NO_RULE: "no rule matches",
    Reason.NO_GROUP: "no group for this crawler",
    Reason.ROBOTS_TXT: "robots.txt itself is allowed",
    Reason.UNAVAILABLE: "there is no robots.txt",
    Reason.UNREACHABLE: "robots.txt cannot be read",
    Reason.CLOSING: "the spider closed first",
    Reason.NOT_HTTP: "not an HTTP URL",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict, and the rules that match the URL as well but were beaten."""

    verdict: Verdict
    beaten: tuple[Verdict, ...] = ()
    """What each of them would have said, the strongest first."""

    def __bool__(self) -> bool:
        return self.verdict.allowed
