"""``scrapy robots explain``: all that decides about one URL."""

from __future__ import annotations

from collections.abc import Iterator

from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.protocol.http_caching import source_of_lifetime
from scrapy_robots_plus.protocol.printable import duration
from scrapy_robots_plus.protocol.product_token import AgentNames
from scrapy_robots_plus.protocol.verdict import Reason, Verdict

from .check import EXITS, fields_of, word_for
from .inputs import AGENT, DIALECT, FILE, JSON, argument, site_of
from .project import Source
from .subcommand import Subcommand, named, titled

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
        agent = self.project.agent_for(source.policy)
        verdict = source.policy.verdict(url, agent)
        word, facts = word_for(verdict), list(_facts(url, agent, source, verdict))
        fields = {
            "url": url,
            **fields_of(verdict),
            "sha256": source.record.sha256 or None,
            "facts": facts,
        }
        self.show([fields], titled([(word, url), *facts]))
        self.note(EXITS[word])


def _facts(
    url: str, agent: AgentNames, source: Source, verdict: Verdict
) -> Iterator[tuple[str, str]]:
    policy, file = source.policy, source.policy.parsed
    yield "because", verdict.describe()
    if file is not None:
        best, beaten = file.explain(verdict.form or url, agent)
        if best.rule and verdict.reason is not Reason.RULE:
            beaten = (best, *beaten)
        yield from (("beats", f"{each.rule}, line {each.line}") for each in beaten)
    yield "agent", named(agent)
    if file is not None:
        yield "group", _group(file.groups_for(agent), file.names_for(agent))
    yield from _file(source)
    yield from _pace(policy, agent)
    for statement in policy.preferences(url, agent).statements:
        yield "use", statement.describe()
    yield from (("licence", each) for each in policy.licenses(agent))


def _group(groups: tuple[tuple[str, ...], ...], names: tuple[str, ...]) -> str:
    looked_for = " or ".join(names) or "a product token, and the agent has none"
    if not groups:
        if not names:
            return "no group applies: the agent has no product token, and there is none for *"
        return f"no group applies: there is none for {looked_for} or for *"
    agents = "; ".join(", ".join(each) for each in groups)
    return f"User-agent: {agents} (looked for {looked_for})"


def _file(source: Source) -> Iterator[tuple[str, str]]:
    policy, record, is_file = source
    asked = record.origin.robots_url
    moved = "" if is_file or record.url == asked else f", where {asked} redirects to"
    size = f", {len(record.body):,} bytes" if record.body else ""
    if record.is_cut:
        size += " (longer than ROBOTS_FETCH_MAX_BYTES; the rest is ignored)"
    detail = f" ({policy.detail})" if policy.detail else ""
    yield "robots.txt", f"{policy.in_words}{detail}{size}: {record.url}{moved}"
    if is_file:
        return
    left = duration(max(0.0, policy.fresh_for))
    if record.failures:
        yield "freshness", f"{record.failures:,} failed in a row, next attempt in {left}"
    else:
        says = source_of_lifetime(record.headers)
        says = says or "no header says, so by ROBOTS_DIALECT and ROBOTS_TTL"
        read = f"fetched or confirmed {duration(policy.age)} ago"
        yield "freshness", f"{read}, fresh for another {left} ({says})"


def _pace(policy: Policy, agent: AgentNames) -> Iterator[tuple[str, str]]:
    delay, kept_visits = policy.pace_of(agent)
    visits = policy.file.visit_time(agent) if policy.file else None
    if delay is not None:
        kept = ": longer than ROBOTS_CRAWL_DELAY_MAX" if delay.skip else f", {delay.kept:g} s kept"
        yield "delay", f"{delay.asked:g} s asked{kept}"
    if visits:
        yield "visit time", f"{visits}" if kept_visits else f"{visits}: ignored (ROBOTS_VISIT_TIME)"
