"""GYM2008 and MK1996: robotexclusionrulesparser's documented behaviour and its examples.

The examples are those of the two Internet-Drafts and of the library's documentation.
"""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import GYM2008, MK1996, Dialect, RobotsTxt


def allowed(body: str, agent: str, url: str, dialect: Dialect = GYM2008) -> bool:
    return RobotsTxt.parse(body, dialect).allowed(url, agent)


class TestSyntaxes:
    BODY = "User-agent: foobot\nDisallow: *\n\nUser-agent: barbot\nDisallow: /private/*\n"

    @pytest.mark.parametrize("agent", ["foobot", "barbot"])
    def test_a_star_is_literal_in_mk1996(self, agent: str) -> None:
        assert allowed(self.BODY, agent, "/private/xyz.html", MK1996)

    @pytest.mark.parametrize("agent", ["foobot", "barbot"])
    def test_a_star_is_a_wildcard_in_gym2008(self, agent: str) -> None:
        assert not allowed(self.BODY, agent, "/private/xyz.html", GYM2008)

    def test_a_dollar_is_literal_in_mk1996(self) -> None:
        body = "User-agent: *\nDisallow: /x$"
        assert allowed(body, "a", "/x", MK1996)
        assert not allowed(body, "a", "/x$", MK1996)
        assert not allowed(body, "a", "/x", GYM2008)


@pytest.mark.parametrize("dialect", [GYM2008, MK1996])
class TestExampleOf1994:
    BODY = (
        "# robots.txt\n\nUser-agent: *\nDisallow: /cyberworld/map/ # infinite\n"
        "Disallow: /tmp/ # soon gone\nDisallow: /foo.html\n"
    )

    @pytest.mark.parametrize(
        ("path", "want"),
        [
            ("/", True),
            ("/foo.html", False),
            ("/foo.htm", True),
            ("/foo.shtml", True),
            ("/foo.htmlx", False),
            ("/cyberworld/index.html", True),
            ("/cyberworld/map/x", False),
            ("/tmp/foo.html", False),
            ("https://www.example.org/foo.html", False),
        ],
    )
    def test_example(self, path: str, want: bool, dialect: Dialect) -> None:
        assert allowed(self.BODY, "CrunchyFrogBot", path, dialect) is want


@pytest.mark.parametrize("dialect", [GYM2008, MK1996])
class TestExampleAOf1996:
    """The table of the draft's section 3.2.2: rule, URL, whether it matches."""

    @pytest.mark.parametrize(
        ("rule", "url", "matches"),
        [
            ("/tmp", "/tmp", True),
            ("/tmp", "/tmp.html", True),
            ("/tmp", "/tmp/a.html", True),
            ("/tmp/", "/tmp", False),
            ("/tmp/", "/tmp/", True),
            ("/tmp/", "/tmp/a.html", True),
            ("/a%3cd.html", "/a%3cd.html", True),
            ("/a%3Cd.html", "/a%3cd.html", True),
            ("/a%3cd.html", "/a%3Cd.html", True),
            ("/a%2fb.html", "/a%2fb.html", True),
            ("/a%2fb.html", "/a%2Fb.html", True),
            ("/a%2fb.html", "/a/b.html", False),
            ("/a/b.html", "/a%2fb.html", False),
            ("/a/b.html", "/a/b.html", True),
            ("/%7ejoe/index.html", "/~joe/index.html", True),
            ("/~joe/index.html", "/%7Ejoe/index.html", True),
        ],
    )
    def test_example(self, rule: str, url: str, matches: bool, dialect: Dialect) -> None:
        body = f"User-agent: bot\nAllow: {rule}\nDisallow: /\n"
        assert allowed(body, "bot", url, dialect) is matches


@pytest.mark.parametrize("dialect", [GYM2008, MK1996])
class TestExampleBOf1996:
    BODY = (
        "User-agent: unhipbot\nDisallow: /\n\n"
        "User-agent: webcrawler\nUser-agent: excite\nDisallow:\n\n"
        "User-agent: *\nDisallow: /org/plans.html\nAllow: /org/\nAllow: /serv\nAllow: /~mak\n"
        "Disallow: /\n"
    )

    @pytest.mark.parametrize(
        ("path", "others"),
        [
            ("/", False),
            ("/index.html", False),
            ("/server.html", True),
            ("/services/fast.html", True),
            ("/services/slow.html", True),
            ("/orgo.gif", False),
            ("/org/about.html", True),
            ("/org/plans.html", False),
            ("/%7Ejim/jim.html", False),
            ("/%7Emak/mak.html", True),
        ],
    )
    def test_example(self, path: str, others: bool, dialect: Dialect) -> None:
        url = "http://www.fict.org" + path
        assert not allowed(self.BODY, "unhipbot", url, dialect)
        assert allowed(self.BODY, "webcrawler", url, dialect)
        assert allowed(self.BODY, "excite", url, dialect)
        assert allowed(self.BODY, "OtherBot", url, dialect) is others


