"""Whichever parser is in use, a file in another charset than UTF-8 keeps its rules."""

from __future__ import annotations

import pytest
import pytest_twisted

from tests.crawling import OTHER_PARSER, crawl
from tests.sites import Sites, answer

PARSERS = [
    "scrapy_robots_plus.RobotsParser",
    "scrapy.robotstxt.ProtegoRobotParser",
    "scrapy.robotstxt.PythonRobotParser",
    "scrapy.robotstxt.RerpRobotParser",
]
RULES = "User-agent: *\nDisallow: /private\nDisallow: /закрыто\nAllow: /\n"
FILES = {
    "UTF-8 with a mark": answer(RULES.encode("utf-8-sig")),
    "UTF-16 with a mark": answer(RULES.encode("utf-16")),
    "UTF-16 with a label": answer(
        RULES.encode("utf-16-be"), content_type="text/plain; charset=utf-16be"
    ),
    "a label": answer(RULES.encode("cp1251"), content_type="text/plain; charset=windows-1251"),
    "a comment in Latin-1": answer(b"# d\xe9fendu\n" + RULES.encode()),
    "a comment cut in two": answer(b"# \xd0\n" + RULES.encode()),
}


@pytest.mark.skipif(OTHER_PARSER is not None, reason="sets the parser itself")
@pytest.mark.parametrize("parser", PARSERS)
@pytest_twisted.ensureDeferred
async def test_rules_are_found_in_any_charset(sites: Sites, parser: str) -> None:
    hosts = [sites.host(file) for file in FILES.values()]
    paths = ("/private/x", "/закрыто/x", "/open")
    urls = [host.url(path) for host in hosts for path in paths]
    await crawl(*urls, ROBOTSTXT_PARSER=parser)
    fetched = dict(zip(FILES, (host.fetched for host in hosts), strict=True))
    assert fetched == {name: ["/open"] for name in FILES}


@pytest.mark.skipif(OTHER_PARSER is not None, reason="sets the parser itself")
@pytest.mark.parametrize("parser", PARSERS)
@pytest_twisted.ensureDeferred
async def test_octets_that_are_no_utf_8_match_as_they_are_sent(sites: Sites, parser: str) -> None:
    host = sites.host()
    host.robots(answer(b"User-agent: *\nDisallow: /d\xe9fendu\n"))
    await crawl(host.url("/d%E9fendu/x"), host.url("/dfendu"), ROBOTSTXT_PARSER=parser)
    assert host.fetched == ["/dfendu"]
