"""``scrapy robots explain``: all that decides about one URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.protocol.http_caching import source_of_lifetime
from scrapy_robots_plus.protocol.printable import duration

from .output import named, picked
from .project import site_of
from .subcommand import AGENT, DIALECT, FILE, JSON, Subcommand, argument
from .urls import EXITS, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.product_token import AgentNames

    from .project import Source


URL = argument("url", metavar="URL", help="an absolute http or https URL")


class Explain(Subcommand):
    """Show all that decides about one URL.

    The rule and those it beat, the group and why it applies, the state of the robots.txt, the
    delay, and what the page may be used for. Exit status: 0 if it is allowed, 1 if it is denied, 2
    if its robots.txt cannot be read.
    """

    arguments = URL, AGENT, DIALECT, FILE, JSON

    def run(self) -> None:
        url, _ = site_of(self.given.url)
        name = self.given.file
        source = self.project.file(name) if name else self.project.read([url])[0]
        found = explanation(url, self.project.agent_for(source.policy), source)
        self.show([found], (f"{title:11} {words}" for title, words in _in_words(found)))
        self.note(EXITS[found["result"]])


def _in_words(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The answer, and all that is known, each with its title."""
    yield found["result"], found["url"]
    yield "because", found["why"]
    for beaten in found.get("beaten", ()):
        yield "beats", f"{beaten['rule']}, line {beaten['line']}"
    yield "agent", named(found["agent"])
    if "groups" in found:
        yield "group", _group(found["groups"], found["looked_for"])
    yield from _file(found["robots_txt"])
    yield from _pace(found["pace"])
    for each in found["uses"]["statements"]:
        where = f"line {each['line']}" if each["line"] else each["source"]
        yield "use", f"{each['category']}: {each['preference']} ({each['text']}, {where})"
    for url in found["licenses"]:
        yield "licence", url


def _group(groups: tuple[tuple[str, ...], ...], names: tuple[str, ...]) -> str:
    looked_for = " or ".join(names) or "a product token, and the agent has none"
    if not groups:
        return f"none applies: none is for {looked_for}, and none for *"
    agents = "; ".join(", ".join(each) for each in groups)
    return f"User-agent: {agents} (looked for {looked_for})"


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
    if pace["visit_time"]:
        yield "visit time", pace["visit_time"]


def explanation(url: str, agent: AgentNames, source: Source) -> dict[str, Any]:
    """All that decides about *url*, for ``--json``."""
    policy = source.policy
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
    }
    file = policy.parsed
    if file is not None:
        found["looked_for"] = file.names_for(agent)
        found["groups"] = file.groups_for(agent)
        found["dialect"] = file.dialect.name
        beaten = file.explain(verdict.form or url, agent).beaten
        found["beaten"] = [picked(each, "allowed", "rule", "line") for each in beaten]
    return found


def _state(source: Source) -> dict[str, Any]:
    policy, record, is_file = source
    state: dict[str, Any] = {
        "robots_url": record.url,
        "asked_url": record.url if is_file else record.origin.robots_url,
        **picked(policy, "access", "in_words"),
        "detail": policy.detail or None,
        "sha256": record.sha256 or None,
        "size": len(record.body) if record.body else None,
        "cut": record.is_cut,
    }
    if not is_file:
        state |= {
            "age": round(policy.age, 1),
            "fresh_for": round(policy.fresh_for, 1),
            "failures": record.failures,
            "lifetime_from": source_of_lifetime(record.headers),
        }
    return state


def _pace_of(policy: Policy, agent: AgentNames) -> dict[str, Any]:
    delay = policy.pace_of(agent).delay
    visits = policy.file.visit_time(agent) if policy.file else None
    return {
        "delay_asked": None if delay is None else delay.asked,
        "delay": None if delay is None or delay.skip else delay.kept,
        "skips_host": delay is not None and delay.skip,
        "visit_time": None if visits is None else str(visits),
    }
