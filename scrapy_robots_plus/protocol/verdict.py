"""The answer to "may this URL be fetched?", and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .printable import Explained, printable

_SHOWN = 500
"""The number of characters of a rule or a URL that a description shows."""


class Reason(Explained):
    """What decided whether a URL may be fetched.

    The values are the last part of the ``robotstxt/forbidden/…`` stats; in the words, ``{}`` stands
    for the URL of the robots.txt.
    """

    RULE = "rule", "a rule of {}"
    """A rule of the file matches (RFC 9309 2.2.2)."""
    NO_RULE = "no_rule", "no rule of {} matches"
    """A group applies to this crawler, but none of its rules matches: allowed (2.2.2)."""
    NO_GROUP = "no_group", "no group of {} applies to this crawler"
    """No group applies to this crawler: allowed (2.2.1)."""
    ROBOTS_TXT = "robots_txt", "{} itself is always allowed"
    """``/robots.txt`` itself is implicitly allowed (2.2.2)."""
    UNAVAILABLE = "unavailable", "{} is unavailable"
    """There is no robots.txt: allowed (2.3.1.3)."""
    UNREACHABLE = "unreachable", "{} cannot be read"
    """The robots.txt cannot be read: disallowed (2.3.1.4)."""
    CRAWL_DELAY = "crawl_delay", "the Crawl-delay of {} is too long"
    """The Crawl-delay is over ``ROBOTS_CRAWL_DELAY_MAX``, so the host is skipped."""
    GIVEN_UP = "given_up", "the host of {} has answered nothing but 429"
    """The host has refused ``ROBOTS_GIVE_UP_AFTER`` requests in a row, and is given up."""
    WALLED = "walled", "the site refuses pages that {} allows"
    """The site refuses pages that its robots.txt allows, and ``ROBOTS_WALLS`` is ``stop``."""
    CLOSING = "closing", "the spider closed before {} was read"
    """The spider closed before the robots.txt was read."""
    AI_PREFERENCE = "ai_preference", "the site does not want it used so"
    """The site objects to a use in ``ROBOTS_AI_USES``, and ``ROBOTS_AI_POLICY`` is ``skip``."""
    NOT_OBEYED = "not_obeyed", "{} is not obeyed"
    """``ROBOTSTXT_OBEY`` or an override is ``False`` here: allowed, whatever the rules say."""
    NOT_HTTP = "not_http", "not an HTTP URL"
    """robots.txt does not apply to this URL's scheme: allowed."""

    @property
    def is_unread(self) -> bool:
        """Whether the robots.txt was not read, so that nothing in it decided."""
        return self in (Reason.UNREACHABLE, Reason.CLOSING)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a URL may be fetched, and why (RFC 9309 2.2.2). It is true if it may.

    ``rule``, ``line`` (counted from 1) and ``group`` are those of the file as served; they are
    None if no rule decided, or if the parser in use does not name the one that did.
    """

    allowed: bool
    """Whether the URL may be fetched."""
    reason: Reason
    """What decided."""
    rule: str | None = None
    """The deciding line, e.g. ``Disallow: /private/``."""
    line: int | None = None
    """The number of the deciding line in the file, counted from 1."""
    group: tuple[str, ...] | None = None
    """The user-agent values of the group that holds the rule."""
    robots_url: str | None = None
    """The URL of the robots.txt that decided, after redirects."""
    outcome: str | None = None
    """The HTTP status of the robots.txt, or the failure to get it, e.g. ``200`` or ``timeout``."""
    delay: float | None = None
    """The Crawl-delay in seconds, if the reason is :attr:`Reason.CRAWL_DELAY`."""
    form: str | None = None
    """The path and query that decided, if a download handler may rewrite those of the URL."""
    override: str | None = None
    """The reason of the override that the URL was judged under, else its keys; None without one."""
    use: str | None = None
    """The use that the site objects to, such as ``train-ai``, if the reason is
    :attr:`Reason.AI_PREFERENCE`. ``rule`` is then the text of the objection."""
    source: str | None = None
    """Where the site objects: a line of the robots.txt or a header, such as ``X-Robots-Tag``."""

    def describe(self) -> str:
        """Returns what decided, in words: ``Disallow: /a, line 3 of https://x.example/robots.txt``.

        Safe to print: control characters from the site are escaped, and long rules are cut short.
        """
        where = printable(self.robots_url or "robots.txt", _SHOWN)
        why, rule = self.reason.words.format(where), printable(self.rule or "", _SHOWN)
        line = f"line {self.line} of {where}" if self.line else ""
        if self.reason is Reason.RULE:
            why = f"{rule}, {line or where}" if rule else why
            sent = f", because it may be sent as {printable(self.form, _SHOWN)}"
            why += sent if self.form else ""
        elif self.reason is Reason.AI_PREFERENCE:
            said = f"{rule}, {line or printable(self.source, _SHOWN)}"
            why = f"{said}, disallows {printable(self.use, _SHOWN)}" if rule else why
        elif self.reason is Reason.CRAWL_DELAY and self.delay is not None:
            why += f" ({self.delay:g} s)"
        elif self.outcome:
            why += f" ({self.outcome})"
        return why + (f"; override: {printable(self.override, _SHOWN)}" if self.override else "")

    def __bool__(self) -> bool:
        return self.allowed


class Explanation(NamedTuple):
    """A verdict, and the rules that match the URL as well but were beaten (RFC 9309 2.2.2).

    It is true if the URL may be fetched.
    """

    verdict: Verdict
    """The verdict of the rule that decides."""
    beaten: tuple[Verdict, ...] = ()
    """The verdicts of the beaten rules, the strongest first."""

    def __bool__(self) -> bool:
        return self.verdict.allowed
