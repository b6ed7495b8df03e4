"""What commands say about one URL, in words and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.crawl.requests import as_requested
from scrapy_robots_plus.protocol.origin import Origin

from .output import Style

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.verdict import Verdict

STYLES = {"allowed": Style.GOOD, "denied": Style.BAD, "undecided": Style.UNSURE}
"""How the words look that :func:`word_for` returns."""


def origin_of(url: str) -> tuple[str, Origin | None]:
    """*url* as a request would have it, and its origin; None if it is not http or https.

    Raises ValueError, saying what is expected, if no request can be sent.
    """
    requested = as_requested(url)
    return requested, Origin.of(requested)


def word_for(verdict: Verdict) -> str:
    """``allowed``, ``denied``, or ``undecided`` if the robots.txt cannot be read."""
    if verdict.allowed:
        return "allowed"
    return "undecided" if verdict.reason.is_unread else "denied"


def fields_of(verdict: Verdict) -> dict[str, Any]:
    """The verdict for ``--json``."""
    return {
        "result": word_for(verdict),
        "allowed": verdict.allowed,
        "reason": verdict.reason,
        "rule": verdict.rule,
        "line": verdict.line,
        "group": verdict.group,
        "robots_url": verdict.robots_url,
        "status": verdict.outcome,
        "delay": verdict.delay,
        "form": verdict.form,
        "override": verdict.override,
    }
