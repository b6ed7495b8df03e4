"""RFC 9309 2.1, 2.2 and 2.2.1, clause by clause. Names say MUST, SHOULD or example."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import Reason, RobotsTxt


def allowed(body: str | bytes, url: str, agent: str = "ExampleBot") -> bool:
    return RobotsTxt.parse(body).allowed(url, agent)


class TestSection21ProtocolDefinition:
    def test_a_group_is_agents_and_the_rules_that_follow(self) -> None:
        body = "User-agent: a\nUser-agent: b\nDisallow: /x\n\nUser-agent: c\nDisallow: /y"
        assert RobotsTxt.parse(body).groups == (("a", "b"), ("c",))
        assert [allowed(body, "/x", agent) for agent in "abc"] == [False, False, True]

    def test_blank_lines_and_comments_do_not_end_a_group(self) -> None:
        body = "User-agent: ExampleBot\n\n# a comment\n\nDisallow: /x"
        assert not allowed(body, "/x")

    def test_the_last_group_may_have_no_rules(self) -> None:
        assert allowed("User-agent: *\nDisallow: /\nUser-agent: ExampleBot\n", "/x")


class TestSection22FormalSyntax:
    @pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
    def test_lines_end_at_cr_lf_or_crlf(self, end: str) -> None:
        body = end.join(["User-agent: ExampleBot", "Disallow: /x", ""])
        assert not allowed(body, "/x")
        assert RobotsTxt.parse(body).verdict("/x", "ExampleBot").line == 2

    @pytest.mark.parametrize("end", ["\v", "\f", "\x1c", "\x85", "\u2028"])
    def test_nothing_else_ends_a_line(self, end: str) -> None:
        assert allowed(f"User-agent: ExampleBot\n# comment{end}Disallow: /x", "/x")

    @pytest.mark.parametrize(
        "line", ["Disallow:/x", "Disallow : /x", " \tDisallow\t:\t/x \t", "DISALLOW: /x"]
    )
    def test_white_space_is_optional_and_keys_have_no_case(self, line: str) -> None:
        assert not allowed(f"User-agent: ExampleBot\n{line}", "/x")

    @pytest.mark.parametrize("line", ["Disallow: /x # why", "Disallow: /x#why"])
    def test_a_comment_ends_a_value(self, line: str) -> None:
        assert not allowed(f"User-agent: ExampleBot\n{line}", "/x")

    def test_utf8_in_a_path_pattern(self) -> None:
        assert not allowed("User-agent: ExampleBot\nDisallow: /ツ", "/%E3%83%84")

    @pytest.mark.parametrize("line", ["Disallow:", "Disallow: ", "Disallow: # all"])
    def test_an_empty_pattern_is_no_rule(self, line: str) -> None:
        verdict = RobotsTxt.parse(f"User-agent: ExampleBot\n{line}").verdict("/x", "ExampleBot")
        assert (verdict.allowed, verdict.reason) == (True, Reason.NO_RULE)


class TestSection221UserAgentLine:
    def test_must_match_without_regard_to_case(self) -> None:
        assert not allowed("User-agent: EXAMPLEbot\nDisallow: /", "/", "exampleBOT")

    def test_must_combine_all_groups_of_a_token(self) -> None:
        body = (
            "user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\n"
            "user-agent: BazBot\ndisallow: /qux\n\n"
            "user-agent: ExampleBot\ndisallow: /baz\n"
        )
        assert [allowed(body, path) for path in ("/foo", "/bar", "/baz", "/qux")] == [
            False,
            False,
            False,
            True,
        ]

    def test_must_obey_the_star_group_when_none_matches(self) -> None:
        body = "user-agent: *\ndisallow: /foo\n\nuser-agent: BazBot\ndisallow: /baz"
        assert not allowed(body, "/foo")
        assert allowed(body, "/baz")

    def test_must_not_obey_the_star_group_when_one_matches(self) -> None:
        body = "user-agent: *\ndisallow: /foo\n\nuser-agent: ExampleBot\ndisallow: /bar"
        assert allowed(body, "/foo")

    def test_star_groups_are_combined_too(self) -> None:
        body = "user-agent: *\ndisallow: /foo\nuser-agent: x\n\nuser-agent: *\ndisallow: /bar"
        assert not allowed(body, "/foo")
        assert not allowed(body, "/bar")

    def test_no_group_means_no_rules(self) -> None:
        verdict = RobotsTxt.parse("user-agent: BazBot\ndisallow: /").verdict("/", "ExampleBot")
        assert (verdict.allowed, verdict.reason) == (True, Reason.NO_GROUP)

    def test_a_group_of_several_agents_is_for_each(self) -> None:
        body = "user-agent: FooBot\nuser-agent: ExampleBot\ndisallow: /x"
        assert not allowed(body, "/x", "FooBot")
        assert not allowed(body, "/x", "ExampleBot")

    def test_the_token_is_matched_as_a_whole(self) -> None:
        body = "user-agent: Example\ndisallow: /"
        assert allowed(body, "/", "ExampleBot")
        assert allowed(body, "/", "Exam")

    @pytest.mark.parametrize(
        "value", ["ExampleBot/1.0", "ExampleBot 2", "ExampleBot, BazBot", "ExampleBot*"]
    )
    def test_a_value_is_read_up_to_what_no_token_holds(self, value: str) -> None:
        assert not allowed(f"user-agent: {value}\ndisallow: /", "/")

    @pytest.mark.parametrize("value", ["*", "* ", "* everybody"])
    def test_star_is_for_all(self, value: str) -> None:
        assert not allowed(f"user-agent: {value}\ndisallow: /", "/")

    @pytest.mark.parametrize("value", ["**", "*bot", ""])
    def test_star_is_no_wildcard(self, value: str) -> None:
        assert allowed(f"user-agent: {value}\ndisallow: /", "/")


@pytest.mark.parametrize(
    ("name", "named"),
    [("foobot", "foobot"), ("Foobot/1.0", "foobot"), ("barbot", "barbot"), ("another", "*")],
)
def test_a_crawler_is_named_or_the_group_for_all_is_for_it(name: str, named: str) -> None:
    file = RobotsTxt.parse(
        "User-agent: foobot\nDisallow: /a\nUser-agent: *\nUser-agent: barbot\nDisallow: /b\n"
    )
    assert file.addressed_as(name) == {named}
    assert RobotsTxt.parse("Disallow: /\n").addressed_as(name) == set()
