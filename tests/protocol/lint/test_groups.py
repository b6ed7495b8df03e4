"""Groups that nobody reaches: no crawler ever chooses one of them, in any dialect."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from scrapy_robots_plus.protocol import DIALECTS, Dialect, RobotsTxt
from scrapy_robots_plus.protocol.dialect import Choice, Names
from scrapy_robots_plus.protocol.lint import Code, lint
from tests.examples import tried

dialects = st.one_of(
    st.sampled_from(list(DIALECTS.values())),
    st.builds(
        replace,
        st.sampled_from(list(DIALECTS.values())),
        names=st.sampled_from(Names),
        choice=st.sampled_from(Choice),
        tokens_only=st.booleans(),
        star_comes_last=st.booleans(),
        blank_line_ends_group=st.booleans(),
        orphans_for_all=st.booleans(),
    ),
)
names = st.one_of(
    st.text("ab", max_size=4), st.text("ab*1/ ", max_size=4), st.sampled_from(["*", "a", "mozilla"])
)
lines = st.one_of(
    names.map("User-agent: {}".format),
    st.sampled_from(["Disallow: /", "Disallow: /", "Crawl-delay: 1", "", "Sitemap: x"]),
)
files = st.lists(lines, max_size=14).map("\n".join)
agents = st.one_of(names.filter(str.strip), st.text("abx", min_size=1, max_size=6))


@tried(400, files, dialects, st.lists(agents, min_size=5, max_size=10))
def test_no_crawler_chooses_a_group_that_nobody_reaches(
    text: str, dialect: Dialect, asked: list[str]
) -> None:
    linted = lint(text, dialect)
    numbers = {each.line for each in linted.findings if each.code is Code.UNREACHABLE_GROUP}
    groups = {line.group for line in linted.lines if line.number in numbers}
    for agent in asked:
        assert groups.isdisjoint(linted.groups_of(agent))


@tried(300, files, st.lists(agents, min_size=5, max_size=10))
def test_every_other_group_is_chosen_by_the_crawlers_that_it_names(
    text: str, asked: list[str]
) -> None:
    linted = lint(text)
    unreachable = {each.line for each in linted.findings if each.code is Code.UNREACHABLE_GROUP}
    named = [line for line in linted.lines if line.role == "user-agent" and any(line.names)]
    reached = {line.group for line in named}
    for line in linted.lines:
        if line.number in unreachable:
            assert line.group not in reached
    for line in named:
        assert line.group in linted.groups_of(line.names[0] or line.names[-1])


@tried(300, files, dialects, agents)
def test_where_a_group_has_no_rules_its_crawlers_may_fetch_everything(
    text: str, dialect: Dialect, agent: str
) -> None:
    linted = lint(text, dialect)
    numbers = {each.line for each in linted.findings if each.code is Code.GROUP_WITHOUT_RULES}
    groups = {line.group for line in linted.lines if line.number in numbers}
    chosen = set(linted.groups_of(agent))
    if chosen and chosen <= groups:
        assert RobotsTxt.parse(text, dialect).allowed("/x", agent)
