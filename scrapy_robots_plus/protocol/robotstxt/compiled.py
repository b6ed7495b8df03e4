"""The rules of a file, put together for the crawlers that ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.product_token import Agent, as_names
from scrapy_robots_plus.protocol.rules.rules import Rules

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.dialect import Dialect
    from scrapy_robots_plus.protocol.groups.group_choice import Chosen, GroupChoice
    from scrapy_robots_plus.protocol.groups.sections import Section

_MAX_ASKED = 64
"""For how many crawlers a file keeps compiled rules."""

_MAX_COMPILED = 50_000
"""How many compiled rules a file keeps, however many crawlers share them in whatever way: as many
as 500 KiB can contain."""


class CompiledRules:
    """Compiles the groups of a crawler when it first asks, and keeps them for a bounded number."""

    __slots__ = ("_by_groups", "_choice", "_dialect", "_lines", "_sections", "asked")

    def __init__(
        self, sections: list[Section], choice: GroupChoice, lines: list[bytes], dialect: Dialect
    ) -> None:
        self._sections = sections
        self._choice = choice
        self._lines = lines
        self._dialect = dialect
        self._by_groups: dict[tuple[Chosen, ...], Rules] = {}
        self.asked: dict[Agent, Rules] = {}
        """Those of the crawlers that have asked."""

    def of(self, agent: Agent) -> Rules:
        """Those that apply to a crawler, compiled once for all crawlers that share them."""
        try:
            return self.asked[agent]
        except (KeyError, TypeError):
            names = as_names(agent)
        chosen = self._choice.groups_for(names)
        rules = self._by_groups.get(chosen)
        if rules is None or len(self.asked) >= _MAX_ASKED:
            rules = self._compile(chosen, rules)
        self.asked[agent if isinstance(agent, (str, bytes)) else names] = rules
        return rules

    def compile_most(self) -> None:
        """Compiles the rules most likely to be needed, so that no decision has to wait for it.

        Not the rules of all agents: groups may be shared in so many ways that it would take ages.
        """
        largest = max(self._sections, key=lambda each: len(each.rules), default=None)
        if largest is not None:
            self.of(largest.names[0][0]).compile()
            self.of("*").compile()

    def _compile(self, chosen: tuple[Chosen, ...], rules: Rules | None) -> Rules:
        """The rules of these groups; drops all others if there are too many."""
        if rules is None:
            parties = [[self._sections[position] for position in each] for each in chosen]
            rules = Rules(parties, self._lines, self._dialect)
        kept = sum([each.size for each in self._by_groups.values()])
        if len(self.asked) >= _MAX_ASKED or rules.size + kept > _MAX_COMPILED:
            self.asked.clear()
            self._by_groups.clear()
        self._by_groups[chosen] = rules
        return rules
