"""What ``response.meta["robots"]`` holds: plain values, made anew for each request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.crawl.clock import timestamp
from scrapy_robots_plus.crawl.requests import STAMP_META_KEY
from scrapy_robots_plus.origins.our_parser import MOST_LICENSES
from scrapy_robots_plus.origins.policies import NOT_READ
from scrapy_robots_plus.protocol.preferences import CURRENT, Preference, Preferences
from scrapy_robots_plus.protocol.verdict import Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request

    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.product_token import AgentNames

MOST_OF_A_TEXT = 500
"""Characters of a line of a robots.txt."""

_NOT_READ = dict.fromkeys(CURRENT.labels, NOT_READ)
_UNKNOWN = dict.fromkeys(CURRENT.labels, Preference.UNKNOWN.value)


def put_stamp(
    request: Request,
    verdict: Verdict,
    policy: Policy | None,
    agent: AgentNames,
    preferences: Preferences | None = None,
) -> None:
    """Stamps *request* with its *verdict*, in the place of an earlier stamp.

    *preferences*: those of its page, if they are known; otherwise those of *policy*.
    """
    stamp = request.meta[STAMP_META_KEY] = stamp_of(verdict)
    if policy is not None:
        settings, record = policy.settings, policy.record
        stamp["override"] = settings.override and settings.override.label
        if settings.needs_file:
            stamp["fetched_at"] = timestamp(record.fetched_at)
        if settings.needs_file or settings.robots_txt is not None:
            stamp["robots_url"], stamp["source"] = record.url, policy.source._value_
            stamp["sha256"] = record.sha256 or None
            licenses = policy.licenses(agent)
            if licenses:
                stamp["licenses"] = [each[:MOST_OF_A_TEXT] for each in licenses]
        if preferences is None:
            preferences = policy.preferences(request.url, agent)
        if policy.reads_uses:
            stamp["preferences"] = _UNKNOWN.copy()
    if preferences:
        _add(stamp, preferences)


def add_preferences(
    request: Request, preferences: Preferences, licenses: Sequence[str] = ()
) -> None:
    """Adds what a page says to the stamp of *request*."""
    stamp = request.meta.get(STAMP_META_KEY)
    if isinstance(stamp, dict):  # a middleware may have removed it
        _add(stamp, preferences)
        known = [*stamp["licenses"], *(each[:MOST_OF_A_TEXT] for each in licenses[:MOST_LICENSES])]
        stamp["licenses"] = list(dict.fromkeys(known))


def _add(stamp: dict[str, Any], preferences: Preferences) -> None:
    before, known = stamp["preferences"], {each.category for each in preferences.statements}
    stamp |= preferences.as_dict()
    stamp["preferences"] |= {
        use: NOT_READ for use in before if before[use] == NOT_READ and use not in known
    }
    stamp["tdm_policy"] = (preferences.tdm_policy or "")[:MOST_OF_A_TEXT] or None


def remove_stamp(request: Request) -> None:
    """Removes a stamp that came with the meta of another request, and says nothing of this one."""
    request.meta.pop(STAMP_META_KEY, None)


def put_page(request: Request, said: dict[str, Any]) -> None:
    """Adds what the page of *request* *said* to a copy of its stamp, which others may share."""
    request.meta[STAMP_META_KEY] = {**request.meta.get(STAMP_META_KEY, {}), "page": said}


class ItemStamp(dict[str, Any]):
    """A stamp in an item: as text, which is what a cell of a CSV file has of it, it is JSON.

    A copy, and what is pickled, is a plain dict.
    """

    def __str__(self) -> str:
        return json.dumps(self)

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (dict(self),)


def in_columns(stamp: dict[str, Any], field: str) -> dict[str, Any]:
    """The values of a *stamp* by the names of columns that begin with *field*, each of one type,
    never None: what is nested is JSON, and what is not there an empty text, or 0."""
    whole = {**NOT_CHECKED, **stamp}
    whole |= {use.replace("-", "_"): each for use, each in whole.pop("preferences").items()}
    whole["line"] = whole["line"] or 0
    return {
        f"{field}_{key}": json.dumps(value) if isinstance(value, (dict, list)) else
        "" if value is None else value
        for key, value in whole.items()
    }  # fmt: skip


def stamp_of(verdict: Verdict) -> dict[str, Any]:
    """The stamp of a request with this *verdict*, as far as no file decided."""
    rule = verdict.rule
    return {
        "allowed": verdict.allowed,
        "reason": verdict.reason._value_,  # ``value`` takes ten times as long in Python 3.11
        "rule": rule if rule is None else rule[:MOST_OF_A_TEXT],
        "line": verdict.line,
        "requested_at": None,
        "override": None,
        "robots_url": None,
        "source": None,
        "sha256": None,
        "fetched_at": None,
        "vocabulary": CURRENT.name,
        "preferences": _NOT_READ.copy(),
        "statements": [],
        "tdm_policy": None,
        "licenses": [],
        "page": None,
    }


NOT_CHECKED = stamp_of(Verdict(allowed=True, reason=Reason.NOT_OBEYED))
"""Of an item of a page that was not checked, where each item must have the same columns."""
