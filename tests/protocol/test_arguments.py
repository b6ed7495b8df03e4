"""What is not what a function takes is told in words, and never read as something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scrapy_robots_plus import RobotsParser
from scrapy_robots_plus.protocol import DIALECTS, GOOGLE, RFC9309, RobotsTxt, dialect_named
from scrapy_robots_plus.protocol.lint import lint
from scrapy_robots_plus.robotparser import RobotFileParser

BODY = "User-agent: *\nDisallow: /private\n"
URL = "https://www.example.com/private"


@pytest.mark.parametrize("read", [RobotsTxt.parse, lint])
@pytest.mark.parametrize("body", [Path("robots.txt"), None, 5, ["User-agent: *"], {}])
def test_a_body_of_another_type_is_an_error_that_names_what_is_taken(read: Any, body: Any) -> None:
    with pytest.raises(TypeError, match="bytes, bytearray, memoryview or str, not") as told:
        read(body)
    assert type(body).__name__ in str(told.value)
    assert "read_bytes()" in str(told.value)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, bytes.decode])
def test_a_body_may_be_octets_or_text(kind: Any) -> None:
    body = kind(BODY.encode())
    assert not RobotsTxt.parse(body).allowed(URL, "foobot")
    assert lint(body).lines == lint(BODY).lines


ASKED = ("allowed", "verdict", "explain")


@pytest.mark.parametrize("question", ASKED)
@pytest.mark.parametrize("agent", ["foobot", b"foobot", "Mozilla/5.0 (X11) Foobot/1.0", ["foobot"]])
@pytest.mark.parametrize("url", [URL, URL.upper(), URL.encode(), "http://example.com", "/", "/a"])
def test_exchanged_arguments_are_an_error(question: str, agent: Any, url: Any) -> None:
    file = RobotsTxt.parse(BODY)
    with pytest.raises(ValueError, match=r"is a URL and .* is none: were the two exchanged"):
        getattr(file, question)(agent, url)
    getattr(file, question)(url, agent)


def test_exchanged_arguments_are_an_error_for_the_other_parsers() -> None:
    parser = RobotFileParser()
    parser.parse(BODY.splitlines())
    assert not parser.can_fetch("foobot", URL)
    with pytest.raises(ValueError, match="exchanged"):
        parser.can_fetch(URL, "foobot")
    scrapys = RobotsParser.from_crawler(None, BODY.encode())
    with pytest.raises(ValueError, match="exchanged"):
        scrapys.allowed("foobot", URL)


@pytest.mark.parametrize("url", [URL, "/private", "/", "?a", "", b"/private", b"?a", b""])
@pytest.mark.parametrize("question", ASKED)
def test_a_crawler_may_have_a_url_for_a_name(url: Any, question: str) -> None:
    getattr(RobotsTxt.parse(BODY), question)(url, "https://www.example.com/bot")


@pytest.mark.parametrize("agent", ["", "http", "foobot http://e.example", "ftp://e"])
def test_a_url_may_be_anything_beside_a_name(agent: str) -> None:
    assert RobotsTxt.parse(BODY).allowed("foobot", agent)


@pytest.mark.parametrize("name", ["GOOGLE", "google", GOOGLE])
def test_a_dialect_may_be_given_by_its_name(name: Any) -> None:
    assert dialect_named(name) is GOOGLE
    assert RobotsTxt.parse(BODY, name).dialect is GOOGLE
    assert lint(BODY, name).dialect is GOOGLE
    parser = RobotFileParser(dialect=name)
    assert parser.dialect is GOOGLE
    parser.parse(["User-agent: *", "Disallow: /"])
    assert not parser.can_fetch("foobot", "/robots.txt")
    scrapys = RobotsParser.from_crawler(None, BODY.encode())
    assert scrapys.dialect is RFC9309
    assert scrapys.read_as(name).dialect is GOOGLE


@pytest.mark.parametrize("name", ["RFC9308", "", None, 5, "GOOGLE "])
@pytest.mark.parametrize(
    "read",
    [
        lambda name: RobotsTxt.parse(BODY, name),
        lambda name: lint(BODY, name),
        lambda name: RobotFileParser(dialect=name),
        lambda name: RobotsParser.from_crawler(None, b"").read_as(name),
        dialect_named,
    ],
)
def test_another_name_is_an_error_that_lists_the_names(name: Any, read: Any) -> None:
    with pytest.raises(ValueError, match=", ".join(DIALECTS)) as told:
        read(name)
    assert repr(name) in str(told.value)
