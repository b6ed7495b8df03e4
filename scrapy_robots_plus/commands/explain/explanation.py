"""All that decides about one URL, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.commands.answers import fields_of
from scrapy_robots_plus.origins.parsers.adapter import charset_of
from scrapy_robots_plus.protocol import DIALECTS, RobotsTxt, Verdict
from scrapy_robots_plus.protocol.freshness import source_of_lifetime
from scrapy_robots_plus.protocol.robotstxt.clean_param import CleanParams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol import Dialect
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.storage.record import RobotsRecord


def explanation(
    url: str, agent: AgentNames, policy: Policy, record: RobotsRecord, *, is_file: bool
) -> dict[str, Any]:
    """All that decides about *url*, for ``--json``; *record* has the text of the file."""
    verdict = policy.verdict(url, agent)
    found = {
        "url": url,
        "agent": agent,
        **fields_of(verdict),
        "why": verdict.describe(),
        "robots_txt": _state(policy, record, is_file=is_file),
        "pace": _pace(policy, agent),
        "uses": policy.preferences(url, agent).as_dict(),
        "licenses": list(policy.licenses(agent)),
        "preferred_host": policy.host,
        "sitemaps": list(policy.sitemaps),
    }
    file = policy.file.ours if policy.file else None
    if file is not None:
        found["looked_for"] = file.names_for(agent)
        found["groups"] = [group.agents for group in file.groups_for(agent)]
        found["beaten"] = list(map(_of_rule, file.explain(verdict.form or url, agent).beaten))
        found["dialect"] = file.dialect.name
        found["cleaned"] = CleanParams(file.clean_params).cleaned(url)
        found["other_dialects"] = dict(_others(verdict, url, agent, file.dialect, record))
    return found


def _state(policy: Policy, record: RobotsRecord, *, is_file: bool) -> dict[str, Any]:
    state: dict[str, Any] = {
        "robots_url": record.url,
        "asked_url": record.url if is_file else record.origin.robots_url,
        "status": policy.status,
        "access": policy.access,
        "in_words": policy.in_words,
        "detail": policy.detail or None,
        "sha256": record.sha256 or None,
        "size": len(record.body) if record.body else None,
        "cut": record.is_cut,
    }
    if not is_file:
        state |= {
            "age": round(policy.age, 1),
            "fresh_for": round(policy.fresh_for, 1),
            "lifetime": record.lifetime,
            "lifetime_from": source_of_lifetime(record.headers),
            "failures": record.failures,
        }
    return state


def _pace(policy: Policy, agent: AgentNames) -> dict[str, Any]:
    pace = policy.paces.of(agent)
    delay = pace.delay
    hours = pace.hourly
    visits = policy.file.visit_time(agent) if policy.file else None
    return {
        "delay_asked": None if delay is None else delay.asked,
        "delay": None if delay is None or delay.skip else delay.kept,
        "skips_host": delay is not None and delay.skip,
        "hourly": [] if hours is None else [{"hours": str(hours[0]), "delay": hours[1].kept}],
        "visit_time": None if visits is None else str(visits),
    }


def _of_rule(verdict: Verdict) -> dict[str, Any]:
    return {"allowed": verdict.allowed, "rule": verdict.rule, "line": verdict.line}


def _others(
    verdict: Verdict, url: str, agent: AgentNames, dialect: Dialect, record: RobotsRecord
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The dialects in which the rules answer otherwise."""
    for other in DIALECTS.values():
        if other.name != dialect.name:
            file = RobotsTxt.parse(record.body, other, charset_of(record.headers))
            answer = file.verdict(url, agent)
            if answer.allowed is not verdict.allowed:
                yield other.name, {**_of_rule(answer), "reason": answer.reason}
