"""The drop-in for the standard library's robots.txt parser."""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.robotparser
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from scrapy_robots_plus.protocol import GOOGLE
from scrapy_robots_plus.robotparser import RequestRate, RobotFileParser

BODY = """\
User-agent: *
Crawl-delay: 1.5
Request-rate: 1/10s
Disallow: /cyberworld/map/ # infinite
Disallow: /*.gif$
Allow: /cyberworld/map/allowed

User-agent: figtree
Crawl-delay: 3
Request-rate: 9/30
Disallow: /tmp

Sitemap: https://e.example/s.xml
"""


def parsed(body: str = BODY, **options: Any) -> RobotFileParser:
    parser = RobotFileParser(**options)
    parser.parse(body.splitlines())
    return parser


def test_it_is_a_robot_file_parser_with_all_its_methods() -> None:
    parser = RobotFileParser("https://e.example:8080/robots.txt")
    assert isinstance(parser, urllib.robotparser.RobotFileParser)
    parts: Any = parser  # those of the standard library that its stubs leave out
    assert (parts.host, parts.path) == ("e.example:8080", "/robots.txt")
    parser.set_url("https://f.example/robots.txt")
    assert parts.url == "https://f.example/robots.txt"
    public = {name for name in dir(urllib.robotparser.RobotFileParser) if not name.startswith("_")}
    assert public <= set(dir(parser))


def test_before_a_file_is_read_nothing_may_be_fetched() -> None:
    parser = RobotFileParser()
    assert parser.mtime() == 0
    assert not parser.can_fetch("bot", "/")
    assert parser.crawl_delay("bot") is None
    assert parser.request_rate("bot") is None
    assert parser.site_maps() is None


def test_parsing_notes_the_time() -> None:
    before = time.time()
    parser = parsed()
    assert before <= parser.mtime() <= time.time()


def test_questions() -> None:
    parser = parsed()
    assert parser.can_fetch("bot", "https://e.example/")
    assert not parser.can_fetch("bot", "https://e.example/cyberworld/map/x")
    assert parser.can_fetch("figtree/1.0 libwww", "https://e.example/cyberworld/map/x")
    assert not parser.can_fetch("figtree/1.0 libwww", "/tmp/x")
    assert parser.crawl_delay("bot") == 1.5
    assert parser.crawl_delay("figtree") == 3
    assert isinstance(parser.crawl_delay("figtree"), int)
    assert parser.request_rate("figtree") == RequestRate(9, 30)
    assert parser.request_rate("bot").seconds == 10
    assert parser.site_maps() == ["https://e.example/s.xml"]


def test_what_the_standard_library_does_not_know() -> None:
    parser = parsed()
    assert not parser.can_fetch("bot", "/a.gif")
    assert parser.can_fetch("bot", "/cyberworld/map/allowed")
    assert parser.verdict("bot", "/a.gif").line == 5
    assert [each.line for each in parser.explain("bot", "/cyberworld/map/allowed").beaten] == [4]


def test_lines_may_have_their_ends() -> None:
    parser = RobotFileParser()
    parser.parse(BODY.splitlines(keepends=True))
    assert not parser.can_fetch("bot", "/a.gif")


def test_a_dialect() -> None:
    body = "User-agent: *\nDisallow: /"
    assert parsed(body).can_fetch("bot", "/robots.txt")
    assert not parsed(body, dialect=GOOGLE).can_fetch("bot", "/robots.txt")


def test_flags_of_the_standard_library() -> None:
    parser = parsed()
    parser.disallow_all = True
    assert not parser.can_fetch("bot", "/")
    parser.disallow_all, parser.allow_all = False, True
    assert parser.can_fetch("bot", "/a.gif")


def test_as_text_it_is_a_robots_txt() -> None:
    again = parsed(str(parsed()))
    assert again.verdict("bot", "/a.gif").rule == "Disallow: /*.gif$"
    assert str(again) == str(parsed())
    assert str(RobotFileParser()) == ""


def test_as_text_each_agent_keeps_its_delay() -> None:
    body = (
        "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nCrawl-delay: 2\n"
        "User-agent: d\nDisallow: /x\n\nUser-agent: *\nRequest-rate: 1/9\n"
    )
    again = parsed(str(parsed(body)))
    assert [again.crawl_delay(agent) for agent in "abd"] == [1, 2, None]
    assert not any(again.can_fetch(agent, "/x") for agent in "abd")
    assert again.request_rate("z") == RequestRate(1, 9)


class Site(BaseHTTPRequestHandler):
    status = 200
    body = BODY.encode()
    content_type = "text/plain"

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Type", self.content_type)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def read() -> Iterator[Callable[..., RobotFileParser]]:
    """Reads a robots.txt of this status and body from a server."""
    server = HTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()

    def read_(
        status: int = 200, body: bytes = BODY.encode(), content_type: str = "text/plain"
    ) -> RobotFileParser:
        Site.status, Site.body, Site.content_type = status, body, content_type
        parser = RobotFileParser(f"http://127.0.0.1:{server.server_port}/robots.txt")
        parser.read()
        return parser

    yield read_
    server.shutdown()
    thread.join()
    server.server_close()


class TestRead:
    def test_rules(self, read: Callable[..., Any]) -> None:
        parser = read()
        assert not parser.can_fetch("bot", "/a.gif")
        assert parser.mtime() > 0

    def test_octets_and_charset(self, read: Callable[..., Any]) -> None:
        body = "User-agent: *\nDisallow: /é".encode("iso-8859-1")
        assert not read(body=body, content_type="text/plain; charset=ISO-8859-1").can_fetch(
            "b", "/é"
        )
        assert not read(body=body).can_fetch("bot", "/%E9")

    @pytest.mark.parametrize(
        ("status", "want"), [(401, False), (403, False), (404, True), (410, True)]
    )
    def test_statuses_are_taken_as_by_the_standard_library(
        self, read: Callable[..., Any], status: int, want: bool
    ) -> None:
        assert read(status).can_fetch("bot", "/a.gif") is want

    def test_a_server_error_leaves_the_parser_unread(self, read: Callable[..., Any]) -> None:
        parser = read(503)
        assert parser.mtime() == 0
        assert not parser.can_fetch("bot", "/")

    def test_no_answer_is_an_error(self) -> None:
        parser = RobotFileParser("http://127.0.0.1:1/robots.txt")
        with pytest.raises(urllib.error.URLError):
            parser.read()
