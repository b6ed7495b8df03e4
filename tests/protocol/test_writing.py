"""A file written back says to each crawler what it said before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from scrapy_robots_plus.protocol import Dialect, RobotsTxt
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


def test_the_lines_are_written_as_they_were_read() -> None:
    assert RobotsTxt.parse(BODY).as_text() == BODY.rstrip("\n")
    assert (
        RobotsTxt.parse(b"\xef\xbb\xbfa: b\r\rAllow: /\xe9\0x").as_text() == "a: b\n\nAllow: /\\xe9"
    )


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
