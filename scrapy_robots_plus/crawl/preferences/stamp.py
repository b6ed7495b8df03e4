"""What ``response.meta["robots"]`` holds: plain values, made anew for each request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.crawl.requests import STAMP_META_KEY
from scrapy_robots_plus.crawl.timestamps import timestamp

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_robots_plus.crawl.policies.policy import Policy
    from scrapy_robots_plus.protocol.verdict import Verdict

MOST_OF_A_TEXT = 500
"""Characters of a line of a robots.txt."""


def put_stamp(request: Request, verdict: Verdict, policy: Policy | None) -> None:
    """Stamps *request* with its *verdict*, in the place of an earlier stamp."""
    request.meta[STAMP_META_KEY] = stamp_of(verdict, policy)


def remove_stamp(request: Request) -> None:
    """Removes a stamp that came with the meta of another request, and says nothing of this one."""
    request.meta.pop(STAMP_META_KEY, None)


def copied(value: Any) -> Any:
    """A stamp, or a part of one, that shares nothing with *value* that can be changed."""
    if isinstance(value, dict):
        return {key: copied(part) for key, part in value.items()}
    return [copied(part) for part in value] if isinstance(value, list) else value


def stamp_of(verdict: Verdict, policy: Policy | None) -> dict[str, Any]:
    """The stamp of a request with this *verdict* of *policy*, None if there was none."""
    rule = verdict.rule
    stamp: dict[str, Any] = {
        "allowed": verdict.allowed,
        "reason": verdict.reason.value,
        "rule": rule if rule is None else rule[:MOST_OF_A_TEXT],
        "line": verdict.line,
        "override": None,
        "robots_url": None,
        "source": None,
        "sha256": None,
        "fetched_at": None,
    }
    if policy is not None:
        _add_file(stamp, policy)
    return stamp


def _add_file(stamp: dict[str, Any], policy: Policy) -> None:
    settings, record = policy.settings, policy.record
    if settings.override is not None:
        stamp["override"] = settings.override.label
    if settings.needs_file:
        stamp["fetched_at"] = timestamp(record.fetched_at)
    elif settings.robots_txt is None:
        return
    stamp["robots_url"] = record.url
    stamp["source"] = policy.source.value
    stamp["sha256"] = record.sha256 or None
