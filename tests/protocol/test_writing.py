"""A file written back says to each crawler what it said before."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import RobotsTxt

BODY = """\
# for all
user-agent : *
Disallow: /private  # comment
Crawl-Delay: 5
Sitemap: /sitemap.xml

User-agent: Foobot/1.0
Crawl-delay: 1
User-agent: barbot
request-rate: 1/10s 0600-0845
Crawl-delay: never
Visit-time: 0600-0845
allow: /caf\u00e9*$
Disallow:
"""

WRITTEN = """\
User-agent: Foobot/1.0
Crawl-delay: 1
User-agent: barbot
Request-rate: 1/10s 0600-0845
Allow: /caf\u00e9*$
Disallow: 

User-agent: *
Crawl-delay: 5
Disallow: /private"""  # noqa: W291 - an empty rule


def test_groups_for_all_come_last_and_each_agent_keeps_its_pace() -> None:
    assert RobotsTxt.parse(BODY).as_text() == WRITTEN
    assert RobotsTxt.parse(WRITTEN).as_text() == WRITTEN


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("", ""),
        ("Disallow: /", ""),
        ("User-agent: a", "User-agent: a"),
        ("User-agent: a\nUser-agent: *\nAllow: /", "User-agent: a\nUser-agent: *\nAllow: /"),
        ("User-agent: a\nDisallow: /\x1b", "User-agent: a\nDisallow: /\x1b"),
        ("User-agent: *\nUser-agent: a", "User-agent: *\nUser-agent: a"),
        ("User-agent: a\nCrawl-delay: 2\nUser-agent: b", None),
    ],
)
def test_of_little(body: str, text: str | None) -> None:
    assert RobotsTxt.parse(body).as_text() == (body if text is None else text)