class TestWildcards:
    @pytest.mark.parametrize(
        ("rules", "url", "want"),
        [
            ("Disallow: /foo*", "/fo.html", True),
            ("Disallow: /foo*", "/food", False),
            ("Disallow: /foo*/bar.html", "/foo/bar.html", False),
            ("Disallow: /foo*/bar.html", "/foo/a/b/c/bar.html", False),
            ("Disallow: /foo*/bar.html", "/food/xyz.html", True),
            ("Disallow: *m", "/foo.htm", False),
            ("Disallow: *m", "/moo", False),
            ("Disallow: *m", "/foo/bar.txt", True),
            ("Allow: /foo/bar.html\nDisallow: *", "/foo/bar.html", True),
            ("Allow: /foo/bar.html\nDisallow: *", "/foo/bar.txt", False),
            ("Disallow: /foo*/*bar.html", "/food/rebar.html", False),
            ("Disallow: /foo*/*bar.html", "/food/rebarf.html", True),
            ("Allow: /foo$\nDisallow: /foo", "/foo", True),
            ("Allow: /foo$\nDisallow: /foo", "/foo/", False),
        ],
    )
    def test_example(self, rules: str, url: str, want: bool) -> None:
        assert allowed(f"User-agent: bot\n{rules}\n", "bot", url) is want


@pytest.mark.parametrize("dialect", [GYM2008, MK1996])
class TestAgents:
    def test_a_name_is_a_substring_of_the_header_without_case(self, dialect: Dialect) -> None:
        body = "User-agent: foobot\nDisallow: /\n"
        for agent in ("FOOBOT", "Foobot Version 1.0", "Mozilla/5.0 (compatible; Foobot/2.1)"):
            assert not allowed(body, agent, "/", dialect)
        assert allowed(body, "foo", "/", dialect)

    def test_the_first_group_counts_and_star_comes_last(self, dialect: Dialect) -> None:
        body = (
            "User-agent: *\nDisallow: /\n\nUser-agent: foo\nDisallow: /a\n\n"
            "User-agent: foobot\nDisallow: /b\n"
        )
        assert allowed(body, "foobot", "/b", dialect)
        assert not allowed(body, "foobot", "/a", dialect)
        assert not allowed(body, "barbot", "/b", dialect)

    def test_names_on_one_line_are_one_name(self, dialect: Dialect) -> None:
        body = "User-agent: onebot twobot\nDisallow: /\n"
        assert allowed(body, "onebot", "/", dialect)
        assert allowed(body, "twobot", "/", dialect)

    def test_names_may_hold_anything(self, dialect: Dialect) -> None:
        body = "UserAgent: Jävla-Foobot\nDisallow: /\n".encode()
        file = RobotsTxt.parse(body, dialect, "utf-8")
        assert not file.allowed("/x", "jävla-foobot")
        assert file.allowed("/x", "foobot")


@pytest.mark.parametrize("dialect", [GYM2008, MK1996])
class TestRecords:
    def test_the_first_rule_that_matches_counts(self, dialect: Dialect) -> None:
        body = "User-agent: *\nAllow: /\nDisallow: /x\n"
        assert allowed(body, "bot", "/x", dialect)

    def test_a_blank_allow_allows_nothing(self, dialect: Dialect) -> None:
        assert not allowed("User-agent: *\nAllow:\n", "bot", "/x", dialect)

    def test_a_blank_disallow_allows_everything(self, dialect: Dialect) -> None:
        assert allowed("User-agent: *\nDisallow:\nDisallow: /x\n", "bot", "/x", dialect)

    def test_a_blank_line_ends_a_record(self, dialect: Dialect) -> None:
        body = "User-agent: gone\n\nUser-agent: bot\nDisallow: /a\n\nDisallow: /b\n"
        assert allowed(body, "gone", "/a", dialect)
        assert not allowed(body, "bot", "/a", dialect)
        assert allowed(body, "bot", "/b", dialect)

    def test_a_comment_line_does_not(self, dialect: Dialect) -> None:
        body = "User-agent: bot\n# x\n   # y\nDisallow: /a\n"
        assert not allowed(body, "bot", "/a", dialect)

    def test_rules_come_after_agents(self, dialect: Dialect) -> None:
        assert allowed("Disallow: /\nUser-agent: *\n", "bot", "/", dialect)

    def test_robots_txt_has_no_privilege(self, dialect: Dialect) -> None:
        assert not allowed("User-agent: *\nDisallow: /\n", "bot", "/robots.txt", dialect)

    def test_misspellings_are_not_forgiven(self, dialect: Dialect) -> None:
        assert allowed("User-agent: *\ndissallow: /\nDisallow /x\n", "bot", "/x", dialect)

    def test_delays_and_sitemaps(self, dialect: Dialect) -> None:
        file = RobotsTxt.parse(
            "User-agent: Foobot\nDisallow: *\nCrawl-Delay: 5\n\nSitemap: http://a.example/1\n\n"
            "User-agent: Somebot\nAllow: /foo.html\nCrawl-Delay: .3\nAllow: /bar.html\n"
            "Disallow: *\n\nUser-agent: CamelBot\nDisallow: /foo.html\nCrawl-Delay: go away!\n",
            dialect,
        )
        assert file.crawl_delay("Foobot") == 5
        assert file.crawl_delay("Mozilla/5.0 (compatible; Somebot/1.0)") == 0.3
        assert file.crawl_delay("CamelBot") is None
        assert file.crawl_delay("Blahbot") is None
        assert file.sitemaps == ("http://a.example/1",)
