"""RFC 9309 2.3 and 2.5 as far as they are about the file itself, and the examples of 5.

Statuses and redirects (2.3.1.1 to 2.3.1.4) and caching (2.4) are proved in the tests of ``policy``.
"""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import RobotsTxt
from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

SIMPLE = """\
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
"""

LONGEST = """\
User-Agent: foobot
Allow: /example/page/
Disallow: /example/page/disallowed.gif
"""


def allowed(body: str | bytes, url: str, agent: str) -> bool:
    return RobotsTxt.parse(body).allowed(url, agent)


class TestSection23Access:
    def test_must_read_utf8(self) -> None:
        body = "User-agent: *\nDisallow: /été".encode()
        assert not allowed(body, "/%C3%A9t%C3%A9", "x")

    def test_a_byte_order_mark_is_no_part_of_the_first_line(self) -> None:
        body = b"\xef\xbb\xbfUser-agent: *\nDisallow: /"
        assert not allowed(body, "/", "x")


class TestSection2315ParsingErrors:
    ERRORS = (
        b"\x00\x01\x02",
        b"\xfd\xff: \x80",
        b": no key",
        b"Disallow",
        b"<html><body>User-agent: x</body></html>",
        b"a" * 100_000,
        b"=" * 10 + b": " + b"%" * 10,
    )

    @pytest.mark.parametrize("line", ERRORS)
    def test_must_use_the_rules_that_can_be_parsed(self, line: bytes) -> None:
        body = b"\n".join(
            [line, b"User-agent: foobot", line, b"Disallow: /x", line, b"Allow: /x/y"]
        )
        assert not allowed(body, "/x", "foobot")
        assert allowed(body, "/x/y", "foobot")

    def test_must_try_each_line(self) -> None:
        body = b"User-agent: foobot\nDisallow: /\xe9\nDisallow: /x\n"
        assert not allowed(body, "/x", "foobot")
        assert not allowed(body, "/%E9", "foobot")
        assert allowed(body, "/", "foobot")


class TestSection25Limits:
    def test_must_read_at_least_500_kib(self) -> None:
        rule = b"User-agent: *\nDisallow: /x\n"
        body = b"#" * (500 * 1024 - len(rule) - 1) + b"\n" + rule
        assert len(body) == MAX_BYTES
        assert not allowed(body, "/x", "foobot")

    def test_a_line_that_the_limit_cuts_is_not_read(self) -> None:
        body = b"User-agent: *\nDisallow: /private\n"
        for limit in range(24, 32):
            assert RobotsTxt.parse(body, max_bytes=limit).allowed("/x", "foobot")
            assert RobotsTxt.parse(body, max_bytes=limit).allowed("/private", "foobot")
        assert not RobotsTxt.parse(body, max_bytes=32).allowed("/private", "foobot")

    @pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
    def test_so_it_is_with_any_end_of_a_line_and_with_text(self, end: str) -> None:
        body = f"User-agent: *{end}Disallow: /é/private{end}"
        octets = len(body.encode())
        for form in (body, body.encode()):  # of text, its octets in UTF-8 count
            whole = octets - len(end)
            for limit in range(whole - 5, whole):
                assert RobotsTxt.parse(form, max_bytes=limit).allowed("/é/private", "foobot")
            for limit in range(whole, octets + 1):
                assert not RobotsTxt.parse(form, max_bytes=limit).allowed("/é/private", "foobot")

    @pytest.mark.parametrize("end", ["\n", "\r"])
    def test_nor_where_it_is_the_first_that_has_an_end(self, end: str) -> None:
        body = f"{end}Disallow: /private"
        for cut in (body, body.encode()):
            assert list(RobotsTxt.parse(cut, max_bytes=13).lines) == []

    def test_a_first_line_over_the_limit_is_cut(self) -> None:
        for body in ("Disallow: /a", b"Disallow: /a"):
            (line,) = RobotsTxt.parse(body, max_bytes=11).lines
            assert line.value == b"/"

    def test_there_is_no_limit_unless_one_is_given(self) -> None:
        body = b"#" * MAX_BYTES + b"\nUser-agent: *\nDisallow: /"
        assert not allowed(body, "/", "foobot")
        assert RobotsTxt.parse(body, max_bytes=MAX_BYTES).allowed("/", "foobot")


class TestSection51SimpleExample:
    @pytest.mark.parametrize(
        ("agent", "url", "want"),
        [
            ("otherbot", "/publications/", True),
            ("otherbot", "/example/", False),
            ("otherbot", "/a/b.gif", False),
            ("otherbot", "/a/b.gifs", True),
            ("foobot", "/", False),
            ("foobot", "/publications/", False),
            ("foobot", "/example/page.html", True),
            ("foobot", "/example/allowed.gif", True),
            ("barbot", "/example/page.html", False),
            ("bazbot", "/example/page.html?x", False),
            ("barbot", "/a/b.gif", True),
            ("bazbot", "/example/", True),
            ("quxbot", "/example/page.html", True),
            ("quxbot", "/a/b.gif", True),
        ],
    )
    def test_example(self, agent: str, url: str, want: bool) -> None:
        assert allowed(SIMPLE, url, agent) is want


class TestSection52LongestMatch:
    def test_example(self) -> None:
        assert not allowed(LONGEST, "https://example.com/example/page/disallowed.gif", "foobot")
        assert allowed(LONGEST, "https://example.com/example/page/", "foobot")
