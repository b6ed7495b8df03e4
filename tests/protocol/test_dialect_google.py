"""GOOGLE: what google/robotstxt does and documents, as far as RFC9309 does not share it."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import GOOGLE, RFC9309, Dialect, RobotsTxt


def allowed(body: str | bytes, url: str, agent: str = "FooBot", dialect: Dialect = GOOGLE) -> bool:
    return RobotsTxt.parse(body, dialect).allowed(url, agent)


class TestUrls:
    @pytest.mark.parametrize(
        ("url", "path"),
        [
            ("", "/"),
            ("http://e.example", "/"),
            ("http://e.example/", "/"),
            ("http://e.example/a", "/a"),
            ("http://e.example/a?b=http://c.d/", "/a?b=http://c.d/"),
            ("http://e.example/a?b=c#d", "/a?b=c"),
            ("http://e.example#/a", "/"),
            ("http://e.example?a", "/?a"),
            ("http://e.example;a", "/;a"),
            ("e.example/a;b#c", "/a;b"),
            ("a/b", "/b"),
            ("//a/b/c", "/b/c"),
            ("/a/b://c", "/a/b://c"),
            ("ftp://e.example/a", "/a"),
        ],
    )
    @pytest.mark.parametrize("dialect", [GOOGLE, RFC9309])
    def test_the_path_is_found(self, url: str, path: str, dialect: Dialect) -> None:
        assert not allowed(f"user-agent: *\ndisallow: {path}$", url, dialect=dialect)
        assert allowed(f"user-agent: *\ndisallow: {path}x", url, dialect=dialect)


class TestEscapes:
    def test_a_rule_is_escaped_and_a_url_is_not(self) -> None:
        body = "user-agent: *\ndisallow: /ツ\ndisallow: /%aa"
        assert not allowed(body, "/%E3%83%84")
        assert allowed(body, "/ツ")
        assert not allowed(body, "/%AA")
        assert allowed(body, "/%aa")

    def test_nothing_is_decoded(self) -> None:
        assert allowed("user-agent: *\ndisallow: /%62%61%7A", "/baz")
        assert not allowed("user-agent: *\ndisallow: /%62%61%7A", "/%62%61%7A")


class TestAgents:
    @pytest.mark.parametrize("dialect", [GOOGLE, RFC9309])
    def test_of_several_names_the_first_that_is_named_counts(self, dialect: Dialect) -> None:
        """google/robotstxt merges the groups of all names."""
        body = "user-agent: foo\ndisallow: /foo\n\nuser-agent: bar\ndisallow: /bar\n"
        file = RobotsTxt.parse(body, dialect)
        for names, denied in ((["foo", "bar"], "/foo"), (["bar", "foo"], "/bar")):
            for url in ("/foo", "/bar"):
                assert file.allowed(url, names) is (url != denied)
        assert not file.allowed("/bar", ["other", "bar"])

    def test_a_name_that_is_no_token_fits_nothing(self) -> None:
        body = "user-agent: Foo Bar\ndisallow: /"
        assert not allowed(body, "/", "Foo")
        assert allowed(body, "/", "Foo Bar")
        assert allowed("user-agent: 008\ndisallow: /", "/", "008")
        assert allowed("user-agent: 008\ndisallow: /", "/", "008/0.83 (+https://e.example)")

    def test_no_name_is_compared_as_it_is(self) -> None:
        assert not allowed("user-agent: 1\ndisallow: /", "/", "")
        assert allowed("user-agent: a\ndisallow: /", "/", "")

    def test_a_header_is_read_for_its_token(self) -> None:
        header = "Mozilla/5.0 (compatible; FooBot/2.1; +https://foo.example)"
        assert not allowed("user-agent: foobot\ndisallow: /", "/", header)


def test_robots_txt_has_no_privilege() -> None:
    assert not allowed("user-agent: *\ndisallow: /", "/robots.txt")


class TestDocumentedPrecedence:
    """The table of Google's documentation on which rule is used."""

    @pytest.mark.parametrize(
        ("allow", "disallow", "url", "want"),
        [
            ("/p", "/", "/page", True),
            ("/folder", "/folder", "/folder/page", True),
            ("/page", "/*.htm", "/page.htm", False),
            ("/page", "/*.ph", "/page.php5", True),
            ("/$", "/", "/", True),
            ("/$", "/", "/page.htm", False),
        ],
    )
    def test_example(self, allow: str, disallow: str, url: str, want: bool) -> None:
        assert allowed(f"user-agent: *\nallow: {allow}\ndisallow: {disallow}", url) is want


class TestDocumentedPaths:
    """The table of Google's documentation on what a path matches."""

    @pytest.mark.parametrize(
        ("pattern", "matched", "unmatched"),
        [
            (
                "/fish",
                "/fish /fish.html /fish/salmon.html /fishheads /fish.php?id=x",
                "/Fish.asp /catfish /?id=fish /desert/fish",
            ),
            (
                "/fish*",
                "/fish /fish.html /fish/salmon.html /fishheads",
                "/Fish.asp /catfish /?id=fish",
            ),
            (
                "/fish/",
                "/fish/ /fish/?id=x /fish/salmon.htm",
                "/fish /fish.html /animals/fish/ /Fish/x",
            ),
            (
                "/*.php",
                "/index.php /filename.php /folder/filename.php?p /folder/any.php.file.html /f.php/",
                "/ /windows.PHP",
            ),
            (
                "/*.php$",
                "/filename.php /folder/filename.php",
                "/filename.php?p /filename.php/ /filename.php5 /x.PHP",
            ),
            ("/fish*.php", "/fish.php /fishheads/catfish.php?p", "/Fish.PHP"),
        ],
    )
    def test_example(self, pattern: str, matched: str, unmatched: str) -> None:
        body = f"user-agent: *\ndisallow: {pattern}"
        assert [url for url in matched.split() if allowed(body, url)] == []
        assert [url for url in unmatched.split() if not allowed(body, url)] == []
