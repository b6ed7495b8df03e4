"""FIRST_MATCH: the documented behaviour of the Ruby library robotstxt, and its examples."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import FIRST_MATCH, RobotsTxt


def allowed(body: str, url: str, agent: str = "Google") -> bool:
    return RobotsTxt.parse(body, FIRST_MATCH).allowed(url, agent)


class TestExamples:
    BASICS = (
        "User-agent: *\nDisallow: /?*\nDisallow: /home\nDisallow: /dashboard\n"
        "Disallow: /index.php\nDisallow: /test*\nDisallow: /team*\nDisallow: /index\nAllow: /\n"
        "Sitemap: http://example.com/sitemap.xml\n"
    )

    @pytest.mark.parametrize(
        ("url", "want"),
        [
            ("/", True),
            ("/?", False),
            ("/?key=value", False),
            ("/example", True),
            ("/example/index.php", True),
            ("/test", False),
            ("/test/example", False),
            ("/team-game", False),
            ("/team-game/example", False),
        ],
    )
    def test_basics(self, url: str, want: bool) -> None:
        assert allowed(self.BASICS, url) is want

    def test_all_agents_of_a_run_share_the_rules(self) -> None:
        """As the README of the library says; its code has the rules for the last of them only."""
        body = "User-agent: Google\nUser-agent: Bing\nDisallow: /secret\n"
        for agent in ("Google", "Bing"):
            assert not allowed(body, "/secret", agent)
            assert allowed(body, "/", agent)

    def test_sitemaps(self) -> None:
        file = RobotsTxt.parse(self.BASICS, FIRST_MATCH)
        assert file.sitemaps == ("http://example.com/sitemap.xml",)

    def test_a_blank_disallow_allows_all(self) -> None:
        body = "User-agent: *\nDisallow:\n"
        assert allowed(body, "/")
        assert allowed(body, "/index.html")

    @pytest.mark.parametrize(
        ("url", "want"),
        [
            ("/allowed/", True),
            ("/test/", False),
            ("/test%2Fetc/", True),
            ("/secret%2fgarden/", False),
            ("/secret/garden/", True),
            ("/alph%61/", False),
        ],
    )
    def test_escapes_are_normalised_but_for_delimiters(self, url: str, want: bool) -> None:
        body = "User-agent: *\nDisallow: /test/\nDisallow: /secret%2Fgarden/\nDisallow: /%61lpha/\n"
        assert allowed(body, url) is want

    @pytest.mark.parametrize("delimiter", "/?&=")
    def test_each_delimiter(self, delimiter: str) -> None:
        body = f"User-agent: *\nDisallow: /x%{ord(delimiter):02x}y"
        assert not allowed(body, f"/x%{ord(delimiter):02X}y")
        assert allowed(body, f"/x{delimiter}y")

    def test_hello_and_acdc(self) -> None:
        assert not allowed("User-agent: *\nDisallow: /hello/", "/h%65llo/")
        assert allowed("User-agent: *\nDisallow: /ac/dc", "/ac%2fdc")

    @pytest.mark.parametrize(
        ("url", "want"),
        [
            ("/.pdfs/index.html", True),
            ("/.pdfs/index.pdf", False),
            ("/.pdfs/index.pdf?action=view", False),
            ("/.pdfs/index.html?download_as=.pdf", False),
        ],
    )
    def test_a_dollar_ends_the_path_with_or_without_the_query(self, url: str, want: bool) -> None:
        assert allowed("User-agent: *\nDisallow: /*.pdf$\n", url) is want

    def test_agents_share_the_rules_that_follow(self) -> None:
        body = "User-agent: Google\nUser-agent: Yahoo\nDisallow:\n\nUser-agent: *\nDisallow: /\n"
        assert allowed(body, "/hello", "Google")
        assert allowed(body, "/hello", "Yahoo")
        assert not allowed(body, "/hello", "Bing")

    def test_rules_without_an_agent_are_for_all(self) -> None:
        assert allowed("Disallow: /index\n", "/hello")
        assert not allowed("Disallow: /index\n", "/index/wold")


class TestSections:
    def test_the_first_that_fits_counts_even_star(self) -> None:
        body = "User-agent: *\nDisallow: /a\nUser-agent: Google\nDisallow: /b"
        assert allowed(body, "/b")
        assert not allowed(body, "/a")

    @pytest.mark.parametrize("name", ["goo", "GOOGLE", "Googlebot", "G*e", "*oog*", "g*le"])
    def test_names_fit_as_substrings_either_way_and_hold_stars(self, name: str) -> None:
        assert not allowed(f"User-agent: {name}\nDisallow: /", "/")

    @pytest.mark.parametrize("name", ["bing", "g*x", "elgoog"])
    def test_others_do_not(self, name: str) -> None:
        assert allowed(f"User-agent: {name}\nDisallow: /", "/")

    def test_the_first_rule_that_fits_counts(self) -> None:
        assert allowed("User-agent: *\nAllow: /a\nDisallow: /a/b", "/a/b")
        assert not allowed("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b")

    def test_robots_txt_has_no_privilege(self) -> None:
        assert not allowed("User-agent: *\nDisallow: /", "/robots.txt")

    def test_of_several_names_any_may_fit_the_first_section(self) -> None:
        body = "User-agent: b\nDisallow: /b\nUser-agent: a\nDisallow: /a"
        file = RobotsTxt.parse(body, FIRST_MATCH)
        assert not file.allowed("/b", ["xay", "xby"])
