"""A file written back says to each crawler what it said before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st

from scrapy_robots_plus.protocol import GYM2008, Dialect, RobotsTxt
from tests.examples import tried
from tests.protocol.any_file import dialects

if TYPE_CHECKING:
    from collections.abc import Iterable

BODY = """\
# for all
user-agent : *
Disallow: /private  # comment
Crawl-Delay: 5
Sitemap: /sitemap.xml

User-agent: Foobot/1.0
Crawldelay: 1
useragent barbot
Nonsense: 1
allow: /caf\u00e9*$
Disallow:
"""

WRITTEN = """\
User-agent: *
Disallow: /private
Crawl-delay: 5
User-agent: Foobot/1.0
Crawl-delay: 1
User-agent: barbot
Allow: /caf\u00e9*$
Disallow: """


def test_the_lines_of_groups_are_written_as_they_are_meant() -> None:
    assert RobotsTxt.parse(BODY).as_text() == WRITTEN


@pytest.mark.parametrize("body", ["", "Disallow: /", "User-agent: a", BODY, WRITTEN])
def test_what_is_written_is_written_again(body: str) -> None:
    written = RobotsTxt.parse(body).as_text()
    assert RobotsTxt.parse(written).as_text() == written


AGENTS = ("a", "b", "foo", "f\xe9", "*", "")

keys = st.sampled_from(
    [
        *("User-agent: ", "User-agent: ", "useragent ", "Allow: ", "Disallow: "),
        *("disallow:", "Dissalow ", "Crawl-delay: ", "Request-rate: ", "Visit-time: "),
        *("Sitemap: ", "Content-Signal: ", "Other: ", "", " ", "#"),
    ]
)
agent_values = st.sampled_from([*AGENTS, "* a", "a/1 #"])
path_pieces = st.sampled_from(
    ["/", "/a", "a", "b", "*", "$", "?", "#", " ", "%", "%4", "1", "%2f", "%41", "\xe9", "\0"]
)
path_values = st.lists(path_pieces, max_size=6).map("".join)
pace_values = st.sampled_from(["1", "2.5", "soon", "1/5", "1/5s 0600-0845", "0600 0845"])
lines = st.tuples(keys, st.one_of(agent_values, agent_values, path_values, pace_values))
files = st.lists(lines.map("".join), max_size=16).map("\n".join)


def test_blank_lines_and_sitemaps_are_written_where_they_end_something() -> None:
    body = "User-agent: a\nSitemap: /s\nUser-agent: b\n\n# c\nDisallow: /\n"
    written = "User-agent: a\nSitemap: /s\nUser-agent: b\n\nDisallow: /"
    assert RobotsTxt.parse(body, GYM2008).as_text() == written


def answers(file: RobotsTxt, urls: Iterable[str]) -> dict[str, object]:
    return {
        agent: (
            [file.allowed(url, agent) for url in urls],
            file.crawl_delay(agent),
            file.request_rate(agent),
            file.visit_time(agent),
        )
        for agent in AGENTS
    }


@tried(600, files, dialects, st.lists(path_values, min_size=1, max_size=4))
def test_it_gives_the_same_answers(body: str, dialect: Dialect, paths: list[str]) -> None:
    file = RobotsTxt.parse(body, dialect)
    urls = ["/", "/a", *paths]
    assert answers(RobotsTxt.parse(file.as_text(), dialect), urls) == answers(file, urls)
