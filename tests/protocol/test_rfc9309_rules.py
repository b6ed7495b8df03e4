"""RFC 9309 2.2.2 to 2.2.4, clause by clause. Names say MUST, SHOULD or example."""

from __future__ import annotations

from typing import Any

import pytest

from scrapy_robots_plus.protocol import Reason, RobotsTxt
from scrapy_robots_plus.protocol.rfc9309 import MAX_REDIRECTS


def allowed(body: str | bytes, url: str, agent: str = "ExampleBot") -> bool:
    return RobotsTxt.parse(body).allowed(url, agent)


class TestSection222AllowAndDisallow:
    def test_should_ignore_rules_before_any_user_agent_line(self) -> None:
        assert allowed("disallow: /x\nuser-agent: *\ndisallow: /y", "/x")

    def test_must_match_with_regard_to_case(self) -> None:
        assert allowed("user-agent: *\ndisallow: /X", "/x")

    def test_must_match_from_the_first_octet(self) -> None:
        assert allowed("user-agent: *\ndisallow: /x", "/a/x")

    def test_a_rule_matches_all_that_begins_with_it(self) -> None:
        body = "user-agent: *\ndisallow: /fish"
        for path in ("/fish", "/fish.html", "/fishheads/yummy.html", "/fish?id=1"):
            assert not allowed(body, path), path
        for path in ("/Fish.asp", "/catfish", "/?id=fish", "/fis"):
            assert allowed(body, path), path

    def test_the_query_is_matched_and_the_fragment_is_not(self) -> None:
        body = "user-agent: *\ndisallow: /a?b\ndisallow: /a#b"
        assert not allowed(body, "https://e.example/a?bc")
        assert not allowed("user-agent: *\ndisallow: /a$", "https://e.example/a#b")

    def test_must_use_the_rule_with_the_most_bytes(self) -> None:
        body = "user-agent: *\nallow: /example/page/\ndisallow: /example/page/disallowed.gif"
        assert not allowed(body, "/example/page/disallowed.gif")
        assert allowed(body, "/example/page/")

    def test_octets_not_characters_are_counted(self) -> None:
        # The disallow has four characters fewer, but twelve octets to the allow's eleven.
        body = "user-agent: *\nallow: /*/aaaaaaaa\ndisallow: /ツ/a"
        assert not allowed(body, "/%E3%83%84/aaaaaaaa")

    def test_should_allow_where_an_allow_and_a_disallow_are_equivalent(self) -> None:
        for body in (
            "user-agent: *\nallow: /x\ndisallow: /x",
            "user-agent: *\ndisallow: /x\nallow: /x",
        ):
            assert allowed(body, "/x")

    def test_order_does_not_count(self) -> None:
        rules = ["disallow: /", "allow: /a", "disallow: /a/b", "allow: /a/b/c"]
        for order in (rules, rules[::-1]):
            body = "\n".join(["user-agent: *", *order])
            assert [allowed(body, path) for path in ("/z", "/a", "/a/b", "/a/b/c")] == [
                False,
                True,
                False,
                True,
            ]

    def test_allowed_where_no_rule_matches(self) -> None:
        verdict = RobotsTxt.parse("user-agent: *\ndisallow: /x").verdict("/y", "ExampleBot")
        assert (verdict.allowed, verdict.reason) == (True, Reason.NO_RULE)

    def test_allowed_where_the_group_has_no_rules(self) -> None:
        assert allowed("user-agent: *", "/x")

    def test_robots_txt_is_implicitly_allowed(self) -> None:
        verdict = RobotsTxt.parse("user-agent: *\ndisallow: /").verdict(
            "https://e.example/robots.txt", "ExampleBot"
        )
        assert (verdict.allowed, verdict.reason, verdict.line) == (True, Reason.ROBOTS_TXT, None)

    @pytest.mark.parametrize(
        "path", ["/robots.txt?x", "/robots.txt/", "/a/robots.txt", "/ROBOTS.txt"]
    )
    def test_only_robots_txt_is(self, path: str) -> None:
        assert not allowed("user-agent: *\ndisallow: /", path)

    @pytest.mark.parametrize(
        ("pattern", "url"),
        [
            ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
            ("/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
            ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https://foo.bar"),
            ("/foo/bar/ツ", "/foo/bar/%E3%83%84"),
            ("/foo/bar/ツ", "/foo/bar/ツ"),
            ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
            ("/foo/bar/%E3%83%84", "/foo/bar/ツ"),
            ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
            ("/foo/bar/baz", "/foo/bar/%62%61%7A"),
            ("/foo/bar/%62%61%7A", "/foo/bar/%62a%7a"),
        ],
    )
    def test_must_example_of_encoding(self, pattern: str, url: str) -> None:
        assert not allowed(f"user-agent: *\ndisallow: {pattern}$", url)

    @pytest.mark.parametrize("octet", ":/?#@!$&()*+,;=")
    def test_must_not_decode_reserved_characters(self, octet: str) -> None:
        body = f"user-agent: *\ndisallow: /x%{ord(octet):02X}y"
        assert not allowed(body, f"/x%{ord(octet):02x}y")
        assert allowed(body, f"/x{octet}y")

    @pytest.mark.parametrize("octet", "azAZ09-._~")
    def test_must_decode_unreserved_characters(self, octet: str) -> None:
        assert not allowed(f"user-agent: *\ndisallow: /x%{ord(octet):02x}", f"/x{octet}")
        assert not allowed(f"user-agent: *\ndisallow: /x{octet}", f"/x%{ord(octet):02X}")

    @pytest.mark.parametrize("octet", ' "<>\\^`{|}')
    def test_what_no_uri_may_hold_is_escaped(self, octet: str) -> None:
        assert not allowed(f"user-agent: *\ndisallow: /x{octet}y", f"/x%{ord(octet):02x}y")

    @pytest.mark.parametrize("octet", "[]'")
    @pytest.mark.parametrize(
        "pattern",
        ["/x{}y", "/*{}y", "/*?n={}", "/*?filter{}1{}=", "/*{}$", "/x{}*{}y", "/{}/i.html"],
    )
    def test_what_clients_send_escaped_equals_its_escape(self, octet: str, pattern: str) -> None:
        upper = f"%{ord(octet):02X}"
        forms = [pattern.replace("{}", each) for each in (octet, upper, upper.lower())]
        for rule in forms:
            for path in forms:
                url = path.replace("*", "").replace("$", "")
                assert not allowed(f"user-agent: *\ndisallow: {rule}", url), (rule, url)

    def test_an_escape_counts_as_three_octets_raw_or_not(self) -> None:
        body = "user-agent: *\nallow: /a%5B1%5D/\ndisallow: /a[1]/b"
        assert not allowed(body, "/a[1]/b")
        assert allowed("user-agent: *\nallow: /*/x12345\ndisallow: /[/x", "/%5B/x12345")

    @pytest.mark.parametrize("octets", ["%", "%z", "%4", "%%41"])
    def test_a_broken_escape_stays_as_it_is(self, octets: str) -> None:
        assert not allowed(f"user-agent: *\ndisallow: /x{octets}", f"/x{octets}")


class TestSection223SpecialCharacters:
    def test_must_support_hash_as_comment(self) -> None:
        assert not allowed("user-agent: * # all\ndisallow: / # nothing", "/")

    def test_must_support_dollar_as_end(self) -> None:
        body = "user-agent: *\nallow: /this/path/exactly$\ndisallow: /"
        assert allowed(body, "/this/path/exactly")
        assert not allowed(body, "/this/path/exactly/not")
        assert not allowed(body, "/this/path/exactly?no")

    def test_dollar_is_special_at_the_end_only(self) -> None:
        assert not allowed("user-agent: *\ndisallow: /a$b", "/a$bc")

    def test_dollar_matches_no_dollar(self) -> None:
        assert allowed("user-agent: *\ndisallow: /a$", "/a$")

    def test_must_support_star_as_any_octets(self) -> None:
        body = "user-agent: *\nallow: /this/*/exactly\ndisallow: /"
        assert allowed(body, "/this/path/exactly")
        assert allowed(body, "/this//exactly")
        assert allowed(body, "/this/very/long/path/exactly/so")
        assert not allowed(body, "/this/exactly")

    @pytest.mark.parametrize(
        ("pattern", "matched", "unmatched"),
        [
            ("*.gif$", ["/a.gif", "/x/y.gif"], ["/a.gif?", "/gif"]),
            ("/*.php$", ["/index.php", "/a.php/b.php"], ["/index.php5", "/a.php/"]),
            ("/fish*", ["/fish", "/fish/x"], ["/catfish"]),
            ("/a*$", ["/a", "/abc"], ["/b"]),
            ("/**a***b", ["/ab", "/xaxb"], ["/ba"]),
            ("/*aba*aba", ["/abaaba", "/xabaxaba"], ["/ababa"]),
            ("/a*a$", ["/aa", "/aba"], ["/a"]),
            ("*", ["/", "/x"], []),
        ],
    )
    def test_star_and_dollar_together(
        self, pattern: str, matched: list[str], unmatched: list[Any] | list[str]
    ) -> None:
        body = f"user-agent: *\ndisallow: {pattern}"
        assert not any(allowed(body, path) for path in matched)
        assert all(allowed(body, path) for path in unmatched)

    def test_should_escape_to_match_verbatim(self) -> None:
        body = "user-agent: *\ndisallow: /path/file-with-a-%2A.html\ndisallow: /path/foo-%24"
        assert not allowed(body, "/path/file-with-a-%2A.html")
        assert not allowed(body, "/path/foo-%24")
        assert allowed(body, "/path/file-with-a-xyz.html")
        assert allowed(body, "/path/foo-")


class TestSection224OtherRecords:
    LINES = (
        "Sitemap: https://e.example/s.xml",
        "Crawl-delay: 3",
        "Foo: bar",
        "nonsense",
        "Host: e.example",
    )

    @pytest.mark.parametrize("line", LINES)
    def test_must_not_split_a_group_between_its_agents(self, line: str) -> None:
        body = f"user-agent: FooBot\n{line}\nuser-agent: ExampleBot\ndisallow: /x"
        assert not allowed(body, "/x", "FooBot")
        assert not allowed(body, "/x", "ExampleBot")

    @pytest.mark.parametrize("line", LINES)
    def test_must_not_split_a_group_between_its_rules(self, line: str) -> None:
        body = f"user-agent: ExampleBot\ndisallow: /a\n{line}\ndisallow: /b"
        assert not allowed(body, "/a")
        assert not allowed(body, "/b")

    @pytest.mark.parametrize("line", LINES)
    def test_must_not_start_or_end_a_file(self, line: str) -> None:
        body = f"{line}\nuser-agent: ExampleBot\ndisallow: /a\n{line}"
        assert not allowed(body, "/a")

    def test_may_read_sitemaps(self) -> None:
        body = "sitemap: https://a.example/1\nuser-agent: x\nSiteMap: https://a.example/2\n" * 2
        assert RobotsTxt.parse(body).sitemaps == ("https://a.example/1", "https://a.example/2")


def test_a_rule_may_have_many_wildcards() -> None:
    file = RobotsTxt.parse("User-agent: *\nDisallow: /*a*b*c*d*e*f")
    assert not file.allowed("/.a.b.c.d.e.f", "Foobot")
    assert file.allowed("/.a.b.c.d.f.e", "Foobot")


def test_five_redirects_are_followed_as_2_3_1_2_says() -> None:
    assert MAX_REDIRECTS == 5
