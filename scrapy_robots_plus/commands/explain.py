"""``scrapy robots explain``: all that decides about one URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.origins.parsers import charset_of
from scrapy_robots_plus.protocol import DIALECTS, Dialect, RobotsTxt, Verdict
from scrapy_robots_plus.protocol.clean_param import CleanParams
from scrapy_robots_plus.protocol.http_caching import source_of_lifetime
from scrapy_robots_plus.protocol.printable import duration

from .output import fact, named, picked
from .subcommand import AGENT, DIALECT, FILE, JSON, Subcommand, argument
from .urls import EXITS, STYLES, fields_of, site_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.storage.record import RobotsRecord

    from .project import Source

SITEMAPS_SHOWN = 10


class Explain(Subcommand):
    """Show all that decides about one URL.

    The rule and those it beat, the group and why it applies, the state of the robots.txt, what the
    page may be used for, the delay, the sitemaps, and other dialects in which the answer differs.
    Exit status: 0 if it is allowed, 1 if it is denied, 2 if its robots.txt cannot be read.
    """

    arguments = (
        argument("url", metavar="URL", help="an absolute http or https URL"),
        AGENT,
        DIALECT,
        FILE,
        JSON,
    )

    def run(self) -> None:
        self._url, origin = site_of(self.given.url)
        name = self.given.file
        self.project.read([origin if name is None else self.file(name)], self._explain)

    def _explain(self, source: Source) -> None:
        found = explanation(self._url, self.project.agent_for(source.policy), source)
        word = found["result"]
        answer = (f"{word:11} ", STYLES[word]), found["url"]
        self.show(found, [answer, *(fact(*each, 11) for each in _in_words(found))])
        self.note(EXITS[word])


def _in_words(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What is known besides the answer, each with its title."""
    yield "because", found["why"]
    for beaten in found.get("beaten", ()):
        yield "beats", f"{beaten['rule']}, line {beaten['line']}"
    yield "agent", named(found["agent"])
    if "groups" in found:
        yield "group", _group(found["groups"], found["looked_for"])
    for name, other in found.get("other_dialects", {}).items():
        yield "but", _otherwise(name, other)
    yield from _file(found["robots_txt"])
    yield from _pace(found["pace"])
    for each in found["uses"]["statements"]:
        where = f"line {each['line']}" if each["line"] else each["source"]
        yield "use", f"{each['category']}: {each['preference']} ({each['text']}, {where})"
    for url in found["licenses"]:
        yield "licence", url
    if found.get("cleaned") not in (None, found["url"]):
        yield "equal to", f"{found['cleaned']} (Clean-param)"
    if found["preferred_host"]:
        yield "host", f"{found['preferred_host']}, which the site prefers"
    sitemaps = found["sitemaps"]
    for url in sitemaps[:SITEMAPS_SHOWN]:
        yield "sitemap", url
    if len(sitemaps) > SITEMAPS_SHOWN:
        yield "", f"and {len(sitemaps) - SITEMAPS_SHOWN:,} more"


def _group(groups: list[tuple[str, ...]], names: tuple[str, ...]) -> str:
    looked_for = " or ".join(names) or "a product token, and the agent has none"
    if not groups:
        return f"none applies: none is for {looked_for}, and none for *"
    agents = "; ".join(", ".join(each) for each in groups)
    return f"User-agent: {agents} (looked for {looked_for})"


def _otherwise(name: str, other: dict[str, Any]) -> str:
    word = "allowed" if other["allowed"] else "denied"
    rule = f"{other['rule']}, line {other['line']}" if other["rule"] else "no rule matches"
    return f"{word} in the dialect {name} ({rule})"


def _file(state: dict[str, Any]) -> Iterator[tuple[str, str]]:
    url, asked = state["robots_url"], state["asked_url"]
    came_from = "" if url == asked else f", where {asked} redirects to"
    size = "" if state["size"] is None else f", {state['size']:,} bytes"
    if state["cut"]:
        size += " (longer than ROBOTS_FETCH_MAX_BYTES; the rest is ignored)"
    detail = f" ({state['detail']})" if state["detail"] else ""
    yield "robots.txt", f"{state['in_words']}{detail}{size}: {url}{came_from}"
    if "age" not in state:
        return
    left = duration(max(0.0, state["fresh_for"]))
    if state["failures"]:
        yield "freshness", f"{state['failures']:,} failed in a row, next attempt in {left}"
    else:
        source = state["lifetime_from"] or "no header says, so by ROBOTS_DIALECT and ROBOTS_TTL"
        read = f"fetched or confirmed {duration(state['age'])} ago"
        yield "freshness", f"{read}, fresh for another {left} ({source})"


def _pace(pace: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if pace["skips_host"]:
        yield "delay", f"{pace['delay_asked']:g} s asked: longer than ROBOTS_CRAWL_DELAY_MAX"
    elif pace["delay_asked"] is not None:
        yield "delay", f"{pace['delay_asked']:g} s asked, {pace['delay']:g} s kept"
    for each in pace["hourly"]:
        yield "delay", f"{each['delay']:g} s during {each['hours']}"
    if pace["visit_time"]:
        yield "visit time", pace["visit_time"]


def explanation(url: str, agent: AgentNames, source: Source) -> dict[str, Any]:
    """All that decides about *url*, for ``--json``."""
    policy, record, _ = source
    verdict = policy.verdict(url, agent)
    found = {
        "url": url,
        "agent": agent,
        **fields_of(verdict),
        "why": verdict.describe(),
        "robots_txt": _state(source),
        "pace": _pace_of(policy, agent),
        "uses": policy.preferences(url, agent).as_dict(),
        "licenses": list(policy.licenses(agent)),
        "preferred_host": policy.host,
        "sitemaps": list(policy.sitemaps),
    }
    file = policy.parsed
    if file is not None:
        found["looked_for"] = file.names_for(agent)
        found["groups"] = [group.agents for group in file.groups_for(agent)]
        found["beaten"] = list(map(_of_rule, file.explain(verdict.form or url, agent).beaten))
        found["dialect"] = file.dialect.name
        found["cleaned"] = CleanParams(file.clean_params).cleaned(url)
        found["other_dialects"] = dict(_others(verdict, url, agent, file.dialect, record))
    return found


def _state(source: Source) -> dict[str, Any]:
    policy, record, is_file = source
    state: dict[str, Any] = {
        "robots_url": record.url,
        "asked_url": record.url if is_file else record.origin.robots_url,
        **picked(policy, "status", "access", "in_words"),
        "detail": policy.detail or None,
        "sha256": record.sha256 or None,
        "size": len(record.body) if record.body else None,
        "cut": record.is_cut,
    }
    if not is_file:
        state |= {
            "age": round(policy.age, 1),
            "fresh_for": round(policy.fresh_for, 1),
            **picked(record, "lifetime", "failures"),
            "lifetime_from": source_of_lifetime(record.headers),
        }
    return state


def _pace_of(policy: Policy, agent: AgentNames) -> dict[str, Any]:
    delay, hours, _ = policy.pace_of(agent)
    visits = policy.file.visit_time(agent) if policy.file else None
    return {
        "delay_asked": None if delay is None else delay.asked,
        "delay": None if delay is None or delay.skip else delay.kept,
        "skips_host": delay is not None and delay.skip,
        "hourly": [] if hours is None else [{"hours": str(hours[0]), "delay": hours[1].kept}],
        "visit_time": None if visits is None else str(visits),
    }


def _of_rule(verdict: Verdict) -> dict[str, Any]:
    return picked(verdict, "allowed", "rule", "line")


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
